/* SPDX-License-Identifier: MIT */
#pragma once

/* Deformable convolutions by tensor cores. */

#include "backend/cuda/kernels/deform/deform.cuh"

namespace vrt {

#define VRT_DEFORM_KERNEL(m, n, warps_m, warps_n, stages, percent)                       \
    rows_product<mma_sums<T, m, n, warps_m, warps_n>,                                    \
                 sample_gather<T, m, warps_m * warps_n * 32>, stages,                    \
                 blocks_at_once(m * n, warps_m * warps_n * 32)>,

template <class T>
int deform_launch(const vrt_cuda_call *call, const product &p)
{
    static const vrt_cuda_tile tiles[] = { VRT_CUDA_DEFORM_TILES(VRT_CUDA_TILE) };
    static const product_kernel run[] = { VRT_CUDA_DEFORM_TILES(VRT_DEFORM_KERNEL) };

    return product_start(call, { tiles, run, (int)(sizeof(tiles) / sizeof(tiles[0])),
                                 VRT_CUDA_GATHER_SAMPLES, false }, p);
}

}
