/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A tile of rows in shared memory, normed and rounded, and its products with weights
 *
 * What the fused kernels have in common. A block has two warps for every 32 rows of its tile: both
 * have all of these rows, and of the weight's rows (the product's columns) every other 16. The
 * tile stays, weights pass by in slices of TILE_SLICE numbers of each row, copied ahead while the
 * slice before is multiplied. Sums of a column always run over k in the same order, so that the
 * tile's height changes no bit.
 */

#include "mma.cuh"
#include "backend/cuda/kernels/divisor.h"
#include "backend/cuda/kernels/scalar.cuh"
#include "backend/cuda/kernels/view.cuh"

#define TILE_SLICE 64
#define TILE_MAX_ROWS 128

/* Rows are gathered by whole warps, a few at a time, four channels a lane at a time. */
#define TILE_ROWS_AT_ONCE 4
#define TILE_FOURS 3
#define TILE_MAX_CHANNELS (128 * TILE_FOURS)

namespace vrt {

/* What a kernel with a tile has of shared memory: the tile, then the slices' stages. */
struct tile_size {
    int rows;                       /* 32, 64 or 128; 0: there is too little */
    int n_stages;                   /* 2 or 3 */
    size_t shared_bytes;
};

/* Halves from a row of a tile of k columns to the next: such that ldmatrix meets no bank twice. */
static __host__ __device__ __forceinline__ int tile_stride(int k)
{
    return (k + 15) / 16 * 16 + 8;
}

/*
 * The highest tile that the device has shared memory for, at `row_bytes` for each row and
 * `stage_bytes` for each stage; but where there are few rows, low ones, so that the blocks are
 * many. Depends on the op and the architecture alone.
 */
static inline tile_size tile_size_for(const vrt_cuda_limits *limits, int64_t n_rows,
                                      size_t row_bytes, size_t stage_bytes)
{
    const int64_t many = 256;

    for (int rows = TILE_MAX_ROWS; rows >= 32; rows /= 2) {
        if (rows > 32 && (n_rows + rows - 1) / rows < many)
            continue;
        for (int n_stages = 3; n_stages >= 2; n_stages--) {
            const size_t bytes = (size_t)rows * row_bytes + (size_t)n_stages * stage_bytes;
            if (bytes <= limits->shared_bytes)
                return { rows, n_stages, bytes };
        }
    }
    return { 0, 0, 0 };
}

/* LayerNorm's params [C]; weight NULL: no norm. */
struct tile_norm {
    const float *weight, *bias;
};

/* Whether rows of this view can be read four channels at a time. */
static inline bool tile_is_wide(const view &x)
{
    return x.c % 4 == 0 && view_is_aligned(x, 4 * (int64_t)vrt_dtype_size((vrt_dtype)x.dtype));
}

/* Where a row comes from. */
struct tile_place {
    int64_t at;                     /* elements from the view's data; < 0: nowhere, it is zeros */
    const float *more;              /* [C], added after the norm; NULL: nothing */
};

typedef float tile_values[TILE_ROWS_AT_ONCE][TILE_FOURS][4];

/* v [.][j] is channels 4 (lane + 32 j) and the next three. */
static __device__ __forceinline__ void tile_load_wide(const char *data, int C,
                                                      const tile_place *from, tile_values v)
{
#pragma unroll
    for (int i = 0; i < TILE_ROWS_AT_ONCE; i++)
#pragma unroll
        for (int j = 0; j < TILE_FOURS; j++) {
            const int c = 4 * (int)(threadIdx.x % 32 + 32 * j);
            float4 x = make_float4(0, 0, 0, 0);
            if (c < C && from[i].at >= 0)
                x = *(const float4 *)((const float *)data + from[i].at + c);
            v[i][j][0] = x.x;
            v[i][j][1] = x.y;
            v[i][j][2] = x.z;
            v[i][j][3] = x.w;
        }
}

static __device__ __forceinline__ float2 unpack_halves(uint32_t both, int dtype)
{
    if (dtype == VRT_DTYPE_BF16)
        return make_float2(__uint_as_float(both << 16), __uint_as_float(both & 0xffff0000));
    return make_float2(__half2float(__ushort_as_half((unsigned short)both)),
                       __half2float(__ushort_as_half((unsigned short)(both >> 16))));
}

/* All is asked for before any of it is used. */
static __device__ __forceinline__ void tile_load_halves(const char *data, int dtype, int C,
                                                        const tile_place *from, tile_values v)
{
    uint2 x[TILE_ROWS_AT_ONCE][TILE_FOURS];

#pragma unroll
    for (int i = 0; i < TILE_ROWS_AT_ONCE; i++)
#pragma unroll
        for (int j = 0; j < TILE_FOURS; j++) {
            const int c = 4 * (int)(threadIdx.x % 32 + 32 * j);
            x[i][j] = make_uint2(0, 0);
            if (c < C && from[i].at >= 0)
                x[i][j] = *(const uint2 *)((const uint16_t *)data + from[i].at + c);
        }
#pragma unroll
    for (int i = 0; i < TILE_ROWS_AT_ONCE; i++)
#pragma unroll
        for (int j = 0; j < TILE_FOURS; j++) {
            const float2 low = unpack_halves(x[i][j].x, dtype);
            const float2 high = unpack_halves(x[i][j].y, dtype);
            v[i][j][0] = low.x;
            v[i][j][1] = low.y;
            v[i][j][2] = high.x;
            v[i][j][3] = high.y;
        }
}

static __device__ __forceinline__ void tile_load_any(const char *data, int dtype, int C,
                                                     const tile_place *from, tile_values v)
{
#pragma unroll
    for (int i = 0; i < TILE_ROWS_AT_ONCE; i++)
#pragma unroll
        for (int j = 0; j < TILE_FOURS; j++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                const int c = 4 * (int)(threadIdx.x % 32 + 32 * j) + e;
                v[i][j][e] = c < C && from[i].at >= 0 ? load(data, dtype, from[i].at + c) : 0;
            }
}

/* Norms one row [C], of which this lane has v. */
static __device__ __forceinline__ void tile_norm_row(const tile_norm &norm, int C,
                                                     float v[TILE_FOURS][4])
{
    float sum = 0, squares = 0;

#pragma unroll
    for (int j = 0; j < TILE_FOURS; j++)        /* zeros beyond C */
        sum += (v[j][0] + v[j][1]) + (v[j][2] + v[j][3]);
    const float mean = warp_sum(sum) / (float)C;
#pragma unroll
    for (int j = 0; j < TILE_FOURS; j++)
#pragma unroll
        for (int e = 0; e < 4; e++) {
            const int c = 4 * (int)(threadIdx.x % 32 + 32 * j) + e;
            v[j][e] = c < C ? v[j][e] - mean : 0;
            squares += v[j][e] * v[j][e];
        }
    const float scale = rsqrtf(warp_sum(squares) / (float)C + VRT_NORM_EPSILON);
#pragma unroll
    for (int j = 0; j < TILE_FOURS; j++)
#pragma unroll
        for (int e = 0; e < 4; e++) {
            const int c = 4 * (int)(threadIdx.x % 32 + 32 * j) + e;
            if (c < C)
                v[j][e] = v[j][e] * scale * __ldg(norm.weight + c) + __ldg(norm.bias + c);
        }
}

/* Writes one row of the tile, with zeros beyond C. */
template <class T>
static __device__ __forceinline__ void tile_put_row(T *row, int C, const float *more,
                                                    float v[TILE_FOURS][4])
{
#pragma unroll
    for (int j = 0; j < TILE_FOURS; j++) {
        const int c = 4 * (int)(threadIdx.x % 32 + 32 * j);
        if (c >= (C + 15) / 16 * 16)
            continue;
#pragma unroll
        for (int e = 0; e < 4; e++)
            if (more && c + e < C)
                v[j][e] += __ldg(more + c + e);
        *(uint2 *)(row + c) = make_uint2(pack_halves<T>(v[j][0], v[j][1]),
                                         pack_halves<T>(v[j][2], v[j][3]));
    }
}

/*
 * Fills tile [rows][tile_stride(C)] from x's C channels, C at most TILE_MAX_CHANNELS. places
 * [rows] is shared memory. Barriers have to go before and after.
 */
template <class T>
static __device__ __forceinline__ void tile_fill(const view &x, bool is_wide,
                                                 const tile_norm &norm, const tile_place *places,
                                                 T *tile)
{
    const char *data = view_data(x);
    const int warp = threadIdx.x / 32, rows = blockDim.x / 2, stride = tile_stride(x.c);

    for (int first = warp * TILE_ROWS_AT_ONCE; first < rows;
         first += blockDim.x / 32 * TILE_ROWS_AT_ONCE) {
        tile_place from[TILE_ROWS_AT_ONCE];
        tile_values v;

#pragma unroll
        for (int i = 0; i < TILE_ROWS_AT_ONCE; i++)
            from[i] = places[first + i];
        if (is_wide && x.dtype == VRT_DTYPE_F32)
            tile_load_wide(data, x.c, from, v);
        else if (is_wide)
            tile_load_halves(data, x.dtype, x.c, from, v);
        else
            tile_load_any(data, x.dtype, x.c, from, v);
#pragma unroll
        for (int i = 0; i < TILE_ROWS_AT_ONCE; i++) {
            if (norm.weight && from[i].at >= 0)
                tile_norm_row(norm, x.c, v[i]);
            tile_put_row(tile + (first + i) * stride, x.c, from[i].more, v[i]);
        }
    }
}

/*
 * Begins to copy numbers [k, k + WIDTH) of n rows of a weight to a stage [n][WIDTH + 8]: stage row
 * i from weight row row(i), zeros where that is < 0 or the weight's rows have ended. A thread's
 * chunks are of one column, for a block has whole warps.
 */
template <int WIDTH, class T, class Row>
static __device__ __forceinline__ void tile_copy_slice(T *stage, int n, const T *weight,
                                                       int row_elements, int k, Row row)
{
    constexpr int CHUNKS = WIDTH / 8;
    const int thread = thread_anew(), first = thread / CHUNKS, step = (int)blockDim.x / CHUNKS;
    const int c = thread % CHUNKS * 8;
    const bool has_column = k + c < row_elements;

    weight += k + c;
    stage += first * (WIDTH + 8) + c;
#pragma unroll 1
    for (int r = first; r < n; r += step, stage += step * (WIDTH + 8)) {
        const int from = row(r);
        const bool is_there = from >= 0 && has_column;

        cp_async_16(stage, weight + (is_there ? from * row_elements : 0), is_there);
    }
}

/* How the steps of a pipeline follow each other; the host makes it. */
struct tile_steps {
    vrt_divisor slices, stages;     /* of a block of columns; in shared memory */
    int n;
};

/* A step: which slice of which block of columns, and the stage that it's in. */
struct tile_step {
    int block, slice, stage;
};

static inline tile_steps tile_steps_of(int n_blocks, int n_slices, int n_stages)
{
    return { vrt_divisor_of(n_slices), vrt_divisor_of(n_stages), n_blocks * n_slices };
}

static __device__ __forceinline__ tile_step tile_step_of(const tile_steps &steps, int i)
{
    const int block = vrt_divide(i, &steps.slices), round = vrt_divide(i, &steps.stages);

    return { block, vrt_remainder(i, block, &steps.slices),
             vrt_remainder(i, round, &steps.stages) };
}

/* Which rows and columns are a warp's, and from where its lanes load fragments. Made where it is
 * needed: kept, it would take registers that sums need. */
struct tile_lane {
    int first_row, parity;          /* of the warp's 32 rows; of its pairs of columns */
    int a_row, a_k, b_row, b_k;
};

static __device__ __forceinline__ tile_lane tile_lane_of()
{
    const int thread = thread_anew(), warp = thread / 32, lane = thread % 32;

    return { warp / 2 * 32, warp % 2, warp / 2 * 32 + lane % 16, lane / 16 * 8,
             warp % 2 * 16 + lane % 8 + lane / 16 * 8, lane / 8 % 2 * 8 };
}

/* sums[m][2 p + j] += 16 numbers of k, from this lane's rows on. */
template <class T, int PAIRS>
static __device__ __forceinline__ void tile_multiply_16(const T *a, int a_stride, const T *b,
                                                        int b_stride, int n_pairs,
                                                        float sums[2][2 * PAIRS][4])
{
    uint32_t x[2][4];

    ldmatrix_x4(x[0], a);
    ldmatrix_x4(x[1], a + 16 * a_stride);
#pragma unroll
    for (int p = 0; p < PAIRS; p++) {
        if (p >= n_pairs)
            break;
        uint32_t y[4];
        ldmatrix_x4(y, b + 32 * p * b_stride);
        mma_16x8x16<T>(sums[0][2 * p], x[0], y);
        mma_16x8x16<T>(sums[0][2 * p + 1], x[0], y + 2);
        mma_16x8x16<T>(sums[1][2 * p], x[1], y);
        mma_16x8x16<T>(sums[1][2 * p + 1], x[1], y + 2);
    }
}

/*
 * sums[m][2 p + j] += rows of a, times columns of b: m the upper or lower 16 of this warp's rows,
 * column tiles of 8 in pairs of which this warp has every other one, p < n_pairs. a: its column 0
 * is where the slice begins; n_steps of 16 are multiplied. What is whole, PAIRS and STEPS, has
 * code of its own, UNROLL steps in a row, whose addresses are known; not where that is 1.
 */
template <class T, int PAIRS, int STEPS, int UNROLL>
static __device__ __forceinline__ void tile_multiply(const tile_lane &lane, const T *a,
                                                     int a_stride, const T *b, int b_stride,
                                                     int n_steps, int n_pairs,
                                                     float sums[2][2 * PAIRS][4])
{
    a += lane.a_row * a_stride + lane.a_k;
    b += lane.b_row * b_stride + lane.b_k;
    if (UNROLL > 1 && n_steps >= STEPS && n_pairs == PAIRS) {
#pragma unroll UNROLL
        for (int s = 0; s < STEPS; s++)
            tile_multiply_16<T, PAIRS>(a + 16 * s, a_stride, b + 16 * s, b_stride, PAIRS, sums);
        return;
    }
#pragma unroll 1
    for (int s = 0; s < n_steps && s < STEPS; s++, a += 16, b += 16)
        tile_multiply_16<T, PAIRS>(a, a_stride, b, b_stride, n_pairs, sums);
}

/* Waits for the oldest of the slices under way, of which there are n_stages - 1. */
static __device__ __forceinline__ void tile_wait(int n_stages)
{
    if (n_stages == 3)
        cp_async_wait<1>();
    else
        cp_async_wait<0>();
    __syncthreads();
}

/* Of this warp's pairs of column tiles, those that begin before column n. */
static __device__ __forceinline__ int tile_pairs(const tile_lane &lane, int n)
{
    return (n - 16 * lane.parity + 31) / 32;
}

}
