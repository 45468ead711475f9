/* SPDX-License-Identifier: MIT */

/* Deformable convolutions whose samples stay f32: by tensor cores, in parts. */

#include "backend/cuda/kernels/deform/deform.cuh"

namespace vrt {

#define VRT_DEFORM_KERNEL(m, n, warps_m, warps_n, stages, percent)                         \
    rows_product<mma_sums<split_tf32, m, n, warps_m, warps_n>,                           \
                 sample_gather<split_tf32, m, 128>, stages, split_at_once(m * n)>,

template <>
int deform_launch<split_tf32>(const vrt_cuda_call *call, const product &p)
{
    static const vrt_cuda_tile tiles[] = { VRT_CUDA_DEFORM_SPLIT_TILES(VRT_CUDA_TILE) };
    static const product_kernel run[] = { VRT_CUDA_DEFORM_SPLIT_TILES(VRT_DEFORM_KERNEL) };

    return product_start(call, { tiles, run, (int)(sizeof(tiles) / sizeof(tiles[0])),
                                 VRT_CUDA_GATHER_SAMPLES, false }, p);
}

}
