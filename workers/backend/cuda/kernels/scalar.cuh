/* SPDX-License-Identifier: MIT */
#pragma once

/* What several kernels do with one number of each thread. */

#include <cuda_runtime.h>

namespace vrt {

/* The exact one, by erf. */
static __device__ __forceinline__ float gelu(float x)
{
    return 0.5f * x * (1 + erff(x * 0.70710678118654752f));
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
