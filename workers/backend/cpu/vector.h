/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Vectors of f32 as wide as the instruction set's registers: where the compiler would not find
 * them by itself, as in sums, whose order it may not change
 *
 * VRT_CPU_VECTOR_FLOATS, how many a register holds, comes from meson.
 */

#define VRT_CPU_VECTOR_BYTES (4 * VRT_CPU_VECTOR_FLOATS)

typedef float vrt_cpu_vector __attribute__((vector_size(VRT_CPU_VECTOR_BYTES)));

/* What comparing two gives, and their bits. */
typedef int vrt_cpu_integers __attribute__((vector_size(VRT_CPU_VECTOR_BYTES)));

/* The same anywhere in memory. */
typedef float vrt_cpu_vector_at
    __attribute__((vector_size(VRT_CPU_VECTOR_BYTES), aligned(4), may_alias));

/* The sum of a vector's elements. */
static inline float vrt_cpu_vector_sum(const vrt_cpu_vector *v)
{
    float sum = 0;

    for (int i = 0; i < VRT_CPU_VECTOR_FLOATS; i++)
        sum += (*v)[i];
    return sum;
}
