/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Vectors of f32 as wide as the instruction set's registers: where the compiler would not find
 * them by itself, as in sums, whose order it may not change
 *
 * VRT_CPU_VECTOR_FLOATS, how many a register holds, comes from meson.
 */

#include <stdint.h>
#ifdef __SSE__
#include <immintrin.h>
#endif

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

static inline vrt_cpu_vector vrt_cpu_vector_load(const float *from)
{
    return *(const vrt_cpu_vector_at *)from;
}

static inline void vrt_cpu_vector_store(float *to, vrt_cpu_vector v)
{
    *(vrt_cpu_vector_at *)to = v;
}

/* As many bf16, anywhere in memory, and the bits of as many f32. */
typedef uint16_t vrt_cpu_halves
    __attribute__((vector_size(2 * VRT_CPU_VECTOR_FLOATS), aligned(2), may_alias));
typedef uint32_t vrt_cpu_bits __attribute__((vector_size(VRT_CPU_VECTOR_BYTES)));

static inline vrt_cpu_vector vrt_cpu_vector_from_bf16(vrt_cpu_halves v)
{
    return (vrt_cpu_vector)(__builtin_convertvector(v, vrt_cpu_bits) << 16);
}

/* Rounds to bf16, in the upper half: to nearest, ties to even; a NaN stays one. */
static inline vrt_cpu_bits vrt_cpu_vector_rounded(vrt_cpu_vector v)
{
    const vrt_cpu_bits bits = (vrt_cpu_bits)v, is_nan = (vrt_cpu_bits)(v != v);
    const vrt_cpu_bits up = bits + 0x7fff + (bits >> 16 & 1), nan = bits | 0x400000;

    return (is_nan & nan) | (~is_nan & up);
}

/* So rounded. Where there are instructions for that, denormals are zeros. */
static inline vrt_cpu_halves vrt_cpu_vector_to_bf16(vrt_cpu_vector v)
{
#if defined(__AVX512BF16__) && VRT_CPU_VECTOR_FLOATS == 16
    return (vrt_cpu_halves)_mm512_cvtneps_pbh((__m512)v);
#else
    return __builtin_convertvector(vrt_cpu_vector_rounded(v) >> 16, vrt_cpu_halves);
#endif
}

/* From and to bf16 anywhere in memory. */
static inline vrt_cpu_vector vrt_cpu_vector_load_bf16(const uint16_t *from)
{
    return vrt_cpu_vector_from_bf16(*(const vrt_cpu_halves *)from);
}

static inline void vrt_cpu_vector_store_bf16(uint16_t *to, vrt_cpu_vector v)
{
    *(vrt_cpu_halves *)to = vrt_cpu_vector_to_bf16(v);
}

/* Pairs of bf16, so rounded: the even ones are the lower halves. */
static inline vrt_cpu_bits vrt_cpu_vector_to_pairs(vrt_cpu_vector even, vrt_cpu_vector odd)
{
#if defined(__AVX512BF16__) && VRT_CPU_VECTOR_FLOATS == 16
    /* All even numbers, then all odd ones. */
    const __m512i halves = (__m512i)_mm512_cvtne2ps_pbh((__m512)odd, (__m512)even);
    const __m512i order = _mm512_set_epi16(
        31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8,
        23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);

    return (vrt_cpu_bits)_mm512_permutexvar_epi16(order, halves);
#else
    return vrt_cpu_vector_rounded(even) >> 16 | (vrt_cpu_vector_rounded(odd) & 0xffff0000);
#endif
}

/* The numbers of such pairs. */
static inline vrt_cpu_vector vrt_cpu_even_of_pairs(vrt_cpu_bits pairs)
{
    return (vrt_cpu_vector)(pairs << 16);
}

static inline vrt_cpu_vector vrt_cpu_odd_of_pairs(vrt_cpu_bits pairs)
{
    return (vrt_cpu_vector)(pairs & 0xffff0000);
}

/* a where the mask's bits are set, else b. */
static inline vrt_cpu_vector vrt_cpu_vector_select(vrt_cpu_integers mask, vrt_cpu_vector a,
                                                   vrt_cpu_vector b)
{
    return (vrt_cpu_vector)((mask & (vrt_cpu_integers)a) | (~mask & (vrt_cpu_integers)b));
}

/* The larger of each pair of elements; NaN where b is. That is an instruction, which the compiler
 * doesn't find. */
static inline vrt_cpu_vector vrt_cpu_vector_larger(vrt_cpu_vector a, vrt_cpu_vector b)
{
#if defined(__AVX512F__) && VRT_CPU_VECTOR_FLOATS == 16
    return (vrt_cpu_vector)_mm512_max_ps((__m512)a, (__m512)b);
#elif defined(__AVX__) && VRT_CPU_VECTOR_FLOATS == 8
    return (vrt_cpu_vector)_mm256_max_ps((__m256)a, (__m256)b);
#elif defined(__SSE__) && VRT_CPU_VECTOR_FLOATS == 4
    return (vrt_cpu_vector)_mm_max_ps((__m128)a, (__m128)b);
#else
    return vrt_cpu_vector_select(a > b, a, b);
#endif
}

/*
 * 2^x for x <= 0, relative error below 3e-7 for x >= -126; below that, 1.2e-38. It costs less than
 * e^x of "backend/cpu/isa/exp.h", whose remarks hold here.
 */
static inline vrt_cpu_vector vrt_cpu_vector_exp2(vrt_cpu_vector x)
{
    /* So large that adding it rounds to an integer, which the low bits then hold, plus 127. */
    const float rounder = 0x1.8p23f + 127;

    x = vrt_cpu_vector_larger((vrt_cpu_vector){ 0 } - 126, x);
    const vrt_cpu_vector shifted = x + rounder, r = x - (shifted - rounder);
    /* [-1/2, 1/2] */
    vrt_cpu_vector p = r * 1.326472675e-3f + 9.671512672e-3f;
    p = p * r + 5.550733745e-2f;
    p = p * r + 2.402224208e-1f;
    p = p * r + 6.931469776e-1f;
    p = p * r + 1;
    return p * (vrt_cpu_vector)((vrt_cpu_integers)shifted << 23);
}

/* 1 / v for 1 <= v <= 2^126, relative error below 2e-7; a NaN gives NaN. */
static inline vrt_cpu_vector vrt_cpu_vector_inverse(vrt_cpu_vector v)
{
#if defined(__AVX512F__) && VRT_CPU_VECTOR_FLOATS == 16
    /* A division takes as long as ten products: 14 bits, then one of Newton's steps. */
    const vrt_cpu_vector r = (vrt_cpu_vector)_mm512_rcp14_ps((__m512)v);

    return r + r * (1 - v * r);
#else
    return 1 / v;
#endif
}

/* 1 / (1 + e^-x), relative error below 6e-7 for x >= -4; below that 6e-6, and at least 1.2e-38. */
static inline vrt_cpu_vector vrt_cpu_vector_sigmoid(vrt_cpu_vector x)
{
    const vrt_cpu_vector e = vrt_cpu_vector_exp2(
        -1.44269504f * (vrt_cpu_vector)((vrt_cpu_integers)x & 0x7fffffff));
    const vrt_cpu_vector r = vrt_cpu_vector_inverse(1 + e);

    return vrt_cpu_vector_select(x < 0, e * r, r);
}
