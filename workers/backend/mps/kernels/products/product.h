/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A tile of the product of a matrix and weights: rows are places, columns outputs
 *
 * A group of PRODUCT_ITEMS items multiplies PRODUCT_ROWS rows by PRODUCT_COLUMNS columns, a slab of
 * PRODUCT_DEPTH factors of each at a time. Each 32 items of it, a simdgroup where Metal knows such,
 * sum up 32 rows by 32 columns in registers. Factors and weights come through threadgroup memory,
 * which has room for two slabs: while one is multiplied, the next is on its way to registers, and
 * is put beside it then. Rows there are some bytes apart, so that items meet in few banks.
 *
 * The build defines
 *
 *     FACTOR                       what is multiplied: float, half or bfloat; the weights' type
 *     FACTOR_DTYPE                 the same as an enum vrt_dtype
 *     MATRIX                       whether the GPU has simdgroup_matrix
 *
 * who includes this PRODUCT_WIDE, how many simdgroups stand side by side, on the same rows, and
 * what these rows are. An item fetches four factors a slab for PRODUCT_OWN of them, row
 * product_own_row(item, i) of the tile for each i:
 *
 *     struct source                what they are made from
 *     turn(source, tap)            the next are those of this tap: 0, 1, ...
 *     fetch(source, c, x)          channels c .. c + 3 of each row, 0 where there is none
 *
 * The order of a sum depends on nothing but the number of factors.
 *
 * What must stay in registers is in arrays that unrolled loops go over.
 */

#include "backend/kernels/args.h"
#include "backend/mps/kernels/factors.h"
#include "backend/mps/kernels/products/runs.h"

#define PRODUCT_ITEMS 128
#define PRODUCT_ROWS VRT_KERNEL_PRODUCT_ROWS(PRODUCT_WIDE)
#define PRODUCT_COLUMNS VRT_KERNEL_PRODUCT_COLUMNS(PRODUCT_WIDE)
#define PRODUCT_DEPTH VRT_KERNEL_PRODUCT_DEPTH
#define PRODUCT_OWN (PRODUCT_ROWS / 32)

/* Elements from row to row: x is [PRODUCT_ROWS][PRODUCT_DEPTH], weights are
 * [PRODUCT_DEPTH][PRODUCT_COLUMNS], sums on their way out [8][32] of each simdgroup. */
#define PRODUCT_APART (16 / (int)sizeof(FACTOR))
#define PRODUCT_X_ROW (PRODUCT_DEPTH + PRODUCT_APART)
#define PRODUCT_WEIGHTS_ROW (PRODUCT_COLUMNS + PRODUCT_APART)
#define PRODUCT_SUMS_ROW (32 + 4)

#define PRODUCT_X (PRODUCT_ROWS * PRODUCT_X_ROW)
#define PRODUCT_SLAB (PRODUCT_X + PRODUCT_DEPTH * PRODUCT_WEIGHTS_ROW)

/* Threadgroup memory, which a kernel declares: for two slabs, and for the sums once they are done
 * with, which takes less. */
#define PRODUCT_MEMORY LOCAL float4 memory[2 * PRODUCT_SLAB * sizeof(FACTOR) / sizeof(float4)]

/* The first row and the first column that an item's simdgroup sums up, among those of the tile. */
static inline int product_row(int item)
{
    return item / 32 / PRODUCT_WIDE * 32;
}

static inline int product_column(int item)
{
    return item / 32 % PRODUCT_WIDE * 32;
}

/* Once summed up, an item has four columns, from product_own_column() on, of each row
 * product_sum_row(item, i) of the tile, i = 0 .. 7. */
static inline int product_own_column(int item)
{
    return product_column(item) + item % 8 * 4;
}

static inline int product_sum_row(int item, int i)
{
    return product_row(item) + 4 * i + item % 32 / 8;
}

#if MATRIX
#include "backend/mps/kernels/products/tile-matrix.h"
#else
#include "backend/mps/kernels/products/tile-plain.h"
#endif

struct source;

static inline void turn(PRIVATE struct source *source, int tap);
static inline void fetch(PRIVATE struct source *source, int c, PRIVATE FACTORS *x);

static inline int product_own_row(int item, int i)
{
    return 32 * i + item / 4;
}

/* x as factors, rounded to nearest. */
static inline FACTORS as_factors(float4 x)
{
    return FACTORS((FACTOR)rounded(x.x, FACTOR_DTYPE), (FACTOR)rounded(x.y, FACTOR_DTYPE),
                   (FACTOR)rounded(x.z, FACTOR_DTYPE), (FACTOR)rounded(x.w, FACTOR_DTYPE));
}

/* Elements at .. at + 3 of what has the factors' type. */
static inline FACTORS load_factors(const GLOBAL char *data, long at)
{
    return FACTORS(*(const GLOBAL PACKED_FACTORS *)(data + (long)sizeof(FACTOR) * at));
}

/* The first channel of slab q of a tap: the last slab has the last channels, in part again, with
 * weights of 0. */
static inline int channel_of(int q, int n_channels)
{
    return min(q * PRODUCT_DEPTH, max(n_channels - PRODUCT_DEPTH, 0));
}

/* A slab has n columns of weights, of which the tile's begin with `column`; an item fetches
 * PRODUCT_WIDE runs of four. In 16 bits these are factors of one column, in f32 columns of one
 * factor. Columns that there are no weights of get others', for nobody. */
static inline FACTORS fetch_weights(const GLOBAL char *slab, int n, int column, int run)
{
    if (sizeof(FACTOR) == 2)
        return load_factors(slab, min(column + run / 4, n - 1) * PRODUCT_DEPTH + run % 4 * 4);
    const int first = column + run % (PRODUCT_COLUMNS / 4) * 4;
    const int at = run / (PRODUCT_COLUMNS / 4) * n;
    if (first + 4 <= n)
        return load_factors(slab, at + first);
    const GLOBAL FACTOR *row = (const GLOBAL FACTOR *)slab + at;
    return FACTORS(row[min(first, n - 1)], row[min(first + 1, n - 1)], row[min(first + 2, n - 1)],
                   row[n - 1]);
}

static inline void put_weights(LOCAL FACTOR *weights, int run, FACTORS x)
{
    if (sizeof(FACTOR) == 2) {
        LOCAL FACTOR *to = weights + run % 4 * 4 * PRODUCT_WEIGHTS_ROW + run / 4;
        to[0] = x.x;
        to[PRODUCT_WEIGHTS_ROW] = x.y;
        to[2 * PRODUCT_WEIGHTS_ROW] = x.z;
        to[3 * PRODUCT_WEIGHTS_ROW] = x.w;
    } else {
        *(LOCAL FACTORS *)(weights + run / (PRODUCT_COLUMNS / 4) * PRODUCT_WEIGHTS_ROW +
                           run % (PRODUCT_COLUMNS / 4) * 4) = x;
    }
}

static inline void put_slab(LOCAL FACTOR *slab, int item, const PRIVATE FACTORS *x,
                            const PRIVATE FACTORS *weights)
{
#pragma unroll
    for (int i = 0; i < PRODUCT_OWN; i++)
        *(LOCAL FACTORS *)(slab + product_own_row(item, i) * PRODUCT_X_ROW + item % 4 * 4) = x[i];
#pragma unroll
    for (int i = 0; i < PRODUCT_WIDE; i++)
        put_weights(slab + PRODUCT_X, PRODUCT_ITEMS * i + item, weights[i]);
}

/* What the group multiplies: by which weights, and the first of its columns. */
struct product {
    const ARG struct vrt_kernel_weights *layout;
    const GLOBAL char *weights;
    int column;
};

/* All items of a group come here; then each has the sums, and `memory` is free. */
static inline void multiply(PRIVATE struct source *source, const PRIVATE struct product *product,
                            LOCAL float4 *memory, int item, PRIVATE struct sums *sums)
{
    const int inner = product->layout->inner, n = product->layout->row_elements;
    const int per_tap = (inner + PRODUCT_DEPTH - 1) / PRODUCT_DEPTH;
    const int n_slabs = product->layout->taps * per_tap;
    const int slab_bytes = n * PRODUCT_DEPTH * (int)sizeof(FACTOR);
    const GLOBAL char *next = product->weights;
    LOCAL FACTOR *slabs = (LOCAL FACTOR *)memory;
    FACTORS x[PRODUCT_OWN], weights[PRODUCT_WIDE];
    int tap = 0, q = 0;

    clear_sums(sums);
    /* The first time there is nothing to multiply yet, the last time nothing to fetch. */
    for (int s = -1; s < n_slabs; s++) {
        const bool has_next = s + 1 < n_slabs;
        if (has_next && q == 0)
            turn(source, tap);
        if (has_next) {
            fetch(source, channel_of(q, inner) + item % 4 * 4, x);
#pragma unroll
            for (int i = 0; i < PRODUCT_WIDE; i++)
                weights[i] = fetch_weights(next, n, product->column, PRODUCT_ITEMS * i + item);
        }
        if (s >= 0)
            multiply_slab(slabs + (s & 1) * PRODUCT_SLAB, item, sums);
        if (has_next)
            put_slab(slabs + (~s & 1) * PRODUCT_SLAB, item, x, weights);
        BARRIER();
        next += slab_bytes;
        q = q + 1 == per_tap ? 0 : q + 1;
        tap += q == 0;
    }
}

/* Place number `row` of a view, its places counted row-major; the last one beyond these. */
static inline void place_of_row(const ARG struct vrt_kernel_view *v, int row,
                                PRIVATE struct place *ret_place)
{
    const int n = v->d * v->h * v->w, at = min(row, n - 1);

    ret_place->w = at % v->w;
    ret_place->h = at / v->w % v->h;
    ret_place->d = at / v->w / v->h;
    ret_place->c = 0;
    ret_place->exists = row < n;
}
