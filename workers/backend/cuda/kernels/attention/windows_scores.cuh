/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What kernels of attention within windows have in common: which queries meet which keys, and how
 * scores become powers and sums, some eights of keys at a time
 *
 * Scores are fragments of 16 queries: a lane has those of queries g and g + 8 with keys 2t and
 * 2t + 1 of each eight (g = lane / 4, t = lane % 4). They come multiplied by log2(e).
 */

#include "mma.cuh"
#include "backend/cuda/kernels/launch.cuh"
#include "backend/cuda/kernels/attention/windows.cuh"

#define ATTEND_KEYS 64
#define ATTEND_LOG2E 1.44269504f    /* exp(x) is exp2(x log2 e) */

namespace vrt {

struct attend {
    vrt_cuda_windows windows;
    const void *rows;               /* [windows][places][layers][3][heads][channels] */
    int64_t row_elements, layer_elements;
    const float *table;             /* [heads][n_biases], times log2(e) */
    int n_biases;
    int first_window;
    int heads, dim;
    bool is_mutual;                 /* layers: self, mutual */
    int self_tiles, mutual_tiles;   /* of queries: of a window, and of each of its frames */
    void *out;                      /* [places of the clip][out_row_elements] */
    int64_t out_row_elements;
};

/* Which queries of a window meet which keys. */
struct attend_meeting {
    int first_query, first_key, n;  /* places of the window, as many of both */
    int first_out;                  /* the place whose row query 0 makes */
    int first_tile;                 /* the queries' tile that this block has */
    int column;                     /* of the result */
    bool is_self;
};

static __device__ __forceinline__ attend_meeting attend_meeting_of(const attend &a, int tile)
{
    const int n = a.windows.n_places, half = n / 2;

    if (tile < a.self_tiles)
        return { 0, 0, n, 0, tile, a.is_mutual ? a.heads * a.dim : 0, true };
    tile -= a.self_tiles;
    if (tile < a.mutual_tiles)
        return { half, 0, half, 0, tile, 0, false };
    return { 0, half, half, half, tile - a.mutual_tiles, 0, false };
}

/* Shared memory of attend_tables. */
static inline size_t attend_table_bytes(const vrt_cuda_windows *w)
{
    const int keys = (w->n_places + ATTEND_KEYS - 1) / ATTEND_KEYS * ATTEND_KEYS;
    const int biases = (vrt_cuda_windows_n_biases(w) + 3) / 4 * 4;

    return sizeof(float) * (size_t)(biases + 2 * keys);
}

/* What a block has in shared memory of its window and head, whole stages of keys. */
struct attend_tables {
    float *biases;                  /* of the head */
    int *codes, *labels;            /* of keys; codes in bytes of a bias */
};

static __device__ __forceinline__ attend_tables attend_tables_of(const attend &a,
                                                                 const attend_meeting &m,
                                                                 unsigned char *shared)
{
    attend_tables tables = { (float *)shared, NULL, NULL };

    tables.codes = (int *)(tables.biases + (a.n_biases + 3) / 4 * 4);
    tables.labels = tables.codes + (m.n + ATTEND_KEYS - 1) / ATTEND_KEYS * ATTEND_KEYS;
    return tables;
}

/* A barrier has to go after it. */
static __device__ __forceinline__ void attend_fill_tables(const attend &a, const attend_meeting &m,
                                                          int window, int head,
                                                          const attend_tables &tables)
{
    for (int i = threadIdx.x; i < tables.labels - tables.codes; i += blockDim.x) {
        tables.codes[i] = i < m.n ? 4 * vrt_cuda_windows_code(&a.windows, i) : 0;
        tables.labels[i] = i < m.n ? vrt_cuda_windows_label(&a.windows, window, i) : 0;
    }
    for (int i = threadIdx.x; m.is_self && i < a.n_biases; i += blockDim.x)
        tables.biases[i] = __ldg(a.table + (int64_t)head * a.n_biases + i);
}

/* What a lane knows of its two queries, g and g + 8 of the warp's. */
struct attend_state {
    int code[2], label[2];
    float most[2], sum[2];
};

/* Before the first key; query: the first of the two. */
static __device__ __forceinline__ attend_state attend_start(const attend &a,
                                                            const attend_meeting &m,
                                                            const attend_tables &tables, int query)
{
    attend_state state = { {}, {}, { -INFINITY, -INFINITY }, {} };

#pragma unroll
    for (int r = 0; r < 2; r++) {
        const int i = query + 8 * r < m.n ? query + 8 * r : 0;
        state.code[r] = tables.codes[i] + (a.n_biases - 1) / 2 * 4;
        state.label[r] = tables.labels[i];
    }
    return state;
}

/* The scores of keys before q k^T are their biases. codes: of the keys. */
template <int N>
static __device__ __forceinline__ void attend_begin(const attend_state &state, const char *biases,
                                                    const int *codes, float (&scores)[N][4])
{
#pragma unroll
    for (int j = 0; j < N; j++) {
        const int2 code = *(const int2 *)(codes + 8 * j + 2 * (threadIdx.x % 4));

#pragma unroll
        for (int e = 0; e < 4; e++)
            scores[j][e] = *(const float *)(biases + (state.code[e / 2] -
                                                      (e % 2 ? code.y : code.x)));
    }
}

/* Without biases. */
template <int N>
static __device__ __forceinline__ void attend_clear(float (&scores)[N][4])
{
#pragma unroll
    for (int j = 0; j < N; j++)
#pragma unroll
        for (int e = 0; e < 4; e++)
            scores[j][e] = 0;
}

/* Lowers the scores of keys with another label than the query. */
template <int N>
static __device__ __forceinline__ void attend_mask(const attend_state &state, const int *labels,
                                                   float (&scores)[N][4])
{
#pragma unroll
    for (int j = 0; j < N; j++) {
        const int2 label = *(const int2 *)(labels + 8 * j + 2 * (threadIdx.x % 4));

#pragma unroll
        for (int e = 0; e < 4; e++)
            if (state.label[e / 2] != (e % 2 ? label.y : label.x))
                scores[j][e] -= 100 * ATTEND_LOG2E;
    }
}

/* There are but n of the keys. */
template <int N>
static __device__ __forceinline__ void attend_end(int n, float (&scores)[N][4])
{
#pragma unroll
    for (int j = 0; j < N; j++)
#pragma unroll
        for (int e = 0; e < 4; e++)
            if (8 * j + 2 * (int)(threadIdx.x % 4) + e % 2 >= n)
                scores[j][e] = -INFINITY;
}

/* Scores become powers, the state and `out` what they are with those included. */
template <int N, int EIGHTS>
static __device__ __forceinline__ void attend_soften(attend_state *state, float (&scores)[N][4],
                                                     float (&out)[EIGHTS][4])
{
#pragma unroll
    for (int r = 0; r < 2; r++) {
        float most = scores[0][2 * r], sum = 0;

#pragma unroll
        for (int j = 0; j < N; j++)
            most = fmaxf(most, fmaxf(scores[j][2 * r], scores[j][2 * r + 1]));
        most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, 1));
        most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, 2));
        most = fmaxf(most, state->most[r]);
        const float scale = exp2_approximate(state->most[r] - most);
        state->most[r] = most;
#pragma unroll
        for (int j = 0; j < N; j++) {
            scores[j][2 * r] = exp2_approximate(scores[j][2 * r] - most);
            scores[j][2 * r + 1] = exp2_approximate(scores[j][2 * r + 1] - most);
            sum += scores[j][2 * r] + scores[j][2 * r + 1];
        }
        state->sum[r] = state->sum[r] * scale + sum;
#pragma unroll
        for (int c = 0; c < EIGHTS; c++) {
            out[c][2 * r] *= scale;
            out[c][2 * r + 1] *= scale;
        }
    }
}

/* Where the result of a query goes, of which four lanes have parts of the sum; NULL: nowhere.
 * *ret_scale: of its result. By whole warps. */
static __device__ __forceinline__ char *attend_row(const attend &a, const attend_meeting &m,
                                                   int window, int query, float sum, int size,
                                                   float *ret_scale)
{
    int at[3];

    sum += __shfl_xor_sync(0xffffffff, sum, 1);
    sum += __shfl_xor_sync(0xffffffff, sum, 2);
    if (query >= m.n || !vrt_cuda_windows_place(&a.windows, window, m.first_out + query, at))
        return NULL;
    const int64_t place = ((int64_t)at[0] * a.windows.clip[1] + at[1]) * a.windows.clip[2] + at[2];

    *ret_scale = 1 / sum;
    return (char *)a.out + place * a.out_row_elements * size;
}

/* Cuts the queries into tiles. Return: how many blocks n_windows windows take. */
static inline unsigned attend_cut(attend *a, int n_windows, int tile)
{
    const int n = a->windows.n_places;

    a->self_tiles = (n + tile - 1) / tile;
    a->mutual_tiles = a->is_mutual ? (n / 2 + tile - 1) / tile : 0;
    return (unsigned)(n_windows * (a->self_tiles + 2 * a->mutual_tiles) * a->heads);
}

}
