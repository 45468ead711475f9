/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Products of matrices as attention and its like need them: sums of w times x
 *
 * x is a panel, [K][tokens]: tokens lie side by side, so that vectors run over them and a window of
 * any number of channels leaves no lane empty; w is read one by one and multiplied with a whole
 * vector. Both consist of units of 4 bytes ("unit.h": there is one for each type): an f32, or two
 * bf16 that follow each other along K. Where numbers are split into two bf16, each row of a panel
 * is two (VRT_UNIT_ROWS), and w's rows are units of the first and, behind them all, of the second.
 * Both are filled up with zeros to whole steps (VRT_UNIT_STEP) of units, where these are more.
 *
 * The loops are the compiler's; on the processors tried they reach what libxsmm's do, which are
 * generated for each shape (docs/benchmarks.md).
 */

#include <stdbool.h>
#include <string.h>

#include "backend/cpu/isa/vector.h"
#include "base/macro.h"
#include "unit.h"

/* Tokens of a block of sums, which has up to VRT_BLOCK_ROWS rows ("unit.h"). */
#define VRT_BLOCK_TOKENS 64

#define vrt_product_by_rows VRT_UNIT_NAME(product_by_rows)
#define vrt_product_end VRT_UNIT_NAME(product_end)

/* sums[i][t] = sum over p of w[i * w_row + p] * x[p * x_step + t], in rows of single units. */
struct vrt_product {
    const vrt_unit *w;
    size_t w_row;
    const vrt_unit *x;
    size_t x_step;
    int n_units;
};

/* A block of n rows, up to VRT_BLOCK_ROWS. */
void vrt_product_by_rows(const struct vrt_product *product, int n,
                         float sums[VRT_BLOCK_ROWS][VRT_BLOCK_TOKENS]);

/* Ends the products of a unit of work: this thread's registers are as they were before it. */
void vrt_product_end(void);

/* A block's units of the elements even[i], odd[i]; odd NULL: zeros. */
static inline void vrt_unit_put(vrt_unit *dst, size_t step, const float *even, const float *odd)
{
    for (int i = 0; i < VRT_BLOCK_TOKENS; i += VRT_CPU_VECTOR_FLOATS)
        vrt_unit_store(dst + i, step, vrt_cpu_vector_load(even + i),
                       odd ? vrt_cpu_vector_load(odd + i) : (vrt_cpu_vector){ 0 });
}

/* How many rows at a time n rows are best done: tiles of equal height, none nearly empty. */
static inline int vrt_block_rows(int n)
{
    const int blocks = (n + VRT_BLOCK_ROWS - 1) / VRT_BLOCK_ROWS;

    return (n + blocks - 1) / blocks;
}

/* Units that hold n elements, in whole steps. */
static inline int vrt_unit_count(int n)
{
    const int step = VRT_UNIT_STEP * VRT_UNIT_ELEMENTS;

    return (n + step - 1) / step * VRT_UNIT_STEP;
}

/* Rows of a panel of n elements, in whole steps. */
static inline size_t vrt_panel_rows(int n)
{
    return (size_t)(vrt_unit_count(n) * VRT_UNIT_ROWS);
}

/* Empties a block's rows of a panel behind those of n elements. */
static inline void vrt_panel_fill_up(vrt_unit *panel, size_t ld, int n)
{
    const int n_units = (n + VRT_UNIT_ELEMENTS - 1) / VRT_UNIT_ELEMENTS;

    for (size_t row = (size_t)(n_units * VRT_UNIT_ROWS); row < vrt_panel_rows(n); row++)
        memset(panel + row * ld, 0, VRT_BLOCK_TOKENS * sizeof(*panel));
}

/* The row of a panel that element i begins, and how many units a row of i elements of w takes. i is
 * a multiple of what a unit holds. */
static inline size_t vrt_panel_row_at(int i)
{
    return (size_t)(i / VRT_UNIT_ELEMENTS * VRT_UNIT_ROWS);
}

/* n tokens rounded up to whole blocks. */
static inline int vrt_block_ceil(int n)
{
    return (n + VRT_BLOCK_TOKENS - 1) / VRT_BLOCK_TOKENS * VRT_BLOCK_TOKENS;
}
