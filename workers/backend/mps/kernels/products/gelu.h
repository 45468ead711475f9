/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The activation GELU, and the error function, which Metal's language has not
 *
 * By Abramowitz and Stegun's Handbook of Mathematical Functions: near 0 it is 7.1.5, a series, to
 * its 8th term, elsewhere 7.1.26. With what roundings add it is off by less than 3e-7.
 */

#include "backend/kernels/language.h"

#define ERF_TERMS 8
#define ERF_FACTORS 5

/* Of odd powers of x, by 2 / sqrt pi. */
constant float erf_terms[ERF_TERMS] = {
    1.0f, -1.0f / 3, 1.0f / 10, -1.0f / 42, 1.0f / 216, -1.0f / 1320, 1.0f / 9360, -1.0f / 75600,
};

/* Of powers of 1 / (1 + 0.3275911 |x|), from the first on. */
constant float erf_factors[ERF_FACTORS] = {
    0.254829592f, -0.284496736f, 1.421413741f, -1.453152027f, 1.061405429f,
};

/* The sum of factors[i] * x^i, of n. */
static inline float4 polynomial(const ARG float *factors, int n, float4 x)
{
    float4 sum = float4(factors[n - 1]);

#pragma unroll
    for (int i = n - 2; i >= 0; i--)
        sum = fma(sum, x, float4(factors[i]));
    return sum;
}

static inline float4 error_function(float4 x)
{
    const float4 t = 1.0f / fma(float4(0.3275911f), fabs(x), float4(1.0f));
    const float4 rest = polynomial(erf_factors, ERF_FACTORS, t) * t * exp(-x * x);
    const float4 near = polynomial(erf_terms, ERF_TERMS, x * x) * x * M_2_SQRTPI_F;

    return select(copysign(1.0f - rest, x), near, fabs(x) < 0.75f);
}

/* x * (1 + erf(x / sqrt 2)) / 2 */
static inline float4 gelu(float4 x)
{
    return x * (1.0f + error_function(x * M_SQRT1_2_F)) * 0.5f;
}
