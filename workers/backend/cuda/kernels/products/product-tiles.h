/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * How a product is cut into blocks of threads: which tile, how much shared memory, how large a grid
 *
 * Every product here is C[m][n] = sum over k of A[m][k] * B[n][k]: m a place, n an output channel.
 * A block computes a tile of m by n. Its factors come to shared memory in steps of 64 bytes of k,
 * called a slab: 32 halves or 16 floats, in chunks of 16 bytes. The sum of an output runs over k in
 * the same order in every tile, so that the choice changes how long it takes, not one bit.
 *
 * Each table below is also the list of kernels that are compiled: X(m, n, warps along m, warps
 * along n, stages of the pipeline, percent of its peak that the tile is thought to reach).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rows of places, by mma: linear layers and 1x1 convolutions. */
#define VRT_CUDA_ROWS_TILES(X) \
    X(128, 128, 2, 2, 3, 90)   \
    X(128, 64, 2, 2, 3, 75)    \
    X(64, 64, 2, 2, 4, 60)     \
    X(128, 32, 4, 1, 4, 50)    \
    X(128, 16, 4, 1, 4, 30)

/* Patches 16 places wide, by mma: convolutions with neighbours. */
#define VRT_CUDA_CONV_TILES(X) \
    X(128, 128, 2, 2, 3, 90)   \
    X(256, 64, 4, 1, 3, 85)    \
    X(64, 64, 2, 2, 4, 60)     \
    X(256, 32, 4, 1, 4, 60)    \
    X(128, 16, 4, 1, 4, 35)

/* f32 that may be multiplied as tf32, rows and patches alike. */
#define VRT_CUDA_TF32_TILES(X) \
    X(128, 64, 2, 2, 3, 75)    \
    X(128, 32, 4, 1, 4, 50)

/* f32 in parts, by mma, rows and patches alike. */
#define VRT_CUDA_SPLIT_TILES(X) \
    X(128, 64, 2, 2, 3, 75)     \
    X(128, 32, 4, 1, 4, 50)     \
    X(128, 16, 4, 1, 4, 30)

/* f32 by fma, rows and patches alike: 128 threads of m/16 by n/8 sums each. */
#define VRT_CUDA_F32_TILES(X)  \
    X(128, 64, 4, 1, 3, 85)    \
    X(128, 32, 4, 1, 4, 65)    \
    X(128, 16, 4, 1, 4, 45)

/* Samples of deformable convolutions, by mma. */
#define VRT_CUDA_DEFORM_TILES(X) \
    X(64, 128, 2, 4, 3, 45)      \
    X(64, 64, 2, 4, 3, 30)

/* The same with f32, in parts by mma, and by fma. */
#define VRT_CUDA_DEFORM_SPLIT_TILES(X) \
    X(64, 64, 2, 2, 3, 50)
#define VRT_CUDA_DEFORM_F32_TILES(X) \
    X(64, 64, 4, 1, 3, 50)

#define VRT_CUDA_CHUNK_BYTES 16    /* of one cp.async */
#define VRT_CUDA_SLAB_CHUNKS 4      /* 64 bytes of a row: two MMA steps of halves */

/* Between rows of a slab in shared memory: 64 bytes, and one chunk more, so that eight rows beside
 * each other have their chunks in eight different sets of banks, wherever the first one is. */
#define VRT_CUDA_ROW_BYTES 80

#define VRT_CUDA_PATCH_WIDTH 16

/* Sums pass through shared memory on their way out: rows of a warp's at a time, floats between. */
#define VRT_CUDA_FINISH_ROWS 32
#define VRT_CUDA_FINISH_GAP 8

/* Where each row of a tile stands in the output and in the residual: two offsets. */
#define VRT_CUDA_ROW_PLACE_BYTES 16

/* Blocks that keep a large device busy. Fewer of larger tiles aren't worth it. A constant, for
 * devices of a class that has several sizes shall choose alike, if only to be easier compared.
 * Tests, whose products are small, have another to come to all tiles. */
#ifndef VRT_CUDA_BUSY_BLOCKS
#define VRT_CUDA_BUSY_BLOCKS 132
#endif

struct vrt_cuda_tile {
    int m, n, warps_m, warps_n, stages, percent;
};

/* For arrays of tiles. */
#define VRT_CUDA_TILE(m, n, warps_m, warps_n, stages, percent) \
    { m, n, warps_m, warps_n, stages, percent },

enum vrt_cuda_gather {
    VRT_CUDA_GATHER_ROWS,           /* a place's own channels */
    VRT_CUDA_GATHER_PATCHES,        /* those of K by K neighbours as well */
    VRT_CUDA_GATHER_SAMPLES,        /* samples: no place's own */
};

/* What is multiplied, for the choice of a tile. */
struct vrt_cuda_product_shape {
    enum vrt_cuda_gather gather;
    bool is_f32;                    /* sums by fma, a thread each */
    int64_t n_places;
    int d, h, w;                    /* patches: the places' */
    int n_out;                      /* of a group */
    int n_groups;
    int kernel;                     /* K; 1 unless patches */
};

/* a / b, rounded up. */
static inline int64_t vrt_cuda_divided_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* Rows of A that a tile has in shared memory at a time. */
static inline int vrt_cuda_tile_rows(const struct vrt_cuda_tile *tile,
                                     enum vrt_cuda_gather gather, int kernel)
{
    if (gather != VRT_CUDA_GATHER_PATCHES)
        return tile->m;
    return (tile->m / VRT_CUDA_PATCH_WIDTH + kernel - 1) * (VRT_CUDA_PATCH_WIDTH + kernel - 1);
}

/* Dynamic shared memory of a block. Patches have two buffers for A, all else one each stage; and
 * where each row of A is in the input. */
static inline size_t vrt_cuda_tile_shared_bytes(const struct vrt_cuda_tile *tile,
                                                const struct vrt_cuda_product_shape *shape)
{
    const int a_rows = vrt_cuda_tile_rows(tile, shape->gather, shape->kernel);
    const int a_buffers = shape->gather == VRT_CUDA_GATHER_PATCHES ? 2 : tile->stages;
    const int columns = shape->is_f32 ? tile->n : tile->n / tile->warps_n;
    const size_t ring = (size_t)(a_rows * a_buffers + tile->n * tile->stages) * VRT_CUDA_ROW_BYTES;
    const size_t finish = (size_t)(tile->warps_m * tile->warps_n) * VRT_CUDA_FINISH_ROWS *
                          (size_t)(columns + VRT_CUDA_FINISH_GAP) * sizeof(float);

    const size_t from = shape->gather == VRT_CUDA_GATHER_PATCHES
        ? (size_t)(a_rows + 1) / 2 * 2 * sizeof(int64_t) : 0;

    return (size_t)tile->m * VRT_CUDA_ROW_PLACE_BYTES + from + (ring > finish ? ring : finish);
}

/* Tiles along m: patches don't reach over the ends of rows, columns and frames. */
static inline int64_t vrt_cuda_tile_count_m(const struct vrt_cuda_tile *tile,
                                            const struct vrt_cuda_product_shape *shape)
{
    if (shape->gather != VRT_CUDA_GATHER_PATCHES)
        return vrt_cuda_divided_up(shape->n_places, tile->m);
    return shape->d * vrt_cuda_divided_up(shape->h, tile->m / VRT_CUDA_PATCH_WIDTH) *
           vrt_cuda_divided_up(shape->w, VRT_CUDA_PATCH_WIDTH);
}

/* Tiles along n, of one group. */
static inline int64_t vrt_cuda_tile_count_n(const struct vrt_cuda_tile *tile,
                                            const struct vrt_cuda_product_shape *shape)
{
    return vrt_cuda_divided_up(shape->n_out, tile->n);
}

/* Blocks in all. */
static inline int64_t vrt_cuda_tile_blocks(const struct vrt_cuda_tile *tile,
                                           const struct vrt_cuda_product_shape *shape)
{
    return vrt_cuda_tile_count_m(tile, shape) * vrt_cuda_tile_count_n(tile, shape) *
           shape->n_groups;
}

/* How long the whole takes with this tile, in no unit: what it computes, idle sums included, by
 * how well it does so; no less than that many blocks take which run at the same time anyway. */
static inline double vrt_cuda_tile_cost(const struct vrt_cuda_tile *tile,
                                        const struct vrt_cuda_product_shape *shape)
{
    const int64_t blocks = vrt_cuda_tile_blocks(tile, shape);
    const int64_t counted = blocks < VRT_CUDA_BUSY_BLOCKS ? VRT_CUDA_BUSY_BLOCKS : blocks;

    return (double)counted * tile->m * tile->n / tile->percent;
}

/* Which of `tiles` is the cheapest that fits `shared_bytes`; -1: none does. */
static inline int vrt_cuda_tile_choose(const struct vrt_cuda_tile *tiles, int n_tiles,
                                       const struct vrt_cuda_product_shape *shape,
                                       size_t shared_bytes)
{
    int best = -1;

    for (int i = 0; i < n_tiles; i++) {
        if (vrt_cuda_tile_shared_bytes(&tiles[i], shape) > shared_bytes)
            continue;
        if (best < 0 ||
            vrt_cuda_tile_cost(&tiles[i], shape) < vrt_cuda_tile_cost(&tiles[best], shape))
            best = i;
    }
    return best;
}
