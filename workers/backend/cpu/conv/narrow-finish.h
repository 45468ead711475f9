/* SPDX-License-Identifier: MIT */
#pragma once

/* What the loops for 24 channels do to their sums, in vectors of 8. Needs AVX2 and FMA. */

#include <immintrin.h>
#include <string.h>

#include "backend/cpu/conv/narrow.h"

#define VRT_NARROW_VECTORS (VRT_NARROW_CHANNELS / 8)

/* 8 elements as f32. */
static inline __m256 vrt_narrow_load(const char *from, enum vrt_dtype dtype, int vector)
{
    if (dtype != VRT_DTYPE_BF16)
        return _mm256_loadu_ps((const float *)(const void *)from + 8 * vector);

    const __m128i bits = _mm_loadu_si128((const __m128i *)(const void *)from + vector);
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
}

/* Rounded to nearest, ties to even; a NaN stays one. */
static inline __m128i vrt_narrow_to_bf16(__m256 v)
{
    const __m256i bits = _mm256_castps_si256(v);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i up = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    const __m256i nan = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
    const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
    const __m256i high = _mm256_srli_epi32(_mm256_blendv_epi8(up, nan, is_nan), 16);
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(high, high), 0x08);

    return _mm256_castsi256_si128(packed);
}

static inline void vrt_narrow_store(char *to, enum vrt_dtype dtype, int vector, __m256 v)
{
    if (dtype == VRT_DTYPE_BF16)
        _mm_storeu_si128((__m128i *)(void *)to + vector, vrt_narrow_to_bf16(v));
    else
        _mm256_storeu_ps((float *)(void *)to + 8 * vector, v);
}

/* The sums of one pixel: activation, scale, residual, store. */
static inline void vrt_narrow_finish(const struct vrt_narrow_tile *t, int pixel,
                                     const __m256 sums[VRT_NARROW_VECTORS])
{
    const __m256 zero = _mm256_setzero_ps(), scale = _mm256_set1_ps(t->scale);
    char *out = t->out + (size_t)pixel * t->out_stride;

    for (int v = 0; v < VRT_NARROW_VECTORS; v++) {
        /* Operands in this order hand a NaN on. */
        const __m256 above = _mm256_max_ps(zero, sums[v]), below = _mm256_min_ps(zero, sums[v]);
        const __m256 slopes = _mm256_loadu_ps(t->slopes + 8 * v);
        __m256 y = _mm256_mul_ps(_mm256_fmadd_ps(below, slopes, above), scale);

        if (t->residual)
            y = _mm256_add_ps(y, vrt_narrow_load(t->residual + (size_t)pixel * t->residual_stride,
                                                 t->residual_dtype, v));
        vrt_narrow_store(out, t->out_dtype, v, y);
    }
}

/* 4 bytes at `from`: an element of f32, or a pair of bf16. */
static inline int vrt_narrow_unit(const char *from)
{
    int unit;

    memcpy(&unit, from, sizeof(unit));
    return unit;
}
