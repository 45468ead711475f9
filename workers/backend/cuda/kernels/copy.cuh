/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Factors of a product on their way to shared memory, without waiting where that is possible
 *
 * A tile's rows stand VRT_CUDA_ROW_BYTES apart and hold a slab of k each: up to four chunks.
 */

#include "mma.cuh"
#include "backend/cuda/kernels/product.h"

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

/* Weights of N rows beginning at src, of which n_rows exist, in chunks of which n_chunks do. */
template <int N, int THREADS>
static __device__ __forceinline__ void copy_weights(unsigned char *dst, const char *src,
                                                    int64_t row_bytes, int n_rows, int n_chunks)
{
#pragma unroll
    for (int i = 0; i < (N * VRT_CUDA_SLAB_CHUNKS + THREADS - 1) / THREADS; i++) {
        const int id = i * THREADS + (int)threadIdx.x;
        const int row = id / VRT_CUDA_SLAB_CHUNKS, chunk = id % VRT_CUDA_SLAB_CHUNKS;
        const bool exists = row < n_rows && chunk < n_chunks;
        const char *from = exists ? src + row * row_bytes + chunk * VRT_CUDA_CHUNK_BYTES : src;

        if (row < N)
            cp_async_16(dst + row * VRT_CUDA_ROW_BYTES + chunk * VRT_CUDA_CHUNK_BYTES, from,
                        exists);
    }
}

}
