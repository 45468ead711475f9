/* SPDX-License-Identifier: MIT */
#pragma once

/* __nv_bfloat16 as a storage type: bits, conversions (round to nearest, ties to even). */

#include "sim/math.h"

struct __nv_bfloat16 {
    unsigned short bits;

    __nv_bfloat16() = default;
    inline __nv_bfloat16(float x);
    inline operator float() const;
};

struct alignas(4) __nv_bfloat162 {
    __nv_bfloat16 x, y;
};

static inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits)
{
    __nv_bfloat16 h;

    h.bits = bits;
    return h;
}
static inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 h) { return h.bits; }

static inline float __bfloat162float(__nv_bfloat16 h)
{
    return __uint_as_float((unsigned)h.bits << 16);
}

static inline __nv_bfloat16 __float2bfloat16_rn(float x)
{
    const unsigned bits = __float_as_uint(x);

    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return __ushort_as_bfloat16(0x7fff);    /* the device has one NaN */
    return __ushort_as_bfloat16((unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16));
}

inline __nv_bfloat16::__nv_bfloat16(float x) : bits(__float2bfloat16_rn(x).bits) {}
inline __nv_bfloat16::operator float() const { return __bfloat162float(*this); }
