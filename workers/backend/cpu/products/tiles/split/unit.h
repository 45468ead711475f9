/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Units of two bf16 of two f32, split: what bf16 keeps of these, and in the second row what it
 * keeps of the rest
 *
 * Of (w + w') (x + x') all but w' x' is computed, in three products of bf16: see
 * "backend/cpu/products/tiles/product.c". Numbers are off by 2^-17 at most, and so is what a
 * product leaves out; sums of hundreds of them by some 4e-6 of their size, where plain bf16 is off
 * by 2e-3.
 */

#include <stddef.h>

#include "backend/cpu/isa/isa.h"
#include "backend/cpu/products/tiles/halves.h"

#define VRT_UNIT_NAME(name) VRT_CPU_NAME(split_##name)
#define VRT_UNIT_ROWS 2

static inline void vrt_unit_store(vrt_unit *dst, size_t step, vrt_cpu_vector even,
                                  vrt_cpu_vector odd)
{
    const vrt_cpu_vector high[2] = { vrt_halves_rounded(even), vrt_halves_rounded(odd) };

    vrt_halves_store(dst, high[0], high[1]);
    vrt_halves_store(dst + step, vrt_halves_rounded(even - high[0]),
                     vrt_halves_rounded(odd - high[1]));
}

/* n elements in a row, one beside the other; n is a multiple of 16. The rests are half of the row's
 * units behind them. */
static inline void vrt_unit_put_row(vrt_unit *dst, size_t row, const float *src, int n)
{
    for (int i = 0; i < n; i += VRT_CPU_VECTOR_FLOATS) {
        const vrt_cpu_vector v = vrt_cpu_vector_load(src + i), high = vrt_halves_rounded(v);

        vrt_halves_store_row(dst + i / 2, high);
        vrt_halves_store_row(dst + row / 2 + i / 2, vrt_halves_rounded(v - high));
    }
}
