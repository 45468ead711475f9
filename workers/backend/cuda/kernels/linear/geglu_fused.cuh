/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * geglu in halves by one kernel: a tile of places is normed into shared memory, then 32 hidden
 * channels at a time are made, gated and multiplied into the sums of the outputs, which stay in
 * registers
 */

#include "backend/cuda/kernels/launch.cuh"
#include "backend/cuda/kernels/tile.cuh"

/* Hidden channels at a time; a stage has the rows of both layers that make them. */
#define GEGLU_HIDDEN 32

namespace vrt {

struct geglu_layer {
    const void *weight;
    int row_elements;
    const float *bias;              /* NULL: none */
};

struct geglu {
    view x, residual, out;          /* residual.c is 0 where there is none */
    bool is_wide;
    bool residual_is_paired, out_is_paired;     /* two channels can be read or written at a time */
    tile_norm norm;
    int hidden_channels;
    geglu_layer fc11, fc12, fc2;
    int n_stages;
    int n_slices;                   /* of x's channels */
    tile_steps steps;               /* blocks of hidden channels */
    int stride;                     /* of the tile */
    unsigned hidden, stages;        /* bytes from the tile */
};

/* Elements from the view's data to the tile's row; -1: there is no such row. */
static __device__ __forceinline__ int64_t geglu_place(const view &v, int64_t row)
{
    const int64_t line = row / v.w;

    if (line >= (int64_t)v.d * v.h)
        return -1;
    return view_at(v, (int)(line / v.h), (int)(line % v.h), (int)(row % v.w));
}

/* The hidden values of this warp's 32 rows and 16 of the chunk's channels, and forgets the sums. */
template <class T>
static __device__ __forceinline__ void geglu_gate(const geglu &p, const tile_lane &lane, int first,
                                                  float sums[2][4][4], T *hidden)
{
    const int thread = thread_anew(), g = thread % 32 / 4, t = thread % 4;

#pragma unroll
    for (int i = 0; i < 2; i++) {
        const int c = lane.parity * 16 + i * 8 + 2 * t;
        float a[2], b[2];

#pragma unroll
        for (int e = 0; e < 2; e++) {
            const bool is_there = first + c + e < p.hidden_channels;
            a[e] = is_there && p.fc11.bias ? __ldg(p.fc11.bias + first + c + e) : 0;
            b[e] = is_there && p.fc12.bias ? __ldg(p.fc12.bias + first + c + e) : 0;
        }
#pragma unroll
        for (int m = 0; m < 4; m++) {
            const float *x = &sums[m / 2][i][m % 2 * 2], *y = &sums[m / 2][2 + i][m % 2 * 2];

            *(uint32_t *)(hidden + (lane.first_row + 8 * m + g) * (GEGLU_HIDDEN + 8) + c) =
                pack_halves<T>(gelu_for_halves(x[0] + a[0]) * (y[0] + b[0]),
                               gelu_for_halves(x[1] + a[1]) * (y[1] + b[1]));
        }
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int e = 0; e < 4; e++)
            sums[0][i][e] = sums[1][i][e] = 0;
}

/* Two channels, or the one that there is; `is_paired`: the pair is aligned to its size. */
static __device__ __forceinline__ float2 load_pair(const char *data, int dtype, int64_t at,
                                                   bool has_second, bool is_paired)
{
    if (is_paired && dtype == VRT_DTYPE_F32)
        return *(const float2 *)((const float *)data + at);
    if (is_paired)
        return unpack_halves(*(const uint32_t *)((const uint16_t *)data + at), dtype);
    return make_float2(load(data, dtype, at), has_second ? load(data, dtype, at + 1) : 0);
}

static __device__ __forceinline__ void store_pair(char *data, int dtype, int64_t at, float2 x,
                                                  bool has_second, bool is_paired)
{
    if (is_paired && dtype == VRT_DTYPE_F32) {
        *(float2 *)((float *)data + at) = x;
    } else if (is_paired) {
        *(uint32_t *)((uint16_t *)data + at) = dtype == VRT_DTYPE_F16
            ? pack_halves<__half>(x.x, x.y) : pack_halves<__nv_bfloat16>(x.x, x.y);
    } else {
        store(data, dtype, at, x.x);
        if (has_second)
            store(data, dtype, at + 1, x.y);
    }
}

/* Outputs from `column` on of this warp's rows. */
template <int PAIRS>
static __device__ __forceinline__ void geglu_put(const geglu &p, const tile_lane &lane, int column,
                                                 const float sums[2][2 * PAIRS][4])
{
    const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4, O = p.out.c;
    const int64_t first = blockIdx.x * (int64_t)(blockDim.x / 2) + lane.first_row + g;
    const char *residual = p.residual.c ? view_data(p.residual) : NULL;
    char *out = view_data(p.out);

#pragma unroll
    for (int m = 0; m < 4; m++) {
        const int64_t to = geglu_place(p.out, first + 8 * m);
        const int64_t from = residual ? geglu_place(p.residual, first + 8 * m) : 0;

        if (to < 0)
            continue;
#pragma unroll
        for (int i = 0; i < 2 * PAIRS; i++) {
            const int c = column + (i / 2 * 2 + lane.parity) * 16 + i % 2 * 8 + 2 * t;
            const bool has_second = c + 1 < O;
            float2 y = make_float2(sums[m / 2][i][m % 2 * 2], sums[m / 2][i][m % 2 * 2 + 1]);

            if (c >= O)
                continue;
            if (p.fc2.bias) {
                y.x += __ldg(p.fc2.bias + c);
                y.y += has_second ? __ldg(p.fc2.bias + c + 1) : 0;
            }
            if (residual) {
                const float2 more = load_pair(residual, p.residual.dtype, from + c, has_second,
                                              p.residual_is_paired);
                y.x += more.x;
                y.y += more.y;
            }
            store_pair(out, p.out.dtype, to + c, y, has_second, p.out_is_paired);
        }
    }
}

/* Numbers of a stage: of two layers' weights, or of as many of fc2 as there are columns. */
template <int PAIRS>
static constexpr int geglu_stage_elements =
    2 * GEGLU_HIDDEN * (TILE_SLICE + 8) > 32 * PAIRS * (GEGLU_HIDDEN + 8)
        ? 2 * GEGLU_HIDDEN * (TILE_SLICE + 8) : 32 * PAIRS * (GEGLU_HIDDEN + 8);

/*
 * Grid: tiles of places by runs of 32 PAIRS outputs (nearly always one; each makes the hidden
 * channels anew). The rows of both layers are copied as pairs of tiles in turn, 32 of fc11, then 32
 * of fc12, so that a thread has both factors of the gate.
 */
template <class T, int PAIRS>
static __global__ void __launch_bounds__(2 * TILE_MAX_ROWS, PAIRS > 4 ? 1 : 2) geglu_tile(geglu p)
{
    constexpr int SLICE_STEPS = TILE_SLICE / 16, HIDDEN_STEPS = GEGLU_HIDDEN / 16;
    constexpr int UNROLL = PAIRS == 4 ? 1 : SLICE_STEPS;        /* for want of registers */
    VRT_DYNAMIC_SHARED(shared);
    const int rows = blockDim.x / 2, column = blockIdx.y * 32 * PAIRS;
    tile_place *places = (tile_place *)shared;
    unsigned char *memory = (unsigned char *)(places + rows);
    T *tile = (T *)memory, *hidden = (T *)(memory + p.hidden), *stages = (T *)(memory + p.stages);
    float sums[2][2 * PAIRS][4] = {}, gates[2][4][4] = {};

    const auto copy = [&](int i) {
        const tile_step ahead = tile_step_of(p.steps, i);
        T *stage = stages + ahead.stage * geglu_stage_elements<PAIRS>;
        const int first = ahead.block * GEGLU_HIDDEN, k = ahead.slice * TILE_SLICE;

        if (i < p.steps.n && ahead.slice < p.n_slices) {
            const auto row = [&](int r) { return first + r < p.hidden_channels ? first + r : -1; };
            tile_copy_slice<TILE_SLICE>(stage, GEGLU_HIDDEN, (const T *)p.fc11.weight,
                                        p.fc11.row_elements, k, row);
            tile_copy_slice<TILE_SLICE>(stage + GEGLU_HIDDEN * (TILE_SLICE + 8), GEGLU_HIDDEN,
                                        (const T *)p.fc12.weight, p.fc12.row_elements, k, row);
        } else if (i < p.steps.n) {
            tile_copy_slice<GEGLU_HIDDEN>(
                stage, 32 * PAIRS, (const T *)p.fc2.weight, p.fc2.row_elements, first,
                [&](int r) { return column + r < p.out.c ? column + r : -1; });
        }
        cp_async_commit();
    };
    for (int i = 0; i < p.n_stages - 1; i++)
        copy(i);
    for (int r = threadIdx.x; r < rows; r += blockDim.x)
        places[r] = { geglu_place(p.x, blockIdx.x * (int64_t)rows + r), NULL };
    __syncthreads();
    tile_fill(p.x, p.is_wide, p.norm, places, tile);

#pragma unroll 1
    for (int i = 0; i < p.steps.n; i++) {
        const tile_step now = tile_step_of(p.steps, i);
        const T *stage = stages + now.stage * geglu_stage_elements<PAIRS>;

        tile_wait(p.n_stages);
        copy(i + p.n_stages - 1);
        if (now.slice < p.n_slices) {
            tile_multiply<T, 2, SLICE_STEPS, UNROLL>(
                tile_lane_of(), tile + now.slice * TILE_SLICE, p.stride, stage, TILE_SLICE + 8,
                (p.x.c + 15) / 16 - now.slice * SLICE_STEPS, 2, gates);
            if (now.slice == p.n_slices - 1)
                geglu_gate<T>(p, tile_lane_of(), now.block * GEGLU_HIDDEN, gates, hidden);
        } else {
            tile_multiply<T, PAIRS, HIDDEN_STEPS, UNROLL>(
                tile_lane_of(), hidden, GEGLU_HIDDEN + 8, stage, GEGLU_HIDDEN + 8, HIDDEN_STEPS,
                tile_pairs(tile_lane_of(), p.out.c - column), sums);
        }
    }
    geglu_put<PAIRS>(p, tile_lane_of(), column, sums);
}

/* Pairs of column tiles that a warp has, by the outputs. */
static inline int geglu_pairs(int O)
{
    return O <= 128 ? 4 : 6;
}

/* The tile to work with; its rows are 0 where there is too little shared memory. */
static inline tile_size geglu_tile_for(const vrt_cuda_limits *limits, int64_t n_places, int C,
                                       int O)
{
    const size_t elements = geglu_pairs(O) == 4 ? geglu_stage_elements<4>
                                                : geglu_stage_elements<6>;

    if (C > TILE_MAX_CHANNELS)
        return { 0, 0, 0 };
    return tile_size_for(limits, n_places, sizeof(tile_place) + 2 * (size_t)(tile_stride(C) +
                         GEGLU_HIDDEN + 8), 2 * elements);
}

template <class T>
static inline int geglu_launch_as(const vrt_cuda_call *call, const tile_size &size,
                                  const geglu &p)
{
    const int64_t n = (int64_t)p.x.d * p.x.h * p.x.w;
    const int columns = 32 * geglu_pairs(p.out.c);
    const dim3 grid((unsigned)((n + size.rows - 1) / size.rows),
                    (unsigned)((p.out.c + columns - 1) / columns));

    return vrt_launch(geglu_pairs(p.out.c) == 4 ? geglu_tile<T, 4> : geglu_tile<T, 6>, grid,
                      2 * size.rows, size.shared_bytes, call->stream, p);
}

/* Enqueues it with a tile of geglu_tile_for(). Return: 0, cudaError_t. */
static inline int geglu_launch(const vrt_cuda_call *call, const tile_size &size, geglu *p,
                               vrt_dtype dtype)
{
    p->n_stages = size.n_stages;
    p->n_slices = (p->x.c + TILE_SLICE - 1) / TILE_SLICE;
    p->steps = tile_steps_of((p->hidden_channels + GEGLU_HIDDEN - 1) / GEGLU_HIDDEN,
                             p->n_slices + 1, size.n_stages);
    p->stride = tile_stride(p->x.c);
    p->hidden = 2 * (unsigned)(size.rows * p->stride);
    p->stages = p->hidden + 2 * (unsigned)(size.rows * (GEGLU_HIDDEN + 8));
    return dtype == VRT_DTYPE_F16 ? geglu_launch_as<__half>(call, size, *p)
                                  : geglu_launch_as<__nv_bfloat16>(call, size, *p);
}

}
