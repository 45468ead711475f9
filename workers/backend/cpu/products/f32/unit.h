/* SPDX-License-Identifier: MIT */
#pragma once

/* Units of f32: what is multiplied is one element. See "backend/cpu/products/product.h". */

#include <string.h>

#include "backend/cpu/isa/isa.h"
#include "backend/cpu/isa/vector.h"

#define VRT_UNIT_NAME(name) VRT_CPU_NAME(f32_##name)
#define VRT_UNIT_ELEMENTS 1
#define VRT_UNIT_ROWS 1
#define VRT_UNIT_STEP 1

/* Rows of sums that are made at once. */
#define VRT_BLOCK_ROWS 6

/* Places of a deform_conv2d that are multiplied at once. */
#define VRT_DEFORM_PLACES (VRT_CPU_VECTOR_FLOATS == 16 ? 8 : 4)

typedef float vrt_unit;
typedef vrt_cpu_vector vrt_unit_vec;

static inline vrt_unit_vec vrt_unit_load(const vrt_unit *x)
{
    return *(const vrt_cpu_vector_at *)x;
}

static inline vrt_cpu_vector vrt_unit_multiply_add(vrt_cpu_vector sum, vrt_unit w, vrt_unit_vec x)
{
    return sum + w * x;
}

/* A vector of units of these elements; there is no odd one, and no second row. */
static inline void vrt_unit_store(vrt_unit *dst, size_t step, vrt_cpu_vector even,
                                  vrt_cpu_vector odd)
{
    (void)step;
    (void)odd;
    *(vrt_cpu_vector_at *)dst = even;
}

/* n elements in a row, one beside the other. */
static inline void vrt_unit_put_row(vrt_unit *dst, size_t row, const float *src, int n)
{
    (void)row;
    memcpy(dst, src, (size_t)n * sizeof(*dst));
}
