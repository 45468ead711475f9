/* SPDX-License-Identifier: MIT */
#pragma once

/* __half as a storage type: bits, conversions (round to nearest, ties to even), no arithmetic. */

#include "sim/math.h"

struct __half {
    unsigned short bits;

    __half() = default;
    inline __half(float x);
    inline operator float() const;
};

struct alignas(4) __half2 {
    __half x, y;
};

static inline __half __ushort_as_half(unsigned short bits)
{
    __half h;

    h.bits = bits;
    return h;
}
static inline unsigned short __half_as_ushort(__half h) { return h.bits; }

static inline float __half2float(__half h)
{
    const unsigned sign = (h.bits & 0x8000u) << 16, exponent = h.bits >> 10 & 31;
    const unsigned fraction = h.bits & 0x3ffu;
    float magnitude;

    if (exponent == 31)
        return __uint_as_float(sign | 0x7f800000u | fraction << 13);
    if (exponent)
        return __uint_as_float(sign | (exponent + 112) << 23 | fraction << 13);
    magnitude = (float)fraction * (1.0f / 16777216.0f);
    return sign ? -magnitude : magnitude;
}

static inline __half __float2half_rn(float x)
{
    const unsigned bits = __float_as_uint(x), sign = bits >> 16 & 0x8000u;
    const unsigned magnitude = bits & 0x7fffffffu;
    unsigned result;

    if (magnitude > 0x7f800000u)
        return __ushort_as_half(0x7fff);        /* the device has one NaN */
    if (magnitude >= 0x477ff000u) {             /* 65520 and more rounds to infinity */
        result = 0x7c00;
    } else if (magnitude >= 0x38800000u) {      /* normal */
        result = magnitude - (112u << 23);
        result = (result + 0xfff + (result >> 13 & 1)) >> 13;
    } else {                                    /* subnormal: in units of 2^-24 */
        result = (unsigned)rintf(__uint_as_float(magnitude) * 16777216.0f);
    }
    return __ushort_as_half((unsigned short)(sign | result));
}

inline __half::__half(float x) : bits(__float2half_rn(x).bits) {}
inline __half::operator float() const { return __half2float(*this); }
