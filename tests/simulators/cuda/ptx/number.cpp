/* SPDX-License-Identifier: MIT */
/* Arithmetic of PTX that is rounded another way, or only near. */

#include "tests/simulators/cuda/ptx/number.h"

#include <cfenv>

namespace {

constexpr float least_normal = 1.17549435e-38f;

float flushed(float x)
{
    return std::fabs(x) < least_normal ? std::copysign(0.0f, x) : x;
}

/* From -1 to 1, by the bits alone. */
double lean(float x)
{
    const uint32_t mixed = (vrt_ptx_bits(x) * 0x9e3779b1u) ^ (vrt_ptx_bits(x) >> 15);

    return double(mixed * 0x85ebca6bu >> 8) * 0x1p-23 - 1.0;
}

/* `exact`, leaning by up to `most` of itself; rounding takes a 2^-24 of that. */
float near(double exact, float x, double most)
{
    return float(exact * (1.0 + lean(x) * (most - 0x1p-24)));
}

}

float vrt_ptx_fma_down(float a, float b, float c)
{
    const int rounding = fegetround();
    volatile float x = a, y = b, z = c;

    fesetround(FE_DOWNWARD);
    const volatile float result = fmaf(x, y, z);
    fesetround(rounding);
    return vrt_ptx_one_nan(result);
}

float vrt_ptx_ex2_approx_ftz(float x)
{
    const float given = flushed(x);

    if (given != given)
        return vrt_ptx_one_nan(given);
    if (given == 0.0f || std::isinf(given))
        return given == 0.0f ? 1.0f : given > 0.0f ? given : 0.0f;
    return flushed(near(std::exp2(double(given)), given, 0x1p-22));
}

float vrt_ptx_rcp_approx_ftz(float x)
{
    const float given = flushed(x);

    if (given == 0.0f || !std::isfinite(given))
        return vrt_ptx_one_nan(1.0f / given);
    /* A unit in the last place is 2^-24 to 2^-23 of a number. */
    return flushed(near(1.0 / double(given), given, 0x1p-24 + 0x1p-25));
}

float vrt_ptx_rsqrt_approx(float x)
{
    if (x == 0.0f || !(x > 0.0f) || std::isinf(x))
        return vrt_ptx_one_nan(std::copysign(1.0f, x) / std::sqrt(std::fabs(x)) +
                               (x < 0.0f ? NAN : 0.0f));
    return near(1.0 / std::sqrt(double(x)), x, 0x1.1p-23);
}
