/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * f16 (IEEE 754 binary16) and bf16 (the upper half of an f32) as bits, to and from f32
 *
 * Rounding is to nearest, ties to even. Infinities stay; a NaN stays one, made quiet.
 */

#include <stdint.h>
#include <string.h>

/* The bits of `x`. */
static inline uint32_t vrt_f32_bits(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

/* The f32 of these bits. */
static inline float vrt_f32_from_bits(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof(x));
    return x;
}

/* Exact. */
static inline float vrt_f32_from_bf16(uint16_t h)
{
    return vrt_f32_from_bits((uint32_t)h << 16);
}

/* Rounds; what is too large becomes infinite. */
static inline uint16_t vrt_bf16_from_f32(float x)
{
    const uint32_t bits = vrt_f32_bits(x);

    if ((bits & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* Exact, subnormals included. */
static inline float vrt_f32_from_f16(uint16_t h)
{
    const uint32_t sign = (uint32_t)(h & 0x8000) << 16, rest = h & 0x7fff;

    if (rest >= 0x7c00)     /* infinite or NaN: the largest exponent there, too */
        return vrt_f32_from_bits(sign | 0x7f800000 | rest << 13);
    if (rest >= 0x0400)     /* normal: another bias of the exponent */
        return vrt_f32_from_bits(sign | ((rest << 13) + ((127u - 15u) << 23)));
    return vrt_f32_from_bits(sign | vrt_f32_bits((float)rest * 0x1p-24f));
}

/* Rounds; what is too large becomes infinite, what is too small subnormal or zero. */
static inline uint16_t vrt_f16_from_f32(float x)
{
    const uint32_t bits = vrt_f32_bits(x), magnitude = bits & 0x7fffffff;
    const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);

    if (magnitude > 0x7f800000)
        return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x1ff));
    if (magnitude >= 0x477ff000)    /* 65520, halfway between the largest f16 and the next */
        return (uint16_t)(sign | 0x7c00);
    if (magnitude < 0x38800000) {   /* below 2^-14: the addition rounds to multiples of 2^-24 */
        const float shifted = vrt_f32_from_bits(magnitude) + 0.5f;
        return (uint16_t)(sign | (vrt_f32_bits(shifted) - vrt_f32_bits(0.5f)));
    }
    return (uint16_t)(sign | ((magnitude - ((127u - 15u) << 23) + 0xfff + (magnitude >> 13 & 1))
                              >> 13));
}
