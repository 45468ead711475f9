/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Attention within windows, in f32 split for tensor cores ("split.cuh")
 *
 * As "windows_attend.cuh" has it, with this changed: a warp has 32 queries, so that keys and values
 * are split once for two fragments of them, and takes 32 keys at a time. Powers are multiplied as
 * they lie in its registers: their keys 2t and 2t + 1 of eight are the fragment's columns t and
 * t + 4, and the values' rows come in that order, too. Queries stay in shared memory, for want of
 * registers.
 */

#include "backend/cuda/kernels/products/split.cuh"
#include "backend/cuda/kernels/attention/windows_scores.cuh"

#define ATTEND_SPLIT_QUERIES 32     /* of a warp */
#define ATTEND_SPLIT_WARPS 4         /* at most */
#define ATTEND_SPLIT_KEYS 32        /* at a time, half of a stage */
#define ATTEND_SPLIT_MOST 32        /* channels of a head */

namespace vrt {

/* Enqueues attention of f32 rows by the heads of n_windows windows; a->table: as attend_windows
 * wants it. In attend-split.cu. Return: 0, cudaError_t. */
int attend_split_launch(const vrt_cuda_call *call, attend *a, int n_windows);

/* f32 from one key to the next in shared memory: such that neither keys nor values meet a bank
 * twice. */
template <int EIGHTS>
static constexpr int attend_split_stride = EIGHTS * 8 + 4;

/* Shared memory, for heads of ATTEND_SPLIT_MOST channels at most: the tables, two stages of keys
 * and values, queries. */
static inline size_t attend_split_shared_bytes(const vrt_cuda_windows *w, int dim)
{
    const int stride = dim <= 24 ? attend_split_stride<3> : attend_split_stride<4>;

    return attend_table_bytes(w) +
           sizeof(float) * (4 * ATTEND_KEYS + ATTEND_SPLIT_WARPS * ATTEND_SPLIT_QUERIES) *
               (size_t)stride;
}

/* Begins to copy 64 keys, then their values: dim channels of each, zeros after those and after the
 * n-th. */
template <int EIGHTS>
static __device__ __forceinline__ void attend_split_copy(const attend &a, float *stage,
                                                         const float *keys, int n)
{
    constexpr int CHUNKS = 2 * EIGHTS;

    for (int i = threadIdx.x; i < 2 * ATTEND_KEYS * CHUNKS; i += blockDim.x) {
        const int r = i / CHUNKS, c = i % CHUNKS * 4, key = r % ATTEND_KEYS;
        const float *from = keys + (key < n ? key * a.row_elements : 0) +
                            (r < ATTEND_KEYS ? 0 : a.heads * a.dim) + c;
        float *to = stage + r * attend_split_stride<EIGHTS> + c;

        if (a.dim % 4 == 0) {
            cp_async_16(to, from, key < n && c < a.dim);
            continue;
        }
#pragma unroll
        for (int e = 0; e < 4; e++)
            cp_async_4(to + e, from + e, key < n && c + e < a.dim);
    }
    cp_async_commit();
}

/* to [32] = a warp's queries, scaled; zeros after dim channels and after the n-th. */
template <int EIGHTS>
static __device__ __forceinline__ void attend_split_queries(const attend &a, const float *queries,
                                                            int first, int n, float *to)
{
    const float scale = ATTEND_LOG2E / sqrtf((float)a.dim);

    for (int i = threadIdx.x % 32; i < ATTEND_SPLIT_QUERIES * 8 * EIGHTS; i += 32) {
        const int row = i / (8 * EIGHTS), c = i % (8 * EIGHTS);
        to[row * attend_split_stride<EIGHTS> + c] = first + row < n && c < a.dim
            ? __ldg(queries + (first + row) * a.row_elements + c) * scale : 0;
    }
}

/* scores += q k^T: 32 queries, 32 keys. */
template <int EIGHTS>
static __device__ __forceinline__ void attend_split_score(const float *queries, const float *keys,
                                                          float scores[2][4][4])
{
    constexpr int STRIDE = attend_split_stride<EIGHTS>;
    const int lane = threadIdx.x % 32;

    queries += lane % 16 * STRIDE + lane / 16 * 4;
    keys += (lane % 8 + lane / 16 * 8) * STRIDE + lane / 8 % 2 * 4;
#pragma unroll 1
    for (int i = 0; i < EIGHTS; i++, queries += 8, keys += 8) {
        split_fragments<2> fq;

        split_load(&fq, 0, queries);
        split_load(&fq, 1, queries + 16 * STRIDE);
#pragma unroll
        for (int j = 0; j < 4; j += 2) {
            split_fragments<1> fk;

            split_load(&fk, 0, keys + j * 8 * STRIDE);
            split_add<2, 2>(scores, j, fq, fk);
        }
    }
}

/* out += p v: 32 queries, 32 keys; p where the scores were. */
template <int EIGHTS>
static __device__ __forceinline__ void attend_split_values(const float *values,
                                                           const float p[2][4][4],
                                                           float out[2][EIGHTS][4])
{
    constexpr int STRIDE = attend_split_stride<EIGHTS>, N = EIGHTS % 2 ? EIGHTS : 2;
    const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;

    values += 2 * t * STRIDE + g;
#pragma unroll
    for (int j = 0; j < 4; j++, values += 8 * STRIDE) {
        split_fragments<2> fp;

#pragma unroll
        for (int m = 0; m < 2; m++) {
            const uint32_t x[4] = { __float_as_uint(p[m][j][0]), __float_as_uint(p[m][j][2]),
                                    __float_as_uint(p[m][j][1]), __float_as_uint(p[m][j][3]) };
            split_put(&fp, m, x);
        }
#pragma unroll
        for (int c = 0; c < EIGHTS; c += N) {
            split_fragments<(N + 1) / 2> fv;

#pragma unroll
            for (int e = 0; e < 2 * N; e++)
                split(__float_as_uint(values[e % 2 * STRIDE + 8 * (c + e / 2)]),
                      &fv.high[e / 4][e % 4], &fv.low[e / 4][e % 4]);
            split_add<2, N>(out, c, fp, fv);
        }
    }
}

/* The results of this lane's queries, to their places' rows. */
template <int EIGHTS>
static __device__ __forceinline__ void attend_split_put(const attend &a, const attend_meeting &m,
                                                        int window, int head, int query,
                                                        const attend_state &state,
                                                        const float out[EIGHTS][4])
{
#pragma unroll
    for (int r = 0; r < 2; r++) {
        float scale;
        float *to = (float *)attend_row(a, m, window, query + 8 * r, state.sum[r], sizeof(float),
                                        &scale);

        if (!to)
            continue;
        to += m.column + head * a.dim + 2 * (threadIdx.x % 4);
#pragma unroll
        for (int c = 0; c < EIGHTS; c++)
#pragma unroll
            for (int e = 0; e < 2; e++)
                if (8 * c + 2 * (int)(threadIdx.x % 4) + e < a.dim)
                    to[8 * c + e] = out[c][2 * r + e] * scale;
    }
}

/* EIGHTS: dim / 8, rounded up. Grid: as attend_windows. */
template <int EIGHTS>
static __global__ void __launch_bounds__(32 * ATTEND_SPLIT_WARPS, 2) attend_split(attend a)
{
    if constexpr (!is_wanted<split_tf32>()) {
        __trap();
        return;
    }
    constexpr int STAGE = 2 * ATTEND_KEYS * attend_split_stride<EIGHTS>;
    VRT_DYNAMIC_SHARED(shared);
    const int tiles = a.self_tiles + 2 * a.mutual_tiles, head = blockIdx.x % a.heads;
    const int in_chunk = blockIdx.x / a.heads / tiles, window = a.first_window + in_chunk;
    const attend_meeting m = attend_meeting_of(a, blockIdx.x / a.heads % tiles);
    const bool is_mixed = vrt_cuda_windows_is_mixed(&a.windows, window);
    const int n_stages = (m.n + ATTEND_KEYS - 1) / ATTEND_KEYS;
    const float *rows = (const float *)a.rows +
                        in_chunk * (int64_t)a.windows.n_places * a.row_elements +
                        (m.is_self ? 0 : a.layer_elements) + head * a.dim;
    const float *keys = rows + m.first_key * a.row_elements + a.heads * a.dim;
    const attend_tables tables = attend_tables_of(a, m, shared);
    float *stages = (float *)(tables.labels + n_stages * ATTEND_KEYS);

    attend_split_copy<EIGHTS>(a, stages, keys, m.n);
    attend_fill_tables(a, m, window, head, tables);

    const int query = (m.first_tile * (int)(blockDim.x / 32) + (int)threadIdx.x / 32) *
                      ATTEND_SPLIT_QUERIES;
    const int g = threadIdx.x % 32 / 4;
    attend_state state[2];
    float *queries = stages + 2 * STAGE +
                     threadIdx.x / 32 * ATTEND_SPLIT_QUERIES * attend_split_stride<EIGHTS>;
    float out[2][EIGHTS][4] = {};
    attend_split_queries<EIGHTS>(a, rows + m.first_query * a.row_elements, query, m.n, queries);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 2; k++)
        state[k] = attend_start(a, m, tables, query + 16 * k + g);
#pragma unroll 1
    for (int first = 0; first < m.n; first += ATTEND_SPLIT_KEYS) {
        const int s = first / ATTEND_KEYS, half = first % ATTEND_KEYS;
        const float *stage = stages + s % 2 * STAGE + half * attend_split_stride<EIGHTS>;
        float scores[2][4][4] = {};

        if (half == 0) {
            cp_async_wait<0>();
            __syncthreads();
            if (s + 1 < n_stages)
                attend_split_copy<EIGHTS>(a, stages + (s + 1) % 2 * STAGE,
                                          keys + (first + ATTEND_KEYS) * a.row_elements,
                                          m.n - first - ATTEND_KEYS);
        }
        if (query >= m.n)
            continue;
#pragma unroll
        for (int k = 0; k < 2; k++) {
            if (m.is_self)
                attend_begin(state[k], (const char *)tables.biases, tables.codes + first,
                             scores[k]);
            if (is_mixed)
                attend_mask(state[k], tables.labels + first, scores[k]);
            if (m.n - first < ATTEND_SPLIT_KEYS)
                attend_end(m.n - first, scores[k]);
        }
        attend_split_score<EIGHTS>(queries, stage, scores);
#pragma unroll
        for (int k = 0; k < 2; k++)
            attend_soften(&state[k], scores[k], out[k]);
        attend_split_values<EIGHTS>(stage + STAGE / 2, scores, out);
    }
#pragma unroll
    for (int k = 0; k < 2; k++)
        if (query < m.n)
            attend_split_put<EIGHTS>(a, m, window, head, query + 16 * k + g, state[k], out[k]);
}

}
