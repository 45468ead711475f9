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
    const vrt_cpu_bits high = vrt_cpu_vector_to_pairs(even, odd);

    vrt_halves_store(dst, high);
    vrt_halves_store(dst + step, vrt_cpu_vector_to_pairs(even - vrt_cpu_even_of_pairs(high),
                                                         odd - vrt_cpu_odd_of_pairs(high)));
}

/* n elements in a row, one beside the other; n is a multiple of 16. The rests are half of the row's
 * units behind them. */
static inline void vrt_unit_put_row(vrt_unit *dst, size_t row, const float *src, int n)
{
    for (int i = 0; i < n; i += VRT_CPU_VECTOR_FLOATS) {
        const vrt_cpu_vector v = vrt_cpu_vector_load(src + i);
        const vrt_cpu_halves high = vrt_cpu_vector_to_bf16(v);
        const vrt_cpu_vector rest = v - vrt_cpu_vector_from_bf16(high);

        vrt_halves_store_row(dst + i / 2, high);
        vrt_halves_store_row(dst + row / 2 + i / 2, vrt_cpu_vector_to_bf16(rest));
    }
}
