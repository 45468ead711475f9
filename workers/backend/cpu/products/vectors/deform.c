/* SPDX-License-Identifier: MIT */

#include "backend/cpu/products/deform.h"
#include "backend/cpu/products/deform-product.h"

/* What is multiplied at once: sums of VRT_DEFORM_PLACES places, in so many vectors, stay in
 * registers. */
#define TILE_VECTORS 3

#define ALWAYS_INLINE inline __attribute__((always_inline))

_Static_assert(TILE_VECTORS * VRT_CPU_VECTOR_FLOATS <= VRT_CPU_DEFORM_SPARE,
               "a tile reads no further than a row of weights reaches");

/* VRT_DEFORM_PLACES places from `place` on, n vectors from output `o` on: n is a constant where
 * this is inlined. */
static ALWAYS_INLINE void multiply_tile(const struct vrt_deform_product *p, int place, int o,
                                        const int n)
{
    const vrt_unit *a = p->panel + (size_t)place * p->panel_row, *b = p->weights + o;
    vrt_cpu_vector sums[VRT_DEFORM_PLACES][TILE_VECTORS] = { 0 };

    for (int k = 0; k < p->depth; k++, b += p->row) {
        vrt_unit_vec w[TILE_VECTORS];

#pragma GCC unroll 4
        for (int v = 0; v < n; v++)
            w[v] = vrt_unit_load(b + v * VRT_CPU_VECTOR_FLOATS);
#pragma GCC unroll 8
        for (int i = 0; i < VRT_DEFORM_PLACES; i++)
#pragma GCC unroll 4
            for (int v = 0; v < n; v++)
                sums[i][v] = vrt_unit_multiply_add(
                    sums[i][v], a[(size_t)i * p->panel_row + (size_t)k], w[v]);
    }
#pragma GCC unroll 8
    for (int i = 0; i < VRT_DEFORM_PLACES; i++)
#pragma GCC unroll 4
        for (int v = 0; v < n; v++)
            *(vrt_cpu_vector_at *)(p->sums + (size_t)(place + i) * p->row + o +
                                   v * VRT_CPU_VECTOR_FLOATS) = sums[i][v];
}

void vrt_deform_multiply(const struct vrt_deform_product *p, int places, int n)
{
    const int step = TILE_VECTORS * VRT_CPU_VECTOR_FLOATS;

    for (int o = 0; o < n; o += step) {
        const int vectors = (n - o + VRT_CPU_VECTOR_FLOATS - 1) / VRT_CPU_VECTOR_FLOATS;

        for (int place = 0; place < places; place += VRT_DEFORM_PLACES) {
            if (vectors >= TILE_VECTORS)
                multiply_tile(p, place, o, TILE_VECTORS);
            else if (vectors == 2)
                multiply_tile(p, place, o, 2);
            else
                multiply_tile(p, place, o, 1);
        }
    }
}
