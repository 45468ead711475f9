/* SPDX-License-Identifier: MIT */

/* Convolutions of f32: by tensor cores, in parts. */

#include "backend/cuda/kernels/conv/conv.cuh"

namespace vrt {

#define VRT_CONV_KERNEL(m, n, warps_m, warps_n, stages, percent)                         \
    conv_product<mma_sums<split_tf32, m, n, warps_m, warps_n>, stages,                   \
                 split_at_once(m * n)>,

template <>
int conv_launch<split_tf32>(const vrt_cuda_call *call, const product &p)
{
    static const vrt_cuda_tile tiles[] = { VRT_CUDA_SPLIT_TILES(VRT_CUDA_TILE) };
    static const product_kernel run[] = { VRT_CUDA_SPLIT_TILES(VRT_CONV_KERNEL) };

    return product_start(call, { tiles, run, (int)(sizeof(tiles) / sizeof(tiles[0])),
                                 VRT_CUDA_GATHER_PATCHES, false }, p);
}

}
