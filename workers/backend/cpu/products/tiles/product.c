/* SPDX-License-Identifier: MIT */

/*
 * Both factors are read as they lie, a step of 16 units at a time: rows of w, panels of x and what
 * they are multiplied to are filled up to whole steps with zeros (VRT_UNIT_STEP). Sums are two
 * tiles high and two wide where there are so many: each tile of a factor is then multiplied twice.
 *
 * Where numbers are split each step is three: w's second part with x's first, the first parts with
 * each other, and w's first with x's second. The order of a sum follows from K alone.
 */

#include "backend/cpu/products/tiles/tiles.h"
#include "tile.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* The registers: sums of rows and columns, the first or the second of each; and the factors. */
#define SUMS_1_1 0
#define SUMS_1_2 1
#define SUMS_2_1 2
#define SUMS_2_2 3
#define W_1 4
#define W_2 5
#define X_1 6
#define X_2 7

/* For rows of these heights; the second 0: there is one tile of rows. */
static struct vrt_tile_shapes shapes_of(const int heights[2])
{
    struct vrt_tile_shapes shapes = { .palette = 1 };

    for (int i = 0; i < VRT_TILES; i++) {
        const bool is_second = i == SUMS_2_1 || i == SUMS_2_2 || i == W_2;
        const bool is_x = i == X_1 || i == X_2;

        shapes.rows[i] = (uint8_t)(is_x ? VRT_TILE_ROWS : heights[is_second]);
        shapes.row_bytes[i] = shapes.rows[i] ? 4 * VRT_TILE_UNITS : 0;
    }
    return shapes;
}

/* Where tiles of each factor are; and, from there on, w's second ones and what is left of split
 * numbers. */
struct operands {
    const vrt_unit *w, *x;
    size_t w_row, x_step;
    size_t w_second, w_rests, x_rests;
};

/* ROWS and COLUMNS, how many tiles, are constants where these are inlined. */

static ALWAYS_INLINE void load_w(struct vrt_tiles *tiles, const vrt_unit *w,
                                 const struct operands *p, const int ROWS)
{
    (void)tiles;
    vrt_tile_load(tiles, W_1, w, p->w_row);
    if (ROWS > 1)
        vrt_tile_load(tiles, W_2, w + p->w_second, p->w_row);
}

static ALWAYS_INLINE void load_x(struct vrt_tiles *tiles, const vrt_unit *x,
                                 const struct operands *p, const int COLUMNS)
{
    (void)tiles;
    vrt_tile_load(tiles, X_1, x, p->x_step);
    if (COLUMNS > 1)
        vrt_tile_load(tiles, X_2, x + VRT_TILE_UNITS, p->x_step);
}

/* What is loaded, of 16 units. */
static ALWAYS_INLINE void add(struct vrt_tiles *tiles, const int ROWS, const int COLUMNS)
{
    (void)tiles;
    vrt_tile_multiply(tiles, SUMS_1_1, W_1, X_1);
    if (ROWS > 1)
        vrt_tile_multiply(tiles, SUMS_2_1, W_2, X_1);
    if (COLUMNS > 1)
        vrt_tile_multiply(tiles, SUMS_1_2, W_1, X_2);
    if (ROWS > 1 && COLUMNS > 1)
        vrt_tile_multiply(tiles, SUMS_2_2, W_2, X_2);
}

/* A step. Of split numbers: in this order each tile is loaded once. */
static ALWAYS_INLINE void add_step(struct vrt_tiles *tiles, const struct operands *p,
                                   const int ROWS, const int COLUMNS)
{
    if (VRT_UNIT_ROWS > 1) {
        load_w(tiles, p->w + p->w_rests, p, ROWS);
        load_x(tiles, p->x, p, COLUMNS);
        add(tiles, ROWS, COLUMNS);
        load_w(tiles, p->w, p, ROWS);
        add(tiles, ROWS, COLUMNS);
        load_x(tiles, p->x + p->x_rests, p, COLUMNS);
        add(tiles, ROWS, COLUMNS);
    } else {
        load_w(tiles, p->w, p, ROWS);
        load_x(tiles, p->x, p, COLUMNS);
        add(tiles, ROWS, COLUMNS);
    }
}

/* Sums of one or two tiles of rows of this height and of columns. */
static ALWAYS_INLINE void multiply(struct vrt_tiles *tiles, const struct vrt_product *p,
                                   int height, float *sums, size_t step, const int ROWS,
                                   const int COLUMNS)
{
    float *second = sums + (size_t)height * step;
    struct operands at = {
        .w = p->w,
        .x = p->x,
        .w_row = p->w_row,
        .x_step = p->x_step * VRT_UNIT_ROWS,
        .w_second = (size_t)height * p->w_row,
        .w_rests = p->w_row / VRT_UNIT_ROWS,
        .x_rests = p->x_step,
    };

    vrt_tile_zero(tiles, SUMS_1_1);
    if (COLUMNS > 1)
        vrt_tile_zero(tiles, SUMS_1_2);
    if (ROWS > 1)
        vrt_tile_zero(tiles, SUMS_2_1);
    if (ROWS > 1 && COLUMNS > 1)
        vrt_tile_zero(tiles, SUMS_2_2);
    for (int unit = 0; unit < p->n_units; unit += VRT_TILE_UNITS) {
        add_step(tiles, &at, ROWS, COLUMNS);
        at.w += VRT_TILE_UNITS;
        at.x += VRT_TILE_UNITS * at.x_step;
    }
    vrt_tile_store(tiles, SUMS_1_1, sums, step);
    if (COLUMNS > 1)
        vrt_tile_store(tiles, SUMS_1_2, sums + VRT_TILE_UNITS, step);
    if (ROWS > 1)
        vrt_tile_store(tiles, SUMS_2_1, second, step);
    if (ROWS > 1 && COLUMNS > 1)
        vrt_tile_store(tiles, SUMS_2_2, second + VRT_TILE_UNITS, step);
}

/* All columns of the rows [first, first + heights[0] + heights[1]). */
static void multiply_rows(struct vrt_tiles *tiles, const struct vrt_tiles_block *block, int first,
                          const int heights[2])
{
    const size_t step = block->sums_step;
    struct vrt_product p = block->product;

    p.w += (size_t)first * p.w_row;
    for (int column = 0; column < block->columns; column += 2 * VRT_TILE_UNITS) {
        const bool is_wide = block->columns - column > VRT_TILE_UNITS;
        float *sums = block->sums + (size_t)first * step + column;

        p.x = block->product.x + column;
        if (heights[1] && is_wide)
            multiply(tiles, &p, heights[0], sums, step, 2, 2);
        else if (heights[1])
            multiply(tiles, &p, heights[0], sums, step, 2, 1);
        else if (is_wide)
            multiply(tiles, &p, heights[0], sums, step, 1, 2);
        else
            multiply(tiles, &p, heights[0], sums, step, 1, 1);
    }
}

void vrt_tiles_product(const struct vrt_tiles_block *block)
{
    /* Tiles of equal height: other shapes take the time of some products. */
    const int n_tiles = (block->rows + VRT_TILE_ROWS - 1) / VRT_TILE_ROWS;
    const int height = (block->rows + n_tiles - 1) / n_tiles;
    struct vrt_tiles tiles;

    vrt_tiles_begin(&tiles, block);
    for (int first = 0; first < block->rows; first += 2 * height) {
        const int left = block->rows - first;
        const int heights[2] = {
            VRT_MIN(height, left), VRT_MIN(height, VRT_MAX(left - height, 0)),
        };

        if (!vrt_tiles_have(&tiles, heights)) {
            const struct vrt_tile_shapes shapes = shapes_of(heights);
            vrt_tiles_shape(&tiles, &shapes);
        }
        multiply_rows(&tiles, block, first, heights);
    }
}

void vrt_product_by_rows(const struct vrt_product *product, int n,
                         float sums[VRT_BLOCK_ROWS][VRT_BLOCK_TOKENS])
{
    const struct vrt_tiles_block block = {
        .product = *product,
        .rows = n,
        .columns = VRT_BLOCK_TOKENS,
        .sums = sums[0],
        .sums_step = VRT_BLOCK_TOKENS,
    };

    vrt_tiles_product(&block);
}

void vrt_product_end(void)
{
    vrt_tiles_release();
}
