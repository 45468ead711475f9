/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Queries, keys and values of some windows, in halves: places are gathered, normed, and multiplied
 * with the layer's weights
 *
 * Rows of the result are the windows' places in their order, those of the padding included. Each
 * head's part begins at a multiple of 16 bytes: its channels are made a whole number of eights.
 */

#include "backend/cuda/kernels/divisor.h"
#include "backend/cuda/kernels/launch.cuh"
#include "backend/cuda/kernels/tile.cuh"
#include "backend/cuda/kernels/attention/windows.cuh"

/* Columns of the product that a block makes at a time. */
#define PROJECT_COLUMNS 128
#define PROJECT_PAIRS (PROJECT_COLUMNS / 32)

namespace vrt {

/* One layer of queries, keys and values. */
struct project_layer {
    const void *weight;             /* [3C][row_elements] */
    int row_elements;
    const float *bias;              /* [3C] or NULL */
    const float *position;          /* [places of a frame of the window][C] or NULL */
};

struct project {
    view x;
    vrt_cuda_windows windows;
    bool is_wide;
    tile_norm norm;
    project_layer layers[2];
    int first_window, n_rows;
    int heads, dim, dim8;           /* dim8: channels of a head here, a multiple of 8 */
    vrt_divisor by_dim8;
    float scale;                    /* of the queries */
    void *out;                      /* [n_rows][layers][3][heads][dim8] */
    int64_t out_row_elements, layer_elements;
    int n_stages;
    tile_steps steps;               /* blocks of columns */
};

/* Of a row of the layer's weights that makes this column; -1: none does. */
static __device__ __forceinline__ int project_weight_row(const project &p, int column)
{
    const int part = vrt_divide(column, &p.by_dim8), c = column - part * p.dim8;

    return part < 3 * p.heads && c < p.dim ? part * p.dim + c : -1;
}

static __device__ __forceinline__ tile_place project_place(const project &p, int layer, int row)
{
    const int C = p.x.c, n = p.windows.n_places;
    const float *position = p.layers[layer].position;
    tile_place place = { -1, NULL };
    int at[3];

    if (row >= p.n_rows)
        return place;
    const int window = row / n, t = row - window * n;
    if (vrt_cuda_windows_place(&p.windows, p.first_window + window, t, at))
        place.at = view_at(p.x, at[0], at[1], at[2]);
    if (position)
        place.more = position + (int64_t)(t % (p.windows.size[1] * p.windows.size[2])) * C;
    return place;
}

/* Writes 128 columns of the tile's rows. */
template <class T>
static __device__ __forceinline__ void project_put(const project &p, int layer, int column,
                                                   const tile_lane &lane, int n_pairs,
                                                   const float sums[2][2 * PROJECT_PAIRS][4])
{
    const int rows = blockDim.x / 2, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    const int row = blockIdx.x * rows + lane.first_row + g;
    const int columns = 3 * p.heads * p.dim8;
    T *out = (T *)p.out + row * p.out_row_elements + layer * p.layer_elements;

#pragma unroll
    for (int i = 0; i < 2 * PROJECT_PAIRS; i++) {
        const int c = column + (i / 2 * 2 + lane.parity) * 16 + i % 2 * 8 + 2 * t;
        float bias[2];

        if (i / 2 >= n_pairs || c >= columns)
            continue;
        for (int e = 0; e < 2; e++) {
            const int from = project_weight_row(p, c + e);
            bias[e] = from >= 0 && p.layers[layer].bias ? __ldg(p.layers[layer].bias + from) : 0;
        }
        const float scale = c < p.heads * p.dim8 ? p.scale : 1;
#pragma unroll
        for (int m = 0; m < 4; m++)
            if (row + 8 * m < p.n_rows)
                *(uint32_t *)(out + 8 * m * p.out_row_elements + c) =
                    pack_halves<T>((sums[m / 2][i][m % 2 * 2] + bias[0]) * scale,
                                   (sums[m / 2][i][m % 2 * 2 + 1] + bias[1]) * scale);
    }
}

/* Grid: tiles of rows by layers. */
template <class T>
static __global__ void __launch_bounds__(2 * TILE_MAX_ROWS, 2) project_rows(project p)
{
    constexpr int UNROLL = has_mma_16x8x16() ? TILE_SLICE / 16 : 1;     /* for want of registers */
    VRT_DYNAMIC_SHARED(shared);
    const int rows = blockDim.x / 2, layer = blockIdx.y, C = p.x.c;
    const int stride = tile_stride(C), k16 = (C + 15) / 16;
    const int columns = 3 * p.heads * p.dim8, n_slices = (C + TILE_SLICE - 1) / TILE_SLICE;
    const T *weight = (const T *)p.layers[layer].weight;
    tile_place *places = (tile_place *)shared;
    T *tile = (T *)(places + rows), *stages = tile + rows * stride;
    const int stage_elements = PROJECT_COLUMNS * (TILE_SLICE + 8);
    float sums[2][2 * PROJECT_PAIRS][4] = {};

    const auto copy = [&](int i) {
        const tile_step ahead = tile_step_of(p.steps, i);
        const int column = ahead.block * PROJECT_COLUMNS;
        if (i < p.steps.n)
            tile_copy_slice<TILE_SLICE>(
                stages + ahead.stage * stage_elements, PROJECT_COLUMNS, weight,
                p.layers[layer].row_elements, ahead.slice * TILE_SLICE,
                [&](int r) { return project_weight_row(p, column + r); });
        cp_async_commit();
    };
    for (int i = 0; i < p.n_stages - 1; i++)
        copy(i);
    for (int r = threadIdx.x; r < rows; r += blockDim.x)
        places[r] = project_place(p, layer, blockIdx.x * rows + r);
    __syncthreads();
    tile_fill(p.x, p.is_wide, p.norm, places, tile);

#pragma unroll 1
    for (int i = 0; i < p.steps.n; i++) {
        const tile_step now = tile_step_of(p.steps, i);
        const int column = now.block * PROJECT_COLUMNS;
        const int n_pairs = tile_pairs(tile_lane_of(), columns - column);

        tile_wait(p.n_stages);
        copy(i + p.n_stages - 1);
        tile_multiply<T, PROJECT_PAIRS, TILE_SLICE / 16, UNROLL>(
            tile_lane_of(), tile + now.slice * TILE_SLICE, stride,
            stages + now.stage * stage_elements, TILE_SLICE + 8,
            k16 - now.slice * (TILE_SLICE / 16), n_pairs, sums);
        if (now.slice + 1 < n_slices)
            continue;
        project_put<T>(p, layer, column, tile_lane_of(), n_pairs, sums);
        for (int i = 0; i < 2 * PROJECT_PAIRS; i++)
            for (int e = 0; e < 4; e++)
                sums[0][i][e] = sums[1][i][e] = 0;
    }
}

/* The tile to work with; its rows are 0 where the channels are too many. */
static inline tile_size project_tile(const vrt_cuda_limits *limits, int64_t n_rows, int C)
{
    if (C > TILE_MAX_CHANNELS)
        return { 0, 0, 0 };
    return tile_size_for(limits, n_rows, sizeof(tile_place) + 2 * (size_t)tile_stride(C),
                         2 * PROJECT_COLUMNS * (TILE_SLICE + 8));
}

/* Enqueues it for both types of halves. Return: 0, cudaError_t. */
static inline int project_launch(const vrt_cuda_call *call, project *p, int n_layers,
                                 vrt_dtype dtype)
{
    const tile_size size = project_tile(call->limits, p->n_rows, p->x.c);
    const dim3 grid((unsigned)((p->n_rows + size.rows - 1) / size.rows), (unsigned)n_layers);

    p->n_stages = size.n_stages;
    p->steps = tile_steps_of((3 * p->heads * p->dim8 + PROJECT_COLUMNS - 1) / PROJECT_COLUMNS,
                             (p->x.c + TILE_SLICE - 1) / TILE_SLICE, size.n_stages);
    if (dtype == VRT_DTYPE_F16)
        return vrt_launch(project_rows<__half>, grid, 2 * size.rows, size.shared_bytes,
                          call->stream, *p);
    return vrt_launch(project_rows<__nv_bfloat16>, grid, 2 * size.rows, size.shared_bytes,
                      call->stream, *p);
}

}
