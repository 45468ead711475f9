/* SPDX-License-Identifier: MIT */
#pragma once

/* The loops in f32, for as many columns as the registers hold sums of. */

#include "backend/cpu/conv/narrow-finish.h"

/* COLUMNS is a constant where this is inlined. */
static inline __attribute__((always_inline)) void vrt_narrow_f32(const struct vrt_narrow_tile *t,
                                                                 const int COLUMNS)
{
    const float *w = t->weights;
    __m256 sums[8][VRT_NARROW_VECTORS];

    for (int p = 0; p < COLUMNS; p++)
        for (int v = 0; v < VRT_NARROW_VECTORS; v++)
            sums[p][v] = _mm256_loadu_ps(t->bias + 8 * v);

    for (int ky = 0; ky < t->n_rows; ky++)
    for (int kx = 0; kx < t->k; kx++) {
        const char *x = t->rows[ky] + (size_t)kx * t->in_stride;

        for (int i = 0; i < t->units; i++, x += sizeof(float), w += VRT_NARROW_CHANNELS) {
            const __m256 w0 = _mm256_loadu_ps(w), w1 = _mm256_loadu_ps(w + 8);
            const __m256 w2 = _mm256_loadu_ps(w + 16);

#pragma GCC unroll 8
            for (int p = 0; p < COLUMNS; p++) {
                const __m256 b = _mm256_castsi256_ps(
                    _mm256_set1_epi32(vrt_narrow_unit(x + (size_t)p * t->in_stride)));

                sums[p][0] = _mm256_fmadd_ps(b, w0, sums[p][0]);
                sums[p][1] = _mm256_fmadd_ps(b, w1, sums[p][1]);
                sums[p][2] = _mm256_fmadd_ps(b, w2, sums[p][2]);
            }
        }
    }
    for (int p = 0; p < COLUMNS; p++)
        if (p < t->n)
            vrt_narrow_finish(t, p, sums[p]);
}
