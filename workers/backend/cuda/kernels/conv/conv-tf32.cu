/* SPDX-License-Identifier: MIT */

/* Convolutions of f32 rounded to tf32. */

#include "backend/cuda/kernels/conv/conv.cuh"

namespace vrt {

#define VRT_CONV_KERNEL(m, n, warps_m, warps_n, stages, percent)                         \
    conv_product<mma_sums<tf32, m, n, warps_m, warps_n>, stages,                         \
                 blocks_at_once(m * n, 128)>,

template <>
int conv_launch<tf32>(const vrt_cuda_call *call, const product &p)
{
    static const vrt_cuda_tile tiles[] = { VRT_CUDA_TF32_TILES(VRT_CUDA_TILE) };
    static const product_kernel run[] = { VRT_CUDA_TF32_TILES(VRT_CONV_KERNEL) };

    return product_start(call, { tiles, run, (int)(sizeof(tiles) / sizeof(tiles[0])),
                                 VRT_CUDA_GATHER_PATCHES, false }, p);
}

}
