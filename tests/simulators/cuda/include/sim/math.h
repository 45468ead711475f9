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

static inline unsigned __float_as_uint(float x) { return vrt_sim_bits<unsigned>(x); }
static inline float __uint_as_float(unsigned x) { return vrt_sim_bits<float>(x); }

static inline float __fadd_rn(float a, float b) { return a + b; }
static inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }

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
