/* SPDX-License-Identifier: MIT */

/* Products of rows of f32 rounded to tf32. */

#include "backend/cuda/kernels/linear/rows.cuh"

namespace vrt {

#define VRT_ROWS_KERNEL(m, n, warps_m, warps_n, stages, percent)                         \
    rows_product<mma_sums<tf32, m, n, warps_m, warps_n>,                                 \
                 channel_gather<tf32, m, 128>, stages, blocks_at_once(m * n, 128)>,

template <>
int rows_launch<tf32>(const vrt_cuda_call *call, const product &p)
{
    static const vrt_cuda_tile tiles[] = { VRT_CUDA_TF32_TILES(VRT_CUDA_TILE) };
    static const product_kernel run[] = { VRT_CUDA_TF32_TILES(VRT_ROWS_KERNEL) };

    return product_start(call, { tiles, run, (int)(sizeof(tiles) / sizeof(tiles[0])),
                                 VRT_CUDA_GATHER_ROWS, false }, p);
}

}
