/* SPDX-License-Identifier: MIT */

/* Products of rows of f32: by fma, not a bit lost, or in parts by tensor cores. */

#include "backend/cuda/kernels/linear/rows.cuh"

namespace vrt {

#define VRT_ROWS_KERNEL(m, n, warps_m, warps_n, stages, percent)                         \
    rows_product<fma_sums<m / 16, n / 8>, channel_gather<float, m, 128>, stages,           \
                 m * n < 128 * 64 ? 4 : 3>,      /* for want of registers */

template <> int rows_launch<split_tf32>(const vrt_cuda_call *call, const product &p);

template <>
int rows_launch<float>(const vrt_cuda_call *call, const product &p)
{
    static const vrt_cuda_tile tiles[] = { VRT_CUDA_F32_TILES(VRT_CUDA_TILE) };
    static const product_kernel run[] = { VRT_CUDA_F32_TILES(VRT_ROWS_KERNEL) };

    if (call->f32 == VRT_CUDA_F32_SPLIT)
        return rows_launch<split_tf32>(call, p);
    return product_start(call, { tiles, run, (int)(sizeof(tiles) / sizeof(tiles[0])),
                                 VRT_CUDA_GATHER_ROWS, true }, p);
}

}
