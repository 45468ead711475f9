/* SPDX-License-Identifier: MIT */

/* bf16 by AVX-512's own instruction for pairs of channels: 32 registers, 8 columns. */

#include "backend/cpu/conv/narrow-finish.h"
#include "backend/cpu/conv/narrow-kernels.h"

#define COLUMNS 8

static inline __m256 multiply_add(__m256 sum, __m256i pairs, __m256i weights)
{
    return _mm256_dpbf16_ps(sum, (__m256bh)pairs, (__m256bh)weights);
}

static void run_tile(const struct vrt_narrow_tile *t)
{
    const __m256i *w = t->weights;
    __m256 sums[COLUMNS][VRT_NARROW_VECTORS];

    for (int p = 0; p < COLUMNS; p++)
        for (int v = 0; v < VRT_NARROW_VECTORS; v++)
            sums[p][v] = _mm256_loadu_ps(t->bias + 8 * v);

    for (int ky = 0; ky < t->n_rows; ky++)
    for (int kx = 0; kx < t->k; kx++) {
        const char *x = t->rows[ky] + (size_t)kx * t->in_stride;

        for (int i = 0; i < t->units; i++, x += sizeof(uint32_t), w += VRT_NARROW_VECTORS) {
            const __m256i w0 = _mm256_loadu_si256(w), w1 = _mm256_loadu_si256(w + 1);
            const __m256i w2 = _mm256_loadu_si256(w + 2);

#pragma GCC unroll 8
            for (int p = 0; p < COLUMNS; p++) {
                const __m256i b = _mm256_set1_epi32(vrt_narrow_unit(x + (size_t)p * t->in_stride));

                sums[p][0] = multiply_add(sums[p][0], b, w0);
                sums[p][1] = multiply_add(sums[p][1], b, w1);
                sums[p][2] = multiply_add(sums[p][2], b, w2);
            }
        }
    }
    for (int p = 0; p < COLUMNS; p++)
        if (p < t->n)
            vrt_narrow_finish(t, p, sums[p]);
}

const struct vrt_narrow_kernel vrt_narrow_avx512_bf16 = { run_tile, COLUMNS };
