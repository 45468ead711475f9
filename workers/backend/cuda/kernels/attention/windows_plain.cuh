/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Attention within windows without matrix instructions: f32 where tensor cores make none
 * ("windows_split.cuh"), and whatever the others have no room for
 *
 * Rows of normed places are written in the windows' order, multiplied with the layers by the
 * products of linear, and attended with one thread a query: its query and result in registers, keys
 * and values in shared memory, where all threads read the same ones. Queries, keys, values and
 * results are f32 whatever the weights are.
 */

#include "backend/cuda/kernels/launch.cuh"
#include "backend/cuda/kernels/tile.cuh"
#include "backend/cuda/kernels/attention/windows_scores.cuh"

#define PLAIN_THREADS 128
#define PLAIN_KEYS 8

/* Channels of a head that a thread has registers for, at most. */
#define PLAIN_MOST 32

namespace vrt {

struct windows_gather {
    view x;
    vrt_cuda_windows windows;
    tile_norm norm;
    const float *position;          /* of layer 1; NULL: there is none */
    int first_window, n_rows;
    char *out;                      /* [n_rows][layers][C] */
    int dtype;
    int64_t row_elements, layer_elements;
};

/* A warp makes a row. Grid: rows by layers. */
static __global__ void __launch_bounds__(PLAIN_THREADS) gather_rows(windows_gather p)
{
    const int row = blockIdx.x * (PLAIN_THREADS / 32) + threadIdx.x / 32, C = p.x.c;
    const int n = p.windows.n_places, t = row % n, lane = threadIdx.x % 32;
    const int64_t to = row * p.row_elements + blockIdx.y * p.layer_elements;
    const float *more = blockIdx.y
        ? p.position + (int64_t)(t % (p.windows.size[1] * p.windows.size[2])) * C : NULL;
    const char *data = view_data(p.x);
    float mean = 0, scale = 1;
    int at[3];

    if (row >= p.n_rows)
        return;
    const bool is_inside = vrt_cuda_windows_place(&p.windows, p.first_window + row / n, t, at);
    const int64_t from = is_inside ? view_at(p.x, at[0], at[1], at[2]) : 0;
    if (is_inside && p.norm.weight) {
        float sum = 0, squares = 0;
        for (int c = lane; c < C; c += 32)
            sum += load(data, p.x.dtype, from + c);
        mean = warp_sum(sum) / (float)C;
        for (int c = lane; c < C; c += 32) {
            const float x = load(data, p.x.dtype, from + c) - mean;
            squares += x * x;
        }
        scale = rsqrtf(warp_sum(squares) / (float)C + VRT_NORM_EPSILON);
    }
    for (int c = lane; c < C; c += 32) {
        float y = is_inside ? (load(data, p.x.dtype, from + c) - mean) * scale : 0;
        if (is_inside && p.norm.weight)
            y = y * __ldg(p.norm.weight + c) + __ldg(p.norm.bias + c);
        store(p.out, p.dtype, to + c, more ? y + __ldg(more + c) : y);
    }
}

/* Enqueues it. Return: 0, cudaError_t. */
static inline int gather_launch(const vrt_cuda_call *call, const windows_gather &p)
{
    const int rows = PLAIN_THREADS / 32;

    return vrt_launch(gather_rows, dim3((unsigned)((p.n_rows + rows - 1) / rows),
                                        p.position ? 2 : 1),
                      PLAIN_THREADS, 0, call->stream, p);
}

/* Some channels of keys and values, zeros beyond the head's, and what else belongs to them. */
template <int DIM>
struct plain_keys {
    float key[PLAIN_KEYS][DIM], value[PLAIN_KEYS][DIM];
    int code[PLAIN_KEYS], label[PLAIN_KEYS];
};

/* What a block works with. */
struct plain_rows {
    const float *data;              /* of the window */
    int64_t column;                 /* of the head's queries */
    int dim;                        /* of the head */
};

/* to [PLAIN_KEYS][DIM] = channels [c, c + DIM) of what is at `column`, for keys from `first` on. */
template <int DIM>
static __device__ __forceinline__ void plain_load(const attend &a, const attend_meeting &m,
                                                  const plain_rows &rows, int64_t column,
                                                  int first, int c, float to[PLAIN_KEYS][DIM])
{
    for (int i = threadIdx.x; i < PLAIN_KEYS * DIM; i += PLAIN_THREADS) {
        const int k = i / DIM, e = i % DIM;
        const int64_t row = m.first_key + first + k;

        to[k][e] = first + k < m.n && c + e < rows.dim
            ? __ldg(rows.data + row * a.row_elements + column + c + e) : 0;
    }
}

/* One query's maximum, sum and result so far, and how it takes in PLAIN_KEYS more keys. */
template <int DIM>
struct plain_query {
    float q[DIM], out[DIM], most, sum;      /* some channels of each */
    int code, label;

    __device__ __forceinline__ void add_products(const float keys[PLAIN_KEYS][DIM], int n,
                                                 float scores[PLAIN_KEYS]) const
    {
#pragma unroll
        for (int k = 0; k < PLAIN_KEYS; k++)
#pragma unroll
            for (int c = 0; c < DIM; c += 4) {
                if (c >= n)
                    break;
                const float4 key = *(const float4 *)&keys[k][c];
                scores[k] = fmaf(q[c], key.x, scores[k]);
                scores[k] = fmaf(q[c + 1], key.y, scores[k]);
                scores[k] = fmaf(q[c + 2], key.z, scores[k]);
                scores[k] = fmaf(q[c + 3], key.w, scores[k]);
            }
    }

    /* table: NULL, or the row of equal places and this head; n: the keys that there are. */
    __device__ __forceinline__ void add_biases(const plain_keys<DIM> &keys, const float *table,
                                               int heads, int n, float scores[PLAIN_KEYS]) const
    {
#pragma unroll
        for (int k = 0; k < PLAIN_KEYS; k++) {
            if (table)
                scores[k] += __ldg(table + (int64_t)(code - keys.code[k]) * heads);
            if (label != keys.label[k])
                scores[k] -= 100;
            if (k >= n)
                scores[k] = -INFINITY;
        }
    }

    __device__ __forceinline__ void take(const float values[PLAIN_KEYS][DIM], int n,
                                         const float scores[PLAIN_KEYS])
    {
        float now = most;

#pragma unroll
        for (int k = 0; k < PLAIN_KEYS; k++)
            now = fmaxf(now, scores[k]);
        const float scale = expf(most - now);
        most = now;
        sum *= scale;
#pragma unroll
        for (int c = 0; c < DIM; c++)
            out[c] *= scale;
#pragma unroll
        for (int k = 0; k < PLAIN_KEYS; k++) {
            const float p = expf(scores[k] - now);
            sum += p;
#pragma unroll
            for (int c = 0; c < DIM; c += 4) {
                if (c >= n)
                    break;
                const float4 value = *(const float4 *)&values[k][c];
                out[c] = fmaf(p, value.x, out[c]);
                out[c + 1] = fmaf(p, value.y, out[c + 1]);
                out[c + 2] = fmaf(p, value.z, out[c + 2]);
                out[c + 3] = fmaf(p, value.w, out[c + 3]);
            }
        }
    }
};

/* Channels [c, c + DIM) of a query, scaled; zeros where there is none. */
template <int DIM>
static __device__ __forceinline__ void plain_load_query(const plain_rows &rows, int64_t row, int c,
                                                        float scale, float q[DIM])
{
#pragma unroll
    for (int e = 0; e < DIM; e++)
        q[e] = row >= 0 && c + e < rows.dim
            ? __ldg(rows.data + row + rows.column + c + e) * scale : 0;
}

/*
 * DIM: channels that a thread has in registers. Heads of more than PLAIN_MOST take a block for
 * every DIM channels of their result, which makes the scores anew, DIM channels at a time. a.table
 * is [n_biases][heads]. Grid: as attend_windows, by runs of DIM channels.
 */
template <int DIM>
static __global__ void __launch_bounds__(PLAIN_THREADS) attend_plain(attend a)
{
    __shared__ __align__(16) unsigned char shared[sizeof(plain_keys<DIM>)];
    plain_keys<DIM> *keys = (plain_keys<DIM> *)shared;
    const int tiles = a.self_tiles + 2 * a.mutual_tiles, head = blockIdx.x % a.heads;
    const int in_chunk = blockIdx.x / a.heads / tiles, window = a.first_window + in_chunk;
    const attend_meeting m = attend_meeting_of(a, blockIdx.x / a.heads % tiles);
    const int query = m.first_tile * PLAIN_THREADS + threadIdx.x, C = a.heads * a.dim;
    const int first_out = blockIdx.y * DIM;
    const bool is_there = query < m.n;
    const int64_t query_row = is_there ? (m.first_query + query) * a.row_elements : -1;
    const plain_rows rows = {
        (const float *)a.rows + (int64_t)in_chunk * a.windows.n_places * a.row_elements,
        head * a.dim + (m.is_self ? 0 : a.layer_elements), a.dim,
    };
    const float *table = m.is_self ? a.table + (a.n_biases - 1) / 2 * a.heads + head : NULL;
    const float scale = 1 / sqrtf((float)a.dim);
    plain_query<DIM> state;
    int at[3];

    state.most = -INFINITY;
    state.sum = 0;
    state.code = vrt_cuda_windows_code(&a.windows, is_there ? query : 0);
    state.label = vrt_cuda_windows_label(&a.windows, window, is_there ? query : 0);
    for (int c = 0; c < DIM; c++)
        state.out[c] = 0;
    plain_load_query<DIM>(rows, query_row, 0, scale, state.q);
#pragma unroll 1
    for (int first = 0; first < m.n; first += PLAIN_KEYS) {
        float scores[PLAIN_KEYS] = {};

        for (int c = 0; c < (DIM < PLAIN_MOST ? DIM : a.dim); c += DIM) {
            __syncthreads();
            plain_load<DIM>(a, m, rows, rows.column + C, first, c, keys->key);
            if (c == 0)
                plain_load<DIM>(a, m, rows, rows.column + 2 * C, first, first_out, keys->value);
            for (int k = threadIdx.x; c == 0 && k < PLAIN_KEYS; k += PLAIN_THREADS) {
                const int key = first + k < m.n ? first + k : 0;
                keys->code[k] = vrt_cuda_windows_code(&a.windows, key);
                keys->label[k] = vrt_cuda_windows_label(&a.windows, window, key);
            }
            if (DIM == PLAIN_MOST && a.dim > DIM)
                plain_load_query<DIM>(rows, query_row, c, scale, state.q);
            __syncthreads();
            state.add_products(keys->key, a.dim - c, scores);
        }
        state.add_biases(*keys, table, a.heads, m.n - first, scores);
        state.take(keys->value, a.dim - first_out, scores);
    }
    if (!is_there || !vrt_cuda_windows_place(&a.windows, window, m.first_out + query, at))
        return;
    const int64_t place = ((int64_t)at[0] * a.windows.clip[1] + at[1]) * a.windows.clip[2] + at[2];
    const int64_t to = place * a.out_row_elements + m.column + head * a.dim + first_out;
#pragma unroll
    for (int c = 0; c < DIM; c++)
        if (first_out + c < a.dim)
            ((float *)a.out)[to + c] = state.out[c] / state.sum;
}

/* Enqueues it for the heads of n_windows windows. Return: 0, cudaError_t. */
static inline int plain_launch(const vrt_cuda_call *call, attend *a, int n_windows)
{
    const dim3 grid(attend_cut(a, n_windows, PLAIN_THREADS),
                    (unsigned)((a->dim + PLAIN_MOST - 1) / PLAIN_MOST));
    void (*const kernel)(attend) = a->dim <= 16 ? attend_plain<16> : attend_plain<PLAIN_MOST>;

    return vrt_launch(kernel, grid, PLAIN_THREADS, 0, call->stream, *a);
}

}
