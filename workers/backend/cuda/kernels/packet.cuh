/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Packets: up to 8 adjacent channels of a place, which one thread reads, works on and writes
 *
 * They travel as the bits that memory has, and become f32 when all that a thread reads is on its
 * way: that way its reads don't wait for each other. Each takes the widest accesses that its
 * address allows, which is looked at when the kernel runs: a bound buffer may begin anywhere.
 */

#include "backend/cuda/kernels/cover.cuh"

namespace vrt {

/* The bits: f32 one a word, halves two, u8 four, the first in the lowest bits. */
struct packet {
    uint32_t words[VRT_CUDA_PACKET];
};

/* A tensor's memory: where element (0,0,0,0) is, and what it is. */
struct elements {
    char *data;
    int dtype;                      /* enum vrt_dtype */
};

static __device__ __forceinline__ elements elements_of(const view &v)
{
    return { view_data(v), v.dtype };
}

/* Bytes of an element. */
static __device__ __forceinline__ int element_bytes(const elements &e)
{
    return e.dtype == VRT_DTYPE_F32 ? 4 : e.dtype == VRT_DTYPE_U8 ? 1 : 2;
}

/* The n <= 8 elements of `bytes` each at p, one by one. */
static __device__ __forceinline__ void get_each(packet &x, const char *p, int bytes, int n)
{
#pragma unroll
    for (int i = 0; i < 8; i++) {
        if (i >= n)
            continue;
        if (bytes == 4)
            x.words[i] = ((const uint32_t *)p)[i];
        else if (bytes == 2)
            x.words[i / 2] |= (uint32_t)((const uint16_t *)p)[i] << (i % 2 * 16);
        else
            x.words[i / 4] |= (uint32_t)((const uint8_t *)p)[i] << (i % 4 * 8);
    }
}

/* Words first, first + 1, ... */
static __device__ __forceinline__ void get_16(packet &x, int first, const char *p)
{
    const uint4 four = ((const uint4 *)p)[first / 4];

    x.words[first] = four.x;
    x.words[first + 1] = four.y;
    x.words[first + 2] = four.z;
    x.words[first + 3] = four.w;
}

static __device__ __forceinline__ void get_8(packet &x, int first, const char *p)
{
    const uint2 two = ((const uint2 *)p)[first / 2];

    x.words[first] = two.x;
    x.words[first + 1] = two.y;
}

/* The n elements, 1 to 8, at each `at`, zeros after them; where `at` is negative nothing is read:
 * zeros. All are on their way before the first is waited for. */
template <int N>
static __device__ __forceinline__ void packets_get(const elements &from, const int64_t (&at)[N],
                                                   int n, packet (&x)[N])
{
    const int bytes = element_bytes(from);
    const char *p[N];
    unsigned low_bits = 0;          /* of all addresses together */

#pragma unroll
    for (int k = 0; k < N; k++) {
        x[k] = {};
        p[k] = from.data + at[k] * bytes;
        low_bits |= at[k] < 0 ? 0 : (unsigned)(uintptr_t)p[k];
    }
    if (low_bits % 16 == 0 && bytes * n % 16 == 0) {
#pragma unroll
        for (int k = 0; k < N; k++) {
            if (at[k] >= 0)
                get_16(x[k], 0, p[k]);
            if (at[k] >= 0 && bytes * n == 32)
                get_16(x[k], 4, p[k]);
        }
    } else if (low_bits % 8 == 0 && bytes * n % 8 == 0 && bytes * n <= 16) {
#pragma unroll
        for (int k = 0; k < N; k++) {
            if (at[k] >= 0)
                get_8(x[k], 0, p[k]);
            if (at[k] >= 0 && bytes * n == 16)
                get_8(x[k], 2, p[k]);
        }
    } else {
#pragma unroll
        for (int k = 0; k < N; k++)
            if (at[k] >= 0)
                get_each(x[k], p[k], bytes, n);
    }
}

/* The n elements, 1 to 8, at `at`; zeros after them. */
static __device__ __forceinline__ packet packet_get(const elements &from, int64_t at, int n)
{
    const int64_t all_at[1] = { at };
    packet x[1];

    packets_get(from, all_at, n, x);
    return x[0];
}

/* Writes the n <= 8 first elements to `at`, none where n is not positive. */
static __device__ __forceinline__ void packet_put(const packet &x, const elements &to, int64_t at,
                                                  int n)
{
    const int bytes = element_bytes(to);
    char *p = to.data + at * bytes;
    const uint32_t *w = x.words;

    if ((uintptr_t)p % 16 == 0 && n > 0 && bytes * n % 16 == 0) {
        ((uint4 *)p)[0] = make_uint4(w[0], w[1], w[2], w[3]);
        if (bytes * n == 32)
            ((uint4 *)p)[1] = make_uint4(w[4], w[5], w[6], w[7]);
        return;
    }
    if ((uintptr_t)p % 8 == 0 && n > 0 && bytes * n % 8 == 0 && bytes * n <= 16) {
        ((uint2 *)p)[0] = make_uint2(w[0], w[1]);
        if (bytes * n == 16)
            ((uint2 *)p)[1] = make_uint2(w[2], w[3]);
        return;
    }
#pragma unroll
    for (int i = 0; i < 8; i++) {
        if (i >= n)
            continue;
        if (bytes == 4)
            ((uint32_t *)p)[i] = w[i];
        else if (bytes == 2)
            ((uint16_t *)p)[i] = (uint16_t)(w[i / 2] >> (i % 2 * 16));
        else
            ((uint8_t *)p)[i] = (uint8_t)(w[i / 4] >> (i % 4 * 8));
    }
}

/* The n <= 8 floats at `at`, at + step, at + 2 step, ...; zeros after them. */
static __device__ __forceinline__ packet packet_gather(const elements &from, int64_t at, int step,
                                                       int n)
{
    packet x = {};

    if (from.dtype == VRT_DTYPE_F32) {
#pragma unroll
        for (int i = 0; i < 8; i++)
            if (i < n)
                x.words[i] = ((const uint32_t *)from.data)[at + i * step];
    } else {
#pragma unroll
        for (int i = 0; i < 8; i++)
            if (i < n)
                x.words[i / 2] |= (uint32_t)((const uint16_t *)from.data)[at + i * step]
                                  << (i % 2 * 16);
    }
    return x;
}

/* Writes the n <= 8 first floats to `at`, at + step, at + 2 step, ... */
static __device__ __forceinline__ void packet_scatter(const packet &x, const elements &to,
                                                      int64_t at, int step, int n)
{
    if (to.dtype == VRT_DTYPE_F32) {
#pragma unroll
        for (int i = 0; i < 8; i++)
            if (i < n)
                ((uint32_t *)to.data)[at + i * step] = x.words[i];
    } else {
#pragma unroll
        for (int i = 0; i < 8; i++)
            if (i < n)
                ((uint16_t *)to.data)[at + i * step] = (uint16_t)(x.words[i / 2] >>
                                                                  (i % 2 * 16));
    }
}

/* A packet of floats as f32. */
static __device__ __forceinline__ void packet_open(const packet &x, int dtype, float values[8])
{
    if (dtype == VRT_DTYPE_F32) {
#pragma unroll
        for (int i = 0; i < 8; i++)
            values[i] = __uint_as_float(x.words[i]);
    } else if (dtype == VRT_DTYPE_F16) {
#pragma unroll
        for (int i = 0; i < 8; i++) {
            const uint16_t bits = (uint16_t)(x.words[i / 2] >> (i % 2 * 16));
            values[i] = __half2float(__ushort_as_half(bits));
        }
    } else {
#pragma unroll
        for (int i = 0; i < 8; i++)
            values[i] = __uint_as_float(i % 2 ? x.words[i / 2] & 0xffff0000u
                                              : x.words[i / 2] << 16);
    }
}

/* f32 as a packet of floats, rounded to nearest, ties to even. */
static __device__ __forceinline__ packet packet_close(const float values[8], int dtype)
{
    packet x = {};

    if (dtype == VRT_DTYPE_F32) {
#pragma unroll
        for (int i = 0; i < 8; i++)
            x.words[i] = __float_as_uint(values[i]);
    } else if (dtype == VRT_DTYPE_F16) {
#pragma unroll
        for (int i = 0; i < 8; i += 2)
            x.words[i / 2] = pack_halves<__half>(values[i], values[i + 1]);
    } else {
#pragma unroll
        for (int i = 0; i < 8; i += 2)
            x.words[i / 2] = pack_halves<__nv_bfloat16>(values[i], values[i + 1]);
    }
    return x;
}

/* The n elements, 1 to 8, at `at`, as f32; zeros after them. */
static __device__ __forceinline__ void packet_load(const elements &from, int64_t at, int n,
                                                   float values[8])
{
    packet_open(packet_get(from, at, n), from.dtype, values);
}

/* Writes the n <= 8 first of f32 to `at`, none where n is not positive. */
static __device__ __forceinline__ void packet_store(const float values[8], const elements &to,
                                                    int64_t at, int n)
{
    packet_put(packet_close(values, to.dtype), to, at, n);
}

/* A packet of one type as one of another: as it is where both are the same, else of floats. */
static __device__ __forceinline__ packet packet_convert(const packet &x, int from, int to)
{
    float values[8];

    if (from == to)
        return x;
    packet_open(x, from, values);
    return packet_close(values, to);
}

/* Writes the n <= 8 first elements of a packet of `dtype` to `at`, in the type that is there. */
static __device__ __forceinline__ void packet_copy(const packet &x, int dtype, const elements &to,
                                                   int64_t at, int n)
{
    packet_put(packet_convert(x, dtype, to.dtype), to, at, n);
}

}
