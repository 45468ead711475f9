/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Factors of a product on their way to shared memory, without waiting where that is possible
 *
 * A tile's rows stand VRT_CUDA_ROW_BYTES apart and hold a slab of k each: up to four chunks.
 */

#include "mma.cuh"
#include "backend/cuda/kernels/products/product.h"

namespace vrt {

/* How T lies in memory, and how many a chunk has. */
template <class T>
struct element {
    using type = T;
    static constexpr int IN_CHUNK = VRT_CUDA_CHUNK_BYTES / (int)sizeof(type);
};

template <>
struct element<tf32> : element<float> {};

template <>
struct element<split_tf32> : element<float> {};

/* Bits of the two halves, or the one float, at src, of which the first n halves exist; else 0. */
static __device__ __forceinline__ uint32_t piece_of(const unsigned short *src, int n)
{
    return (n > 0 ? (uint32_t)src[0] : 0) | (n > 1 ? (uint32_t)src[1] << 16 : 0);
}

/* A chunk of which only n elements exist or which begins at no multiple of 16 bytes: pieces of 4
 * bytes, where they begin at multiples of that (granule >= 4) and exist, else through registers. */
template <class T>
static __device__ __forceinline__ void copy_ragged(unsigned char *dst, const char *src, int n,
                                                int granule)
{
    constexpr int SIZE = (int)sizeof(typename element<T>::type), EACH = 4 / SIZE;

#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int left = n - i * EACH;
        if (granule >= 4 && (left >= EACH || left <= 0))
            cp_async_4(dst + i * 4, src + i * 4, left > 0);
        else
            *(uint32_t *)(dst + i * 4) = piece_of((const unsigned short *)(src + i * 4), left);
    }
}

/* A chunk, of which the first n elements exist (n <= 0: none; all: any larger n). */
template <class T>
static __device__ __forceinline__ void copy_chunk(unsigned char *dst, const char *src, int n,
                                                  int granule)
{
    if (granule == 16 && (n >= element<T>::IN_CHUNK || n <= 0))
        cp_async_16(dst, src, n > 0);
    else
        copy_ragged<T>(dst, src, n, granule);
}

/* Where a thread's chunks are in a tile's rows, all of them in one column: the first one's bytes,
 * and how many rows there are from one to the next. */
static __device__ __forceinline__ int chunk_column()
{
    return (int)threadIdx.x % VRT_CUDA_SLAB_CHUNKS;
}

static __device__ __forceinline__ int chunk_place()
{
    return (int)threadIdx.x / VRT_CUDA_SLAB_CHUNKS * VRT_CUDA_ROW_BYTES +
           chunk_column() * VRT_CUDA_CHUNK_BYTES;
}

/* Weights of N rows, a slab at a time: what of their addresses stays the same is computed once. */
template <int N, int THREADS>
struct weight_rows {
    static constexpr int STEP = THREADS / VRT_CUDA_SLAB_CHUNKS;

    const char *from;               /* this thread's first chunk; whoever copies moves it on */
    int64_t apart;                  /* bytes from one of its rows to the next */
    int n;                          /* rows from its first one on that exist */

    __device__ __forceinline__ weight_rows(const char *first, int64_t row_bytes, int n_rows)
    {
        const int row = (int)threadIdx.x / VRT_CUDA_SLAB_CHUNKS;

        from = first + row * row_bytes + chunk_column() * VRT_CUDA_CHUNK_BYTES;
        apart = STEP * row_bytes;
        n = n_rows - row;
    }

    /* Chunks of which n_chunks exist, and zeros. */
    __device__ __forceinline__ void copy(unsigned char *dst, int n_chunks) const
    {
        const int n_here = chunk_column() < n_chunks ? n : 0;
        const char *src = from;

        dst += chunk_place();
#pragma unroll
        for (int i = 0; i < (N + STEP - 1) / STEP; i++, src += apart)
            if (N % STEP == 0 || chunk_place() < N * VRT_CUDA_ROW_BYTES)
                cp_async_16(dst + i * STEP * VRT_CUDA_ROW_BYTES, src, i * STEP < n_here);
    }
};

}
