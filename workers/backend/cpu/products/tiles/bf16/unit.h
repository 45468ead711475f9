/* SPDX-License-Identifier: MIT */
#pragma once

/* Units of two bf16 that are multiplied by tiles: see "backend/cpu/products/product.h". */

#include <stddef.h>

#include "backend/cpu/isa/isa.h"
#include "backend/cpu/products/tiles/halves.h"

#define VRT_UNIT_NAME(name) VRT_CPU_NAME(tiles_##name)
#define VRT_UNIT_ROWS 1

static inline void vrt_unit_store(vrt_unit *dst, size_t step, vrt_cpu_vector even,
                                  vrt_cpu_vector odd)
{
    (void)step;
    vrt_halves_store(dst, vrt_cpu_vector_to_pairs(even, odd));
}

/* n elements in a row, one beside the other; n is a multiple of 16. */
static inline void vrt_unit_put_row(vrt_unit *dst, size_t row, const float *src, int n)
{
    (void)row;
    for (int i = 0; i < n; i += VRT_CPU_VECTOR_FLOATS)
        vrt_halves_store_row(dst + i / 2, vrt_cpu_vector_to_bf16(vrt_cpu_vector_load(src + i)));
}
