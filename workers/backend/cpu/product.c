/* SPDX-License-Identifier: MIT */

#include "backend/cpu/product.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* A tile of as many tokens as the registers hold sums of. N and the strides that are 1 are
 * constants where this is inlined, so that sums stay in registers. */
static ALWAYS_INLINE void tile(const struct vrt_product *g, const int N, size_t w_row,
                               size_t w_step, float *sums)
{
    vrt_cpu_vector acc[VRT_BLOCK_ROWS][VRT_TILE_VECTORS];
    /* Two pointers, of which the rows are 0 to 2 strides away: that is an addressing mode. */
    const vrt_unit *low = g->w, *high = g->w + 3 * w_row, *x = g->x;

    for (int i = 0; i < N; i++)
        for (int v = 0; v < VRT_TILE_VECTORS; v++)
            acc[i][v] = (vrt_cpu_vector){ 0 };
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
    for (int i = 0; i < N; i++) {
        vrt_cpu_vector_at *row = (vrt_cpu_vector_at *)(sums + i * VRT_BLOCK_TOKENS);

        for (int v = 0; v < VRT_TILE_VECTORS; v++)
            row[v] = acc[i][v];
    }
}

static ALWAYS_INLINE void block(const struct vrt_product *product, const int N, bool by_rows,
                                float *sums)
{
    struct vrt_product g = *product;

    for (int t = 0; t < VRT_BLOCK_TOKENS; t += VRT_TILE_VECTORS * VRT_CPU_VECTOR_FLOATS) {
        g.x = product->x + t;
        tile(&g, N, by_rows ? g.w_row : 1, by_rows ? 1 : g.w_step, sums + t);
    }
}

static ALWAYS_INLINE void any_rows(const struct vrt_product *product, int n, bool by_rows,
                                   float *sums)
{
    switch (n) {
    case 1: block(product, 1, by_rows, sums); break;
    case 2: block(product, 2, by_rows, sums); break;
    case 3: block(product, 3, by_rows, sums); break;
    case 4: block(product, 4, by_rows, sums); break;
    case 5: block(product, 5, by_rows, sums); break;
    default: block(product, VRT_BLOCK_ROWS, by_rows, sums); break;
    }
}

void vrt_product_by_rows(const struct vrt_product *product, int n,
                         float sums[VRT_BLOCK_ROWS][VRT_BLOCK_TOKENS])
{
    any_rows(product, n, true, sums[0]);
}

void vrt_product_by_tokens(const struct vrt_product *product, int n,
                           float sums[VRT_BLOCK_ROWS][VRT_BLOCK_TOKENS])
{
    any_rows(product, n, false, sums[0]);
}
