/* SPDX-License-Identifier: MIT */
#pragma once

/* Arithmetic intrinsics. The inexact ones (__expf, rsqrtf) are computed well here. */

#include <cmath>
#include <cstring>

using std::isfinite;
using std::isinf;
using std::isnan;

template <class To, class From> static inline To vrt_sim_bits(From from)
{
    static_assert(sizeof(To) == sizeof(From), "bits of one size");
    To to;

    memcpy(&to, &from, sizeof(to));
    return to;
}

static inline int __float_as_int(float x) { return vrt_sim_bits<int>(x); }
static inline unsigned __float_as_uint(float x) { return vrt_sim_bits<unsigned>(x); }
static inline float __int_as_float(int x) { return vrt_sim_bits<float>(x); }
static inline float __uint_as_float(unsigned x) { return vrt_sim_bits<float>(x); }

static inline float __fadd_rn(float a, float b) { return a + b; }
static inline float __fsub_rn(float a, float b) { return a - b; }
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline float __fdiv_rn(float a, float b) { return a / b; }
static inline float __fsqrt_rn(float a) { return sqrtf(a); }
static inline float __frcp_rn(float a) { return 1.0f / a; }
static inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
static inline float __fdividef(float a, float b) { return a / b; }
static inline float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
static inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }

/* The C library has functions of its own by these names. */
#define __expf(x) expf(x)
#define __exp2f(x) exp2f(x)
#define __logf(x) logf(x)
#define __log2f(x) log2f(x)
#define __powf(x, y) powf(x, y)

/* Out-of-range values saturate and a NaN is 0, where C++ says nothing. */
static inline int vrt_sim_int_of(float x)
{
    if (std::isnan(x))
        return 0;
    return x >= 2147483648.0f ? 2147483647 : x <= -2147483648.0f ? -2147483647 - 1 : (int)x;
}

static inline int __float2int_rz(float x) { return vrt_sim_int_of(truncf(x)); }
static inline int __float2int_rn(float x) { return vrt_sim_int_of(rintf(x)); }
static inline int __float2int_rd(float x) { return vrt_sim_int_of(floorf(x)); }
static inline int __float2int_ru(float x) { return vrt_sim_int_of(ceilf(x)); }
static inline float __int2float_rn(int x) { return (float)x; }
static inline float __uint2float_rn(unsigned x) { return (float)x; }

static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline unsigned __brev(unsigned x)
{
    unsigned y = 0;

    for (int i = 0; i < 32; i++)
        y |= (x >> i & 1u) << (31 - i);
    return y;
}
static inline unsigned __umulhi(unsigned a, unsigned b)
{
    return (unsigned)((unsigned long long)a * b >> 32);
}
static inline int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }

static inline int min(int a, int b) { return b < a ? b : a; }
static inline int max(int a, int b) { return a < b ? b : a; }
static inline unsigned min(unsigned a, unsigned b) { return b < a ? b : a; }
static inline unsigned max(unsigned a, unsigned b) { return a < b ? b : a; }
static inline long min(long a, long b) { return b < a ? b : a; }
static inline long max(long a, long b) { return a < b ? b : a; }
static inline long long min(long long a, long long b) { return b < a ? b : a; }
static inline long long max(long long a, long long b) { return a < b ? b : a; }
static inline unsigned long min(unsigned long a, unsigned long b) { return b < a ? b : a; }
static inline unsigned long max(unsigned long a, unsigned long b) { return a < b ? b : a; }
static inline float min(float a, float b) { return fminf(a, b); }
static inline float max(float a, float b) { return fmaxf(a, b); }

template <class T> static inline T __ldg(const T *at) { return *at; }
template <class T> static inline T __ldcs(const T *at) { return *at; }
template <class T> static inline T __ldcg(const T *at) { return *at; }
template <class T> static inline void __stcs(T *at, T value) { *at = value; }
