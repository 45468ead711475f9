/* SPDX-License-Identifier: MIT */
#pragma once

/* Division by a number that the host knows: on the device a multiplication and a shift. */

#include <stdint.h>

#include "base/macro.h"

struct vrt_divisor {
    uint32_t divisor, multiplier, shift;
};

/* The divisor `n`, 1 <= n < 2^31. */
static inline struct vrt_divisor vrt_divisor_of(int n)
{
    struct vrt_divisor d = { (uint32_t)n, 0, 0 };

    while (d.shift < 31 && (UINT32_C(1) << d.shift) < d.divisor)
        d.shift++;
    /* 2^32 (2^shift - n) / n + 1: with it, and n itself, the quotient is exact for 31 bits
     * (Granlund, Montgomery 1994). */
    d.multiplier = (uint32_t)(((((uint64_t)1 << d.shift) - d.divisor) << 32) / d.divisor + 1);
    return d;
}

/* i / d, with 0 <= i < 2^31. */
static inline VRT_DEVICE int vrt_divide(int i, const struct vrt_divisor *d)
{
    const uint32_t n = (uint32_t)i;
    const uint32_t high = (uint32_t)(((uint64_t)n * d->multiplier) >> 32);

    return (int)((high + n) >> d->shift);
}

/* i % d, given `quotient`, i / d. */
static inline VRT_DEVICE int vrt_remainder(int i, int quotient, const struct vrt_divisor *d)
{
    return i - quotient * (int)d->divisor;
}
