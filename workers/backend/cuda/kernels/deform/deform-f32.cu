/* SPDX-License-Identifier: MIT */

/* Deformable convolutions whose samples stay f32: by fma, not a bit lost, or in parts by tensor
 * cores. */

#include "backend/cuda/kernels/deform/deform.cuh"

namespace vrt {

#define VRT_DEFORM_KERNEL(m, n, warps_m, warps_n, stages, percent)                         \
    rows_product<fma_sums<m / 16, n / 8>, sample_gather<float, m, 128>, stages,            \
                 blocks_at_once(m * n, 128)>,

template <> int deform_launch<split_tf32>(const vrt_cuda_call *call, const product &p);

template <>
int deform_launch<float>(const vrt_cuda_call *call, const product &p)
{
    static const vrt_cuda_tile tiles[] = { VRT_CUDA_DEFORM_F32_TILES(VRT_CUDA_TILE) };
    static const product_kernel run[] = { VRT_CUDA_DEFORM_F32_TILES(VRT_DEFORM_KERNEL) };

    if (call->f32 == VRT_CUDA_F32_SPLIT)
        return deform_launch<split_tf32>(call, p);
    return product_start(call, { tiles, run, (int)(sizeof(tiles) / sizeof(tiles[0])),
                                 VRT_CUDA_GATHER_SAMPLES, true }, p);
}

}
