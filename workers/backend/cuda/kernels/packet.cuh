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

static __device__ __forceinline__ bool is_aligned(const void *p, unsigned bytes)
{
    return ((uintptr_t)p & (bytes - 1)) == 0;
}

static __device__ __forceinline__ void get_f32(packet &x, const uint32_t *from, int n)
{
    const bool wide = is_aligned(from, 16);

#pragma unroll
    for (int k = 0; k < 8; k += 4) {
        if (wide && n >= k + 4) {
            const uint4 four = *(const uint4 *)(from + k);
            x.words[k] = four.x;
            x.words[k + 1] = four.y;
            x.words[k + 2] = four.z;
            x.words[k + 3] = four.w;
        } else {
#pragma unroll
            for (int i = k; i < k + 4; i++)
                if (i < n)
                    x.words[i] = from[i];
        }
    }
}

static __device__ __forceinline__ void get_16(packet &x, const uint16_t *from, int n)
{
    if (n == 8 && is_aligned(from, 16)) {
        const uint4 all = *(const uint4 *)from;
        x.words[0] = all.x;
        x.words[1] = all.y;
        x.words[2] = all.z;
        x.words[3] = all.w;
        return;
    }
    const bool wide = is_aligned(from, 8);
#pragma unroll
    for (int k = 0; k < 8; k += 4) {
        if (wide && n >= k + 4) {
            const uint2 four = *(const uint2 *)(from + k);
            x.words[k / 2] = four.x;
            x.words[k / 2 + 1] = four.y;
        } else {
#pragma unroll
            for (int i = k; i < k + 4; i++)
                if (i < n)
                    x.words[i / 2] |= (uint32_t)from[i] << (i % 2 * 16);
        }
    }
}

static __device__ __forceinline__ void get_8(packet &x, const uint8_t *from, int n)
{
    if (n == 8 && is_aligned(from, 8)) {
        const uint2 all = *(const uint2 *)from;
        x.words[0] = all.x;
        x.words[1] = all.y;
        return;
    }
#pragma unroll
    for (int i = 0; i < 8; i++)
        if (i < n)
            x.words[i / 4] |= (uint32_t)from[i] << (i % 4 * 8);
}

/* The n <= 8 elements at `at`; zeros after them, and nowhere read. */
static __device__ __forceinline__ packet packet_get(const elements &from, int64_t at, int n)
{
    packet x = {};

    if (from.dtype == VRT_DTYPE_F32)
        get_f32(x, (const uint32_t *)from.data + at, n);
    else if (from.dtype == VRT_DTYPE_U8)
        get_8(x, (const uint8_t *)from.data + at, n);
    else
        get_16(x, (const uint16_t *)from.data + at, n);
    return x;
}

static __device__ __forceinline__ void put_f32(const packet &x, uint32_t *to, int n)
{
    const bool wide = is_aligned(to, 16);

#pragma unroll
    for (int k = 0; k < 8; k += 4) {
        if (wide && n >= k + 4) {
            *(uint4 *)(to + k) = make_uint4(x.words[k], x.words[k + 1], x.words[k + 2],
                                            x.words[k + 3]);
        } else {
#pragma unroll
            for (int i = k; i < k + 4; i++)
                if (i < n)
                    to[i] = x.words[i];
        }
    }
}

static __device__ __forceinline__ void put_16(const packet &x, uint16_t *to, int n)
{
    if (n == 8 && is_aligned(to, 16)) {
        *(uint4 *)to = make_uint4(x.words[0], x.words[1], x.words[2], x.words[3]);
        return;
    }
    const bool wide = is_aligned(to, 8);
#pragma unroll
    for (int k = 0; k < 8; k += 4) {
        if (wide && n >= k + 4) {
            *(uint2 *)(to + k) = make_uint2(x.words[k / 2], x.words[k / 2 + 1]);
        } else {
#pragma unroll
            for (int i = k; i < k + 4; i++)
                if (i < n)
                    to[i] = (uint16_t)(x.words[i / 2] >> (i % 2 * 16));
        }
    }
}

static __device__ __forceinline__ void put_8(const packet &x, uint8_t *to, int n)
{
    if (n == 8 && is_aligned(to, 8)) {
        *(uint2 *)to = make_uint2(x.words[0], x.words[1]);
        return;
    }
#pragma unroll
    for (int i = 0; i < 8; i++)
        if (i < n)
            to[i] = (uint8_t)(x.words[i / 4] >> (i % 4 * 8));
}

/* Writes the n <= 8 first elements to `at`. */
static __device__ __forceinline__ void packet_put(const packet &x, const elements &to, int64_t at,
                                                  int n)
{
    if (to.dtype == VRT_DTYPE_F32)
        put_f32(x, (uint32_t *)to.data + at, n);
    else if (to.dtype == VRT_DTYPE_U8)
        put_8(x, (uint8_t *)to.data + at, n);
    else
        put_16(x, (uint16_t *)to.data + at, n);
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
        for (int i = 0; i < 8; i++)
            x.words[i / 2] |= (uint32_t)__half_as_ushort(__float2half_rn(values[i]))
                              << (i % 2 * 16);
    } else {
#pragma unroll
        for (int i = 0; i < 8; i++)
            x.words[i / 2] |= (uint32_t)__bfloat16_as_ushort(__float2bfloat16_rn(values[i]))
                              << (i % 2 * 16);
    }
    return x;
}

/* The n <= 8 elements at `at`, as f32; zeros after them. */
static __device__ __forceinline__ void packet_load(const elements &from, int64_t at, int n,
                                                   float values[8])
{
    packet_open(packet_get(from, at, n), from.dtype, values);
}

/* Writes the n <= 8 first of f32 to `at`. */
static __device__ __forceinline__ void packet_store(const float values[8], const elements &to,
                                                    int64_t at, int n)
{
    packet_put(packet_close(values, to.dtype), to, at, n);
}

/* Writes the n <= 8 first elements, of the other type, to `at`: as they are where both have the
 * same type, else as floats. */
static __device__ __forceinline__ void packet_copy(const packet &x, int from_dtype,
                                                   const elements &to, int64_t at, int n)
{
    float values[8];

    if (from_dtype == to.dtype) {
        packet_put(x, to, at, n);
        return;
    }
    packet_open(x, from_dtype, values);
    packet_store(values, to, at, n);
}

}
