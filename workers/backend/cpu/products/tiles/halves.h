/* SPDX-License-Identifier: MIT */
#pragma once

/* Units of two bf16, and f32 rounded to these, in vectors: what both kinds of units are made of. */

#include <stdint.h>

#include "backend/cpu/isa/vector.h"

#define VRT_UNIT_ELEMENTS 2

/* Rows of sums that are made at once: three tiles of them. */
#define VRT_BLOCK_ROWS 48

/* Places of a deform_conv2d that are multiplied at once. */
#define VRT_DEFORM_PLACES 16

typedef uint32_t vrt_unit __attribute__((may_alias));

typedef uint32_t vrt_halves_bits __attribute__((vector_size(VRT_CPU_VECTOR_BYTES)));
typedef uint32_t vrt_halves_bits_at
    __attribute__((vector_size(VRT_CPU_VECTOR_BYTES), aligned(4), may_alias));
typedef uint16_t vrt_halves_row __attribute__((vector_size(VRT_CPU_VECTOR_BYTES / 2)));
typedef uint16_t vrt_halves_row_at
    __attribute__((vector_size(VRT_CPU_VECTOR_BYTES / 2), aligned(2), may_alias));

/* Numbers that bf16 has: the nearest, ties to even; a NaN stays one. */
static inline vrt_cpu_vector vrt_halves_rounded(vrt_cpu_vector v)
{
    const vrt_halves_bits bits = (vrt_halves_bits)v, is_nan = (vrt_halves_bits)(v != v);
    const vrt_halves_bits up = bits + 0x7fff + (bits >> 16 & 1), nan = bits | 0x400000;

    return (vrt_cpu_vector)(((is_nan & nan) | (~is_nan & up)) & 0xffff0000);
}

/* Pairs of numbers that bf16 has. */
static inline void vrt_halves_store(uint32_t *dst, vrt_cpu_vector even, vrt_cpu_vector odd)
{
    *(vrt_halves_bits_at *)dst = (vrt_halves_bits)even >> 16 | (vrt_halves_bits)odd;
}

/* Such numbers in a row, one beside the other: half as many units. */
static inline void vrt_halves_store_row(uint32_t *dst, vrt_cpu_vector v)
{
    *(vrt_halves_row_at *)dst = __builtin_convertvector((vrt_halves_bits)v >> 16, vrt_halves_row);
}
