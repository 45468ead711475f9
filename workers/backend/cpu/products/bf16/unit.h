/* SPDX-License-Identifier: MIT */
#pragma once

/* Units of two bf16, of which AVX-512 adds two products at once: see
 * "backend/cpu/products/product.h". */

#include <immintrin.h>
#include <stdint.h>

#include "backend/cpu/isa/isa.h"
#include "backend/cpu/isa/vector.h"

#define VRT_UNIT_NAME(name) VRT_CPU_NAME(bf16_##name)
#define VRT_UNIT_ELEMENTS 2
#define VRT_UNIT_ROWS 1
#define VRT_UNIT_STEP 1

/* Rows of sums that are made at once. */
#define VRT_BLOCK_ROWS 6

/* Places of a deform_conv2d that are multiplied at once. */
#define VRT_DEFORM_PLACES (VRT_CPU_VECTOR_FLOATS == 16 ? 8 : 4)

typedef uint32_t vrt_unit __attribute__((may_alias));
typedef __m512bh vrt_unit_vec;

static inline vrt_unit_vec vrt_unit_load(const vrt_unit *x)
{
    return (__m512bh)_mm512_loadu_si512(x);
}

static inline vrt_cpu_vector vrt_unit_multiply_add(vrt_cpu_vector sum, vrt_unit w, vrt_unit_vec x)
{
    return (vrt_cpu_vector)_mm512_dpbf16_ps((__m512)sum, (__m512bh)_mm512_set1_epi32((int)w), x);
}

/* A vector of units of these elements; there is no second row. */
static inline void vrt_unit_store(vrt_unit *dst, size_t step, vrt_cpu_vector even,
                                  vrt_cpu_vector odd)
{
    (void)step;
    const __m512i low = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh((__m512)even));
    const __m512i high = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh((__m512)odd));

    _mm512_storeu_si512(dst, _mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
}

/* n elements in a row, one beside the other; n is a multiple of 16. */
static inline void vrt_unit_put_row(vrt_unit *dst, size_t row, const float *src, int n)
{
    (void)row;
    for (int i = 0; i < n; i += 16)
        _mm256_storeu_si256((__m256i *)(void *)(dst + i / 2),
                            (__m256i)_mm512_cvtneps_pbh(_mm512_loadu_ps(src + i)));
}
