/* SPDX-License-Identifier: MIT */
#pragma once

/* Products in registers: as many sums as these hold, each in a lane of a vector. */

#include "backend/cpu/products/product.h"

/* How many vectors, side by side, fill the registers with sums of VRT_BLOCK_ROWS rows. */
#define VRT_TILE_VECTORS (VRT_CPU_VECTOR_FLOATS == 16 ? 4 : 2)
#define VRT_TILE_TOKENS (VRT_TILE_VECTORS * VRT_CPU_VECTOR_FLOATS)

/* A tile of sums, as many tokens wide as the registers hold: they stay in these where N and the
 * stride that is 1 are constants, and this is inlined. w_row: from a row of w to the next one, in
 * place of the product's; w_step: from a unit to the next one. */
static inline __attribute__((always_inline)) void vrt_product_tile(
    const struct vrt_product *g, const int N, size_t w_row, size_t w_step,
    vrt_cpu_vector acc[VRT_BLOCK_ROWS][VRT_TILE_VECTORS])
{
    /* Two pointers, of which the rows are 0 to 2 strides away: that is an addressing mode. */
    const vrt_unit *low = g->w, *high = g->w + 3 * w_row, *x = g->x;

    for (int p = 0; p < g->n_units; p++) {
        vrt_unit_vec columns[VRT_TILE_VECTORS];

        for (int v = 0; v < VRT_TILE_VECTORS; v++)
            columns[v] = vrt_unit_load(x + VRT_CPU_VECTOR_FLOATS * v);
#pragma GCC unroll 6
        for (int i = 0; i < N; i++) {
            const vrt_unit w = i < 3 ? low[(size_t)i * w_row] : high[(size_t)(i - 3) * w_row];

            for (int v = 0; v < VRT_TILE_VECTORS; v++)
                acc[i][v] = vrt_unit_multiply_add(acc[i][v], w, columns[v]);
        }
        x += g->x_step;
        low += w_step;
        high += w_step;
    }
}
