/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Modulated deformable convolutions: rows of A are samples, [9][channels of the group]
 *
 * A thread makes chunks of a row: the channels of a chunk belong to one or more runs, each with a
 * position of its own, and are taken from four places. Positions and weights are f32.
 */

#include "backend/cuda/kernels/linear/rows.cuh"

namespace vrt {

/* Four places around a position, and what each counts; at is -1 outside of the picture. */
struct corners {
    int64_t at[4];
    float weight[4];
};

/* Between which rows or columns of n a position lies. What is far outside, or no number, is just
 * outside. *ret_part: how far it is from the first. */
static __device__ __forceinline__ int position_floor(float at, int n, float *ret_part)
{
    const float held = fminf(fmaxf(at, -2), (float)(n + 1)), first = floorf(held);

    *ret_part = held - first;
    return (int)first;
}

static __device__ __forceinline__ corners corners_of(const view &x, int d, float y, float at_x)
{
    corners c;
    float down, right;
    const int top = position_floor(y, x.h, &down), left = position_floor(at_x, x.w, &right);

#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int h = top + i / 2, w = left + i % 2;
        const bool inside = h >= 0 && h < x.h && w >= 0 && w < x.w;
        c.at[i] = inside ? view_at(x, d, h, w) : -1;
        c.weight[i] = (i / 2 ? down : 1 - down) * (i % 2 ? right : 1 - right);
    }
    return c;
}

/* N channels from element `at` on, of which those in [begin, end) are wanted. */
template <int N>
static __device__ __forceinline__ void load_channels(const char *data, int dtype, int64_t at,
                                                     int begin, int end, float x[N])
{
#pragma unroll
    for (int i = 0; i < N; i++)
        x[i] = i >= begin && i < end ? load(data, dtype, at + i) : 0;
}

/* The channels [begin, end) of N from `channel` on, of the sample between those corners. `whole`:
 * all N exist, at a multiple of 16 bytes. */
template <int N>
static __device__ __forceinline__ void add_sample(const char *data, int dtype, const corners &c,
                                                  int begin, int end, bool whole, float mask,
                                                  float out[N])
{
    float sum[N] = {};

#pragma unroll
    for (int k = 0; k < 4; k++) {
        float x[N];
        if (c.at[k] < 0)
            continue;
        if (N == 8 && whole)
            load_8(data, dtype, c.at[k], x);
        else
            load_channels<N>(data, dtype, c.at[k], begin, end, x);
#pragma unroll
        for (int i = 0; i < N; i++)
            sum[i] += c.weight[k] * x[i];
    }
#pragma unroll
    for (int i = 0; i < N; i++)
        if (i >= begin && i < end)
            out[i] = sum[i] * mask;
}

template <class T, int ROWS, int THREADS>
struct sample_gather {
    static constexpr int EACH = ROWS * VRT_CUDA_SLAB_CHUNKS / THREADS;
    static constexpr int N = element<T>::IN_CHUNK;

    const product &p;
    const char *data;
    place at[EACH];                 /* this thread's rows; d is -1 for one that isn't */
    const float *offsets[EACH];     /* of those places */
    int first;                      /* channel of x where the group begins */
    int run_channels;
    bool whole;                     /* x may be read in 16 bytes, from multiples of 8 channels on */

    __device__ __forceinline__ sample_gather(const product &of, int64_t first_row, int group)
        : p(of), data(view_data(of.x)), first(group * of.n_in),
          run_channels(of.n_groups * of.n_in / of.n_runs)
    {
        const float *base = (const float *)view_data(p.offsets);

        whole = view_granule(p.x, data + first * element_bytes(p.x.dtype)) == 16;
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            const int64_t m =
                first_row + (i * THREADS + (int)threadIdx.x) / VRT_CUDA_SLAB_CHUNKS;
            at[i] = { -1, 0, 0 };
            offsets[i] = base;
            if (m < p.n_places) {
                at[i] = place_of(p.out, m);
                offsets[i] += view_at(p.offsets, at[i].d, at[i].h, at[i].w);
            }
        }
    }

    /* The group's channels from c on, at tap t of row i. */
    __device__ __forceinline__ void sample(int i, int t, int c, float out[N]) const
    {
        const int from = first + c, to = min(from + N, first + p.n_in);
        const bool reads_whole = whole && from + N <= p.x.c;

        for (int begin = from, end; begin < to; begin = end) {
            const int run = begin / run_channels, pair = 9 * run + t;
            end = min(to, (run + 1) * run_channels);
            const float y = __fadd_rn((float)(at[i].h + t / 3 - 1), offsets[i][2 * pair]);
            const float x = __fadd_rn((float)(at[i].w + t % 3 - 1), offsets[i][2 * pair + 1]);
            const corners c4 = corners_of(p.x, at[i].d, y, x);
            add_sample<N>(data + from * element_bytes(p.x.dtype), p.x.dtype, c4, begin - from,
                          end - from, reads_whole, offsets[i][18 * p.n_runs + pair], out);
        }
    }

    __device__ __forceinline__ void fill(unsigned char *dst, int step)
    {
        const int chunk = step * VRT_CUDA_SLAB_CHUNKS + (int)threadIdx.x % VRT_CUDA_SLAB_CHUNKS;
        const int t = chunk / p.in_chunks, c = chunk % p.in_chunks * N;

        dst += threadIdx.x / VRT_CUDA_SLAB_CHUNKS * VRT_CUDA_ROW_BYTES +
               threadIdx.x % VRT_CUDA_SLAB_CHUNKS * VRT_CUDA_CHUNK_BYTES;
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            float out[N] = {};
            if (at[i].d >= 0 && t < 9)
                sample(i, t, c, out);
            put_chunk(dst + i * (THREADS / VRT_CUDA_SLAB_CHUNKS) * VRT_CUDA_ROW_BYTES, out);
        }
    }

    static __device__ __forceinline__ void put_chunk(unsigned char *dst, const float x[N])
    {
        if constexpr (N == 4)
            *(float4 *)dst = make_float4(x[0], x[1], x[2], x[3]);
        else
            *(uint4 *)dst = make_uint4(pack_halves<T>(x[0], x[1]), pack_halves<T>(x[2], x[3]),
                                       pack_halves<T>(x[4], x[5]), pack_halves<T>(x[6], x[7]));
    }
};

}
