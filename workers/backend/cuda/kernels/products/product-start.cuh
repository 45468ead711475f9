/* SPDX-License-Identifier: MIT */
#pragma once

/* The choice among the kernels of a product, and their launch. */

#include "backend/cuda/kernels/launch.cuh"
#include "backend/cuda/kernels/products/product.h"

namespace vrt {

typedef void (*product_kernel)(product);

/* Kernels that compute the same, and the tile that each was compiled for. */
struct product_kernels {
    const vrt_cuda_tile *tiles;
    const product_kernel *run;
    int n;
    vrt_cuda_gather gather;
    bool is_f32;                    /* sums by fma */
};

/* How many blocks a multiprocessor's registers shall hold, of so many sums in all. */
static constexpr int blocks_at_once(int sums, int threads)
{
    return (sums / threads >= 128 ? 2 : 4) * 128 / threads;
}

/* Enqueues the kernel that suits best. Return: 0, cudaError_t. */
static inline int product_start(const vrt_cuda_call *call, const product_kernels &kernels,
                                product p)
{
    const vrt_cuda_product_shape shape = {
        kernels.gather, kernels.is_f32, p.n_places, p.out.d, p.out.h, p.out.w,
        p.n_out,        p.n_groups,     p.kernel,
    };
    const int i = vrt_cuda_tile_choose(kernels.tiles, kernels.n, &shape,
                                       call->limits->shared_bytes);

    if (i < 0)
        return cudaErrorInvalidConfiguration;
    const vrt_cuda_tile &tile = kernels.tiles[i];
    const int64_t tiles_m = vrt_cuda_tile_count_m(&tile, &shape);
    p.tiles_n = (int)vrt_cuda_tile_count_n(&tile, &shape);
    p.tiles_x = (int)vrt_cuda_divided_up(shape.w, VRT_CUDA_PATCH_WIDTH);
    p.tiles_y = (int)vrt_cuda_divided_up(shape.h, tile.m / VRT_CUDA_PATCH_WIDTH);
    if (tiles_m * p.tiles_n > INT32_MAX)
        return cudaErrorInvalidConfiguration;
    return vrt_launch(kernels.run[i],
                      dim3((unsigned)(tiles_m * p.tiles_n), (unsigned)p.n_groups),
                      32 * tile.warps_m * tile.warps_n,
                      vrt_cuda_tile_shared_bytes(&tile, &shape), call->stream, p);
}

}
