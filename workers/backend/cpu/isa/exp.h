/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * exp and its like, in loops that the compiler vectorises
 *
 * No branches, no tables, no calls: polynomials and quotients of such, fitted to the least relative
 * error. A NaN gives NaN. The errors stated are those against the exact value, measured over all
 * exponents in tests/unit/backend/test-cpu-exp.c; with and without fused multiply-add they differ,
 * so results do between instruction sets.
 */

#include "backend/op/half.h"

/*
 * e^x, relative error below 2e-7 for -87.3 <= x <= 88.3; what lies beyond gives the value there:
 * 1.2e-38 rather than less, 2.2e38 rather than more or infinite.
 */
static inline float vrt_cpu_exp(float x)
{
    /* So large that adding it rounds to an integer, which the low bits then hold, plus 127. */
    const float rounder = 0x1.8p23f + 127;

    x = x < -87.3f ? -87.3f : x;
    x = x > 88.3f ? 88.3f : x;
    const float shifted = x * 1.44269504f + rounder, n = shifted - rounder;
    /* ln 2 in two parts, the first of few bits: n times it is exact. */
    const float r = x - n * 0.693359375f - n * -2.12194440e-4f;
    /* [-ln 2 / 2, ln 2 / 2] */
    float p = 8.290297490e-3f;
    p = p * r + 4.189802150e-2f;
    p = p * r + 1.666763697e-1f;
    p = p * r + 4.999914885e-1f;
    p = p * r + 9.999997068e-1f;
    p = p * r + 1;
    return p * vrt_f32_from_bits(vrt_f32_bits(shifted) << 23);
}

/* 1 / (1 + e^-x), relative error below 4e-7 for x >= -87.3. */
static inline float vrt_cpu_sigmoid(float x)
{
    return 1 / (1 + vrt_cpu_exp(-x));
}

/* tanh x, relative error below 4e-7; it may exceed 1 by that much. */
static inline float vrt_cpu_tanh(float x)
{
    x = x < -9.02f ? -9.02f : x;
    x = x > 9.02f ? 9.02f : x;
    const float t = x * x;
    float p = 1.331777892e-8f, q = 7.761489645e-7f;
    p = p * t + 2.058255049e-5f;
    q = q * t + 3.283001038e-4f;
    p = p * t + 3.493978958e-3f;
    q = q * t + 2.587086350e-2f;
    p = p * t + 1.337967178e-1f;
    q = q * t + 4.671298709e-1f;
    p = p * t + 9.999999792e-1f;
    q = q * t + 1;
    return x * p / q;
}

/* erf x, relative error below 5e-7; it may exceed 1 by that much. */
static inline float vrt_cpu_erf(float x)
{
    x = x < -3.93f ? -3.93f : x;
    x = x > 3.93f ? 3.93f : x;
    const float t = x * x;
    float p = 1.981314832e-8f, q = 9.636324240e-4f;
    p = p * t - 1.955096907e-6f;
    p = p * t + 1.424615184e-4f;
    q = q * t + 1.442495056e-2f;
    p = p * t + 3.735761361e-3f;
    q = q * t + 1.153527727e-1f;
    p = p * t + 5.068622021e-2f;
    q = q * t + 5.112724707e-1f;
    p = p * t + 2.007847541e-1f;
    q = q * t + 1;
    p = p * t + 1.128379108f;
    return x * p / q;
}

/* x * (1 + erf(x / sqrt 2)) / 2, the error below 3e-7 of |x|: of what is left of a large negative
 * x that may be all. */
static inline float vrt_cpu_gelu(float x)
{
    const float half = 0.5f * x;

    return half + half * vrt_cpu_erf(x * 0.707106781f);
}
