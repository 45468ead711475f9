/* SPDX-License-Identifier: MIT */
#pragma once

/* Numbers of several types in the device's memory, for the libraries that take any. */

#include "tests/simulators/cuda/include/cuda_bf16.h"
#include "tests/simulators/cuda/include/cuda_fp16.h"

#include <cstddef>
#include <cstdint>

namespace sim {

enum class number_type { f32, f16, bf16 };

inline size_t size_of(number_type type)
{
    return type == number_type::f32 ? 4 : 2;
}

/* Element `at` of an array. */
inline float get(const void *data, number_type type, int64_t at)
{
    if (type == number_type::f32)
        return static_cast<const float *>(data)[at];
    if (type == number_type::f16)
        return __half2float(static_cast<const __half *>(data)[at]);
    return __bfloat162float(static_cast<const __nv_bfloat16 *>(data)[at]);
}

/* Rounds to nearest, ties to even. */
inline void put(void *data, number_type type, int64_t at, float x)
{
    if (type == number_type::f32)
        static_cast<float *>(data)[at] = x;
    else if (type == number_type::f16)
        static_cast<__half *>(data)[at] = __float2half_rn(x);
    else
        static_cast<__nv_bfloat16 *>(data)[at] = __float2bfloat16_rn(x);
}

/* What TF32 leaves of a factor. */
inline float tf32(float x)
{
    return __uint_as_float(__float_as_uint(x) & ~0x1fffu);
}

}
