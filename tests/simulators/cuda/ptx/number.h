/* SPDX-License-Identifier: MIT */
#pragma once

/* Arithmetic of PTX where it isn't C++'s. Results that are NaN have one form, 0x7fffffff. */

#include "tests/simulators/cuda/include/cuda_bf16.h"
#include "tests/simulators/cuda/include/cuda_fp16.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

static inline float vrt_ptx_f32(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof(x));
    return x;
}

static inline double vrt_ptx_f64(uint64_t bits)
{
    double x;

    memcpy(&x, &bits, sizeof(x));
    return x;
}

static inline uint32_t vrt_ptx_bits(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

static inline uint64_t vrt_ptx_bits(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

static inline float vrt_ptx_one_nan(float x)
{
    return __builtin_expect(x == x, 1) ? x : vrt_ptx_f32(0x7fffffff);
}

/* Of a division by zero the ISA says nothing: a value that nobody can mistake for a result. */
template <class T> static inline T vrt_ptx_quotient(T a, T b)
{
    if (b == 0)
        return T(0xdeadbeefdeadbeef);
    if (std::is_signed_v<T> && b == T(-1))
        return T(-a);
    return T(a / b);
}

template <class T> static inline T vrt_ptx_remainder(T a, T b)
{
    if (b == 0)
        return T(0xdeadbeefdeadbeef);
    if (std::is_signed_v<T> && b == T(-1))
        return 0;
    return T(a % b);
}

/* Shifts by more than there are bits are by as many. */
template <class T> static inline T vrt_ptx_shl(T a, uint32_t n)
{
    return n < 8 * sizeof(T) ? T(a << n) : T(0);
}

template <class T> static inline T vrt_ptx_shr(T a, uint32_t n)
{
    return n < 8 * sizeof(T) ? T(a >> n) : a < 0 ? T(-1) : T(0);
}

/* prmt without a mode: byte i of the result is that of {b, a} which nibble i of c names; with its
 * high bit set, eight times the sign of that byte. */
static inline uint32_t vrt_ptx_permute(uint32_t a, uint32_t b, uint32_t c)
{
    const uint64_t both = uint64_t(b) << 32 | a;
    uint32_t result = 0;

    for (int i = 0; i < 4; i++) {
        const unsigned nibble = c >> 4 * i & 15;
        const uint8_t byte = uint8_t(both >> 8 * (nibble & 7));

        result |= uint32_t(nibble & 8 ? (byte & 0x80 ? 0xff : 0) : byte) << 8 * i;
    }
    return result;
}

/* bfi: the low n bits of a, put into b from bit `first` on. */
static inline uint32_t vrt_ptx_insert(uint32_t a, uint32_t b, uint32_t first, uint32_t n)
{
    const unsigned at = first & 255, count = n & 255;
    uint64_t mask = count >= 32 ? 0xffffffffu : (uint64_t(1) << count) - 1;

    if (at >= 32)
        return b;
    mask = mask << at & 0xffffffffu;
    return uint32_t((uint64_t(a) << at & mask) | (b & ~mask));
}

/* One NaN is as if it weren't there; -0 is less than 0. */
static inline float vrt_ptx_min(float a, float b)
{
    if (a != a)
        return vrt_ptx_one_nan(b);
    if (b != b)
        return a;
    return a < b || (a == b && std::signbit(a)) ? a : b;
}

static inline float vrt_ptx_max(float a, float b)
{
    if (a != a)
        return vrt_ptx_one_nan(b);
    if (b != b)
        return a;
    return a > b || (a == b && !std::signbit(a)) ? a : b;
}

/* Towards zero; what the type doesn't have is its nearest, NaN is 0. */
static inline int32_t vrt_ptx_s32_of(float x)
{
    if (x != x)
        return 0;
    return x >= 2147483648.0f ? INT32_MAX : x < -2147483648.0f ? INT32_MIN : int32_t(x);
}

static inline uint32_t vrt_ptx_u32_of(float x)
{
    if (!(x > 0.0f))
        return 0;
    return x >= 4294967296.0f ? UINT32_MAX : uint32_t(x);
}

static inline float vrt_ptx_saturate(float x)
{
    return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f;
}

static inline float vrt_ptx_f32_of_f16(uint16_t bits)
{
    return vrt_ptx_one_nan(__half2float(__ushort_as_half(bits)));
}

static inline uint16_t vrt_ptx_f16_of(float x)
{
    return x == x ? __half_as_ushort(__float2half_rn(x)) : 0x7fff;
}

static inline uint16_t vrt_ptx_bf16_of(float x)
{
    return __bfloat16_as_ushort(__float2bfloat16_rn(x));
}

/* a * b + c, rounded down. */
float vrt_ptx_fma_down(float a, float b, float c);

/*
 * What is only near: off by as much as the ISA allows, up or down as the argument's bits have it,
 * so that nobody relies on more. ex2: 2^-22 of the result; rcp: one unit in the last place; rsqrt:
 * 2^-22.9 of the result. _ftz: what is no normal number is 0, before and after.
 */
float vrt_ptx_ex2_approx_ftz(float x);
float vrt_ptx_rcp_approx_ftz(float x);
float vrt_ptx_rsqrt_approx(float x);
