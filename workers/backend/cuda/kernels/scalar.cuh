/* SPDX-License-Identifier: MIT */
#pragma once

/* What several kernels do with one number of each thread. */

#include <cuda_runtime.h>

#include "mma.cuh"

namespace vrt {

/* The exact one, by erf. */
static __device__ __forceinline__ float gelu(float x)
{
    return 0.5f * x * (1 + erff(x * 0.70710678118654752f));
}

/*
 * The same for what is rounded to halves afterwards, off by 2^-22 of x at most: erf's complement by
 * Abramowitz and Stegun, 7.1.26 (1.5e-7), a third of the instructions of erff(). What is no number
 * stays none.
 */
static __device__ __forceinline__ float gelu_for_halves(float x)
{
    const float z = fminf(fabsf(x), 16.0f), positive = x < 0 ? 0 : x;
    const float t = reciprocal_approximate(fmaf(z, 0.3275911f * 0.70710678f, 1.0f));
    float half = 0.5f * 1.061405429f;

    half = fmaf(half, t, 0.5f * -1.453152027f);
    half = fmaf(half, t, 0.5f * 1.421413741f);
    half = fmaf(half, t, 0.5f * -0.284496736f);
    half = fmaf(half, t, 0.5f * 0.254829592f);
    half *= t * exp2_approximate(z * z * (-0.5f * 1.44269504f));
    return fmaf(-z, half, positive);
}

/* The sum of x over the warp, the same to each of its lanes, pair by pair. */
static __device__ __forceinline__ float warp_sum(float x)
{
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
        x += __shfl_xor_sync(0xffffffff, x, step);
    return x;
}

}
