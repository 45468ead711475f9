/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Products of matrices as attention and its like need them: sums of w times x
 *
 * x is a panel, [K][tokens]: tokens lie side by side, so that vectors run over them and a window of
 * any number of channels leaves no lane empty; w is read one by one and multiplied with a whole
 * vector. Both consist of units of 4 bytes ("unit.h": there is one for each type): an f32, or two
 * bf16 that follow each other along K.
 *
 * The loops are the compiler's; on the processors tried they reach what libxsmm's do, which are
 * generated for each shape (docs/benchmarks.md).
 */

#include <stdbool.h>

#include "base/macro.h"
#include "unit.h"

/* Tokens and rows of a block of sums. */
#define VRT_BLOCK_TOKENS 64
#define VRT_BLOCK_ROWS 6

/* How many vectors, side by side, fill the registers with sums of VRT_BLOCK_ROWS rows. */
#define VRT_TILE_VECTORS (VRT_CPU_VECTOR_FLOATS == 16 ? 4 : 2)
#define VRT_TILE_TOKENS (VRT_TILE_VECTORS * VRT_CPU_VECTOR_FLOATS)

#define vrt_product_by_rows VRT_UNIT_NAME(product_by_rows)

/* sums[i][t] = sum over p of w[i * w_row + p * w_step] * x[p * x_step + t]. */
struct vrt_product {
    const vrt_unit *w;
    size_t w_row, w_step;
    const vrt_unit *x;
    size_t x_step;
    int n_units;
};

/* A block of n rows, w_step being 1: as weights lie, row after row. */
void vrt_product_by_rows(const struct vrt_product *product, int n,
                         float sums[VRT_BLOCK_ROWS][VRT_BLOCK_TOKENS]);

/* A tile of sums, as many tokens wide as the registers hold: they stay in these where N and the
 * stride that is 1 are constants, and this is inlined. */
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

/* How many rows at a time n rows are best done: tiles of equal height, none nearly empty. */
static inline int vrt_block_rows(int n)
{
    const int blocks = (n + VRT_BLOCK_ROWS - 1) / VRT_BLOCK_ROWS;

    return (n + blocks - 1) / blocks;
}

/* Units that hold n elements. */
static inline int vrt_unit_count(int n)
{
    return (n + VRT_UNIT_ELEMENTS - 1) / VRT_UNIT_ELEMENTS;
}

/* n tokens rounded up to whole blocks. */
static inline int vrt_block_ceil(int n)
{
    return (n + VRT_BLOCK_TOKENS - 1) / VRT_BLOCK_TOKENS * VRT_BLOCK_TOKENS;
}
