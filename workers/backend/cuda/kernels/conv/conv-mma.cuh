/* SPDX-License-Identifier: MIT */
#pragma once

/* Convolutions by tensor cores. */

#include "backend/cuda/kernels/conv/conv.cuh"

namespace vrt {

#define VRT_CONV_KERNEL(m, n, warps_m, warps_n, stages, percent)                         \
    conv_product<mma_sums<T, m, n, warps_m, warps_n>, stages,                            \
                 blocks_at_once(m * n, warps_m * warps_n * 32)>,

template <class T>
int conv_launch(const vrt_cuda_call *call, const product &p)
{
    static const vrt_cuda_tile tiles[] = { VRT_CUDA_CONV_TILES(VRT_CUDA_TILE) };
    static const product_kernel run[] = { VRT_CUDA_CONV_TILES(VRT_CONV_KERNEL) };

    return product_start(call, { tiles, run, (int)(sizeof(tiles) / sizeof(tiles[0])),
                                 VRT_CUDA_GATHER_PATCHES, false }, p);
}

}
