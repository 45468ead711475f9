/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Attention within windows, in halves: softmax(q k^T + bias + mask) v, without ever storing a
 * matrix of scores
 *
 * A warp has 16 queries, whose scores with 64 keys at a time are made in its registers, and with
 * them the running maximum, sum and result of each query (Dao et al. 2022, arXiv:2205.14135). Keys
 * and values pass by in shared memory, the next 64 being copied ahead. Queries come scaled by
 * log2(e) / sqrt(dim), and so does the bias by log2(e), so that powers of two are enough.
 */

#include "backend/cuda/kernels/attention/windows_scores.cuh"

/* Of a block. */
#define ATTEND_MAX_WARPS 6
#define ATTEND_LEAST_WARPS 4

namespace vrt {

/* Halves from one key to the next in shared memory: such that ldmatrix meets no bank twice. */
template <int EIGHTS>
static constexpr int attend_stride = (EIGHTS | 1) * 8;

/* Shared memory: the tables, two stages of keys and values. */
template <int EIGHTS>
static inline size_t attend_shared_bytes(const vrt_cuda_windows *w)
{
    return attend_table_bytes(w) +
           sizeof(uint16_t) * 4 * ATTEND_KEYS * (size_t)attend_stride<EIGHTS>;
}

/* Keys and values on their way to shared memory, 64 at a time: a thread's chunks are at the same
 * places each time, and so are found once. */
template <class T, int EIGHTS>
struct attend_copy {
    static constexpr int EACH = (ATTEND_KEYS * EIGHTS + 32 * ATTEND_LEAST_WARPS - 1) /
                                (32 * ATTEND_LEAST_WARPS);

    const T *from[EACH];            /* of the next keys */
    int end;                        /* of the keys that are left, in a stage */

    /* Where a thread's chunk is in a stage; beyond 64 rows: there is no such chunk. */
    static __device__ __forceinline__ int place(int thread, int j)
    {
        const int i = thread + j * (int)blockDim.x;

        return i / EIGHTS * attend_stride<EIGHTS> + i % EIGHTS * 8;
    }

    __device__ __forceinline__ attend_copy(const T *keys, int n, int64_t row_elements)
        : end(n * attend_stride<EIGHTS>)
    {
#pragma unroll
        for (int j = 0; j < EACH; j++) {
            const int i = (int)(threadIdx.x + j * blockDim.x);

            from[j] = keys + i / EIGHTS * row_elements + i % EIGHTS * 8;
        }
    }

    /* Begins to copy them, then their values, zeros after the last. */
    __device__ __forceinline__ void next(T *stage, int64_t row_elements, int values)
    {
        constexpr int WHOLE = ATTEND_KEYS * attend_stride<EIGHTS>;
        const int thread = thread_anew();

#pragma unroll
        for (int j = 0; j < EACH; j++) {
            const int to = place(thread, j);

            if (to < WHOLE) {
                cp_async_16(stage + to, from[j], to < end);
                cp_async_16(stage + WHOLE + to, from[j] + values, to < end);
            }
            from[j] += ATTEND_KEYS * row_elements;
        }
        end -= WHOLE;
        cp_async_commit();
    }
};

/* This lane's part of a warp's queries g and g + 8, as fragments; zeros after the n-th. */
template <class T, int EIGHTS>
static __device__ __forceinline__ void attend_load_queries(const T *queries, int64_t row_elements,
                                                           int first, int n,
                                                           uint32_t q[(EIGHTS + 1) / 2][4])
{
    const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;

#pragma unroll
    for (int i = 0; i < (EIGHTS + 1) / 2; i++)
#pragma unroll
        for (int e = 0; e < 4; e++) {
            const int row = first + g + e % 2 * 8, eight = 2 * i + e / 2;
            q[i][e] = eight < EIGHTS && row < n
                ? *(const uint32_t *)(queries + row * row_elements + eight * 8 + 2 * t) : 0;
        }
}

/* scores += q k^T: 16 queries, 64 keys. */
template <class T, int EIGHTS>
static __device__ __forceinline__ void attend_score(const T *keys,
                                                    const uint32_t q[(EIGHTS + 1) / 2][4],
                                                    float scores[8][4])
{
    const int lane = threadIdx.x % 32, stride = attend_stride<EIGHTS>;
    const T *pair = keys + (lane % 8 + lane / 16 * 8) * stride + lane / 8 % 2 * 8;

#pragma unroll
    for (int i = 0; i < EIGHTS / 2; i++)
#pragma unroll
        for (int j = 0; j < 8; j += 2) {
            uint32_t k[4];
            ldmatrix_x4(k, pair + j * 8 * stride + 16 * i);
            mma_16x8x16<T>(scores[j], q[i], k);
            mma_16x8x16<T>(scores[j + 1], q[i], k + 2);
        }
    if constexpr (EIGHTS % 2) {         /* the last 8 channels: four tiles of keys at once */
#pragma unroll
        for (int j = 0; j < 8; j += 4) {
            uint32_t k[4];
            ldmatrix_x4(k, keys + (j * 8 + lane) * stride + (EIGHTS - 1) * 8);
#pragma unroll
            for (int e = 0; e < 4; e++)
                mma_16x8x8<T>(scores[j + e], q[EIGHTS / 2], k[e]);
        }
    }
}

/* out += p v: 16 queries, 64 keys. */
template <class T, int EIGHTS>
static __device__ __forceinline__ void attend_add_values(const T *values, const float p[8][4],
                                                         float out[EIGHTS][4])
{
    const int lane = threadIdx.x % 32, stride = attend_stride<EIGHTS>;
    const T *pair = values + lane % 16 * stride + lane / 16 * 8;

#pragma unroll
    for (int i = 0; i < 4; i++) {
        const uint32_t a[4] = {
            pack_halves<T>(p[2 * i][0], p[2 * i][1]),
            pack_halves<T>(p[2 * i][2], p[2 * i][3]),
            pack_halves<T>(p[2 * i + 1][0], p[2 * i + 1][1]),
            pack_halves<T>(p[2 * i + 1][2], p[2 * i + 1][3]),
        };
#pragma unroll
        for (int c = 0; c + 1 < EIGHTS; c += 2) {
            uint32_t v[4];
            ldmatrix_x4_trans(v, pair + 16 * i * stride + 8 * c);
            mma_16x8x16<T>(out[c], a, v);
            mma_16x8x16<T>(out[c + 1], a, v + 2);
        }
        if constexpr (EIGHTS % 2) {
            uint32_t v[2];
            ldmatrix_x2_trans(v, pair - lane / 16 * 8 + 16 * i * stride + 8 * (EIGHTS - 1));
            mma_16x8x16<T>(out[EIGHTS - 1], a, v);
        }
    }
}

/* The results of this lane's queries, to their places' rows. */
template <class T, int EIGHTS>
static __device__ __forceinline__ void attend_put(const attend &a, const attend_meeting &m,
                                                  int window, int head, int query,
                                                  const attend_state &state,
                                                  const float out[EIGHTS][4])
{
    const int t = threadIdx.x % 4, column = m.column + head * a.dim;

#pragma unroll
    for (int r = 0; r < 2; r++) {
        float scale;
        T *to = (T *)attend_row(a, m, window, query + 8 * r, state.sum[r], sizeof(T), &scale);

        if (!to)
            continue;
        to += column;
#pragma unroll
        for (int c = 0; c < EIGHTS; c++) {
            const int i = 8 * c + 2 * t;
            const uint32_t both = pack_halves<T>(out[c][2 * r] * scale, out[c][2 * r + 1] * scale);

            if (i + 1 < a.dim && column % 2 == 0) {
                *(uint32_t *)(to + i) = both;
                continue;
            }
            if (i < a.dim)
                *(uint16_t *)(to + i) = (uint16_t)both;
            if (i + 1 < a.dim)
                *(uint16_t *)(to + i + 1) = (uint16_t)(both >> 16);
        }
    }
}

/*
 * EIGHTS: dim / 8, rounded up. Grid: windows by tiles by heads, heads the fastest, as all of them
 * read the same rows.
 */
template <class T, int EIGHTS>
static __global__ void __launch_bounds__(32 * ATTEND_MAX_WARPS, EIGHTS > 4 ? 1 : 2)
    attend_windows(attend a)
{
    VRT_DYNAMIC_SHARED(shared);
    const int n_places = a.windows.n_places, tiles = a.self_tiles + 2 * a.mutual_tiles;
    const int head = blockIdx.x % a.heads, part = a.heads * 8 * EIGHTS;
    const int in_chunk = blockIdx.x / a.heads / tiles, window = a.first_window + in_chunk;
    const attend_meeting m = attend_meeting_of(a, blockIdx.x / a.heads % tiles);
    const bool is_mixed = vrt_cuda_windows_is_mixed(&a.windows, window);
    const int n_stages = (m.n + ATTEND_KEYS - 1) / ATTEND_KEYS;
    const int stage_elements = 2 * ATTEND_KEYS * attend_stride<EIGHTS>;
    const T *rows = (const T *)a.rows + in_chunk * (int64_t)n_places * a.row_elements +
                    (m.is_self ? 0 : a.layer_elements) + head * 8 * EIGHTS;
    const T *keys = rows + m.first_key * a.row_elements + part;
    const attend_tables tables = attend_tables_of(a, m, shared);
    T *stages = (T *)(tables.labels + n_stages * ATTEND_KEYS);

    attend_copy<T, EIGHTS> copy(keys, m.n, a.row_elements);

    copy.next(stages, a.row_elements, part);
    attend_fill_tables(a, m, window, head, tables);

    const int query = (m.first_tile * (int)(blockDim.x / 32) + (int)threadIdx.x / 32) * 16;
    const int g = threadIdx.x % 32 / 4;
    uint32_t q[(EIGHTS + 1) / 2][4];
    float out[EIGHTS][4] = {};
    attend_load_queries<T, EIGHTS>(rows + m.first_query * a.row_elements, a.row_elements, query,
                                   m.n, q);
    __syncthreads();
    attend_state state = attend_start(a, m, tables, query + g);
#pragma unroll 1
    for (int s = 0; s < n_stages; s++) {
        const T *stage = stages + s % 2 * stage_elements;
        const int first = s * ATTEND_KEYS;
        float scores[8][4];

        cp_async_wait<0>();
        __syncthreads();
        if (s + 1 < n_stages)
            copy.next(stages + (s + 1) % 2 * stage_elements, a.row_elements, part);
        if (query >= m.n)
            continue;
        if (m.is_self)
            attend_begin(state, (const char *)tables.biases, tables.codes + first, scores);
        else
            attend_clear(scores);
        if (is_mixed)
            attend_mask(state, tables.labels + first, scores);
        if (m.n - first < ATTEND_KEYS)
            attend_end(m.n - first, scores);
        attend_score<T, EIGHTS>(stage, q, scores);
        attend_soften(&state, scores, out);
        attend_add_values<T, EIGHTS>(stage + stage_elements / 2, scores, out);
    }
    if (query < m.n)
        attend_put<T, EIGHTS>(a, m, window, head, query + g, state, out);
}

/* The eights that heads of this width are computed in; 0: they are too wide. */
static inline int attend_eights(int dim)
{
    return dim <= 16 ? 2 : dim <= 24 ? 3 : dim <= 32 ? 4 : dim <= 64 ? 8 : 0;
}

/* A kernel for heads of some width and a type of halves. */
struct attend_kernel {
    void (*run)(attend a);
    size_t shared_bytes;
};

template <class T>
static inline attend_kernel attend_kernel_for(const vrt_cuda_windows *w, int dim)
{
    switch (attend_eights(dim)) {
    case 2: return { attend_windows<T, 2>, attend_shared_bytes<2>(w) };
    case 3: return { attend_windows<T, 3>, attend_shared_bytes<3>(w) };
    case 4: return { attend_windows<T, 4>, attend_shared_bytes<4>(w) };
    case 8: return { attend_windows<T, 8>, attend_shared_bytes<8>(w) };
    }
    return { NULL, SIZE_MAX };
}

/* Enqueues it for the heads of n_windows windows. Return: 0, cudaError_t. */
static inline int attend_launch(const vrt_cuda_call *call, attend *a, int n_windows,
                                vrt_dtype dtype)
{
    const int warps = a->windows.n_places % (16 * ATTEND_MAX_WARPS) == 0
        ? ATTEND_MAX_WARPS : ATTEND_LEAST_WARPS;
    const unsigned blocks = attend_cut(a, n_windows, 16 * warps);
    const attend_kernel kernel = dtype == VRT_DTYPE_F16
        ? attend_kernel_for<__half>(&a->windows, a->dim)
        : attend_kernel_for<__nv_bfloat16>(&a->windows, a->dim);

    return vrt_launch(kernel.run, blocks, 32 * warps, kernel.shared_bytes, call->stream, *a);
}

}
