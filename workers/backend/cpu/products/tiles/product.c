/* SPDX-License-Identifier: MIT */

/*
 * Both factors are read as they lie. Where numbers are split each step is three: the first parts
 * with each other, w's first with x's second, and w's second with x's first.
 *
 * What K leaves beyond whole steps is a step by tiles of its own, that much less deep: nothing is
 * read behind a row, and nothing needs to be filled up. The order of a sum follows from K alone.
 */

#include "backend/cpu/products/tiles/tiles.h"
#include "tile.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* The registers: 0 to 3 are sums, side by side; a tile of each factor; and of the last step. */
#define W 4
#define X 5
#define LAST_W 6
#define LAST_X 7

/* Sums of so many rows, of a depth in units. */
static struct vrt_tile_shapes shapes_of(int rows, int depth)
{
    const int last = depth % VRT_TILE_UNITS;
    struct vrt_tile_shapes shapes = { .palette = 1 };

    for (int i = 0; i <= W; i++) {
        shapes.rows[i] = (uint8_t)rows;
        shapes.row_bytes[i] = 4 * VRT_TILE_UNITS;
    }
    shapes.rows[X] = VRT_TILE_ROWS;
    shapes.row_bytes[X] = 4 * VRT_TILE_UNITS;
    if (last == 0)
        return shapes;
    shapes.rows[LAST_W] = (uint8_t)rows;
    shapes.row_bytes[LAST_W] = (uint16_t)(4 * last);
    shapes.rows[LAST_X] = (uint8_t)last;
    shapes.row_bytes[LAST_X] = 4 * VRT_TILE_UNITS;
    return shapes;
}

/* Where a tile of each factor is. */
struct operands {
    const vrt_unit *w, *x;
    size_t w_row, x_step;
};

/* w times x, of 16 units. N, how many tiles of columns, is a constant where this is inlined. */
static ALWAYS_INLINE void add(struct vrt_tiles *tiles, const struct operands *p, const int N)
{
    (void)tiles;
    vrt_tile_load(tiles, W, p->w, p->w_row);
    vrt_tile_load(tiles, X, p->x, p->x_step);
    vrt_tile_multiply(tiles, 0, W, X);
    if (N > 1) {
        vrt_tile_load(tiles, X, p->x + VRT_TILE_UNITS, p->x_step);
        vrt_tile_multiply(tiles, 1, W, X);
    }
    if (N > 2) {
        vrt_tile_load(tiles, X, p->x + 2 * VRT_TILE_UNITS, p->x_step);
        vrt_tile_multiply(tiles, 2, W, X);
    }
    if (N > 3) {
        vrt_tile_load(tiles, X, p->x + 3 * VRT_TILE_UNITS, p->x_step);
        vrt_tile_multiply(tiles, 3, W, X);
    }
}

/* Likewise, of fewer units. */
static ALWAYS_INLINE void add_last(struct vrt_tiles *tiles, const struct operands *p, const int N)
{
    (void)tiles;
    vrt_tile_load(tiles, LAST_W, p->w, p->w_row);
    vrt_tile_load(tiles, LAST_X, p->x, p->x_step);
    vrt_tile_multiply(tiles, 0, LAST_W, LAST_X);
    if (N > 1) {
        vrt_tile_load(tiles, LAST_X, p->x + VRT_TILE_UNITS, p->x_step);
        vrt_tile_multiply(tiles, 1, LAST_W, LAST_X);
    }
    if (N > 2) {
        vrt_tile_load(tiles, LAST_X, p->x + 2 * VRT_TILE_UNITS, p->x_step);
        vrt_tile_multiply(tiles, 2, LAST_W, LAST_X);
    }
    if (N > 3) {
        vrt_tile_load(tiles, LAST_X, p->x + 3 * VRT_TILE_UNITS, p->x_step);
        vrt_tile_multiply(tiles, 3, LAST_W, LAST_X);
    }
}

/* Empties N tiles of sums. */
static ALWAYS_INLINE void clear(struct vrt_tiles *tiles, const int N)
{
    (void)tiles;
    vrt_tile_zero(tiles, 0);
    if (N > 1)
        vrt_tile_zero(tiles, 1);
    if (N > 2)
        vrt_tile_zero(tiles, 2);
    if (N > 3)
        vrt_tile_zero(tiles, 3);
}

static ALWAYS_INLINE void store(const struct vrt_tiles *tiles, float *sums, size_t step,
                                const int N)
{
    (void)tiles;
    vrt_tile_store(tiles, 0, sums, step);
    if (N > 1)
        vrt_tile_store(tiles, 1, sums + VRT_TILE_UNITS, step);
    if (N > 2)
        vrt_tile_store(tiles, 2, sums + 2 * VRT_TILE_UNITS, step);
    if (N > 3)
        vrt_tile_store(tiles, 3, sums + 3 * VRT_TILE_UNITS, step);
}

/* A step from unit `unit` on. */
static ALWAYS_INLINE void add_step(struct vrt_tiles *tiles, const struct vrt_product *p, int unit,
                                   const int N)
{
    const size_t x_second = p->x_step * (VRT_UNIT_ROWS - 1);
    const size_t w_second = p->w_row / VRT_UNIT_ROWS * (VRT_UNIT_ROWS - 1);
    const vrt_unit *w = p->w + unit;
    const vrt_unit *x = p->x + (size_t)(unit * VRT_UNIT_ROWS) * p->x_step;
    const struct operands parts[] = {
        { w, x, p->w_row, p->x_step * VRT_UNIT_ROWS },
        { w, x + x_second, p->w_row, p->x_step * VRT_UNIT_ROWS },
        { w + w_second, x, p->w_row, p->x_step * VRT_UNIT_ROWS },
    };

    for (int i = 0; i < (VRT_UNIT_ROWS == 1 ? 1 : 3); i++) {
        if (p->n_units - unit >= VRT_TILE_UNITS)
            add(tiles, &parts[i], N);
        else
            add_last(tiles, &parts[i], N);
    }
}

/* As many rows as the tiles have, N tiles of columns. */
static ALWAYS_INLINE void multiply(struct vrt_tiles *tiles, const struct vrt_product *p,
                                   float *sums, size_t step, const int N)
{
    clear(tiles, N);
    for (int unit = 0; unit < p->n_units; unit += VRT_TILE_UNITS)
        add_step(tiles, p, unit, N);
    store(tiles, sums, step, N);
}

static void multiply_some(struct vrt_tiles *tiles, const struct vrt_tiles_block *block, int first)
{
    struct vrt_product p = block->product;
    float *sums = block->sums + (size_t)first * block->sums_step;

    p.w += (size_t)first * p.w_row;
    switch ((block->columns + VRT_TILE_UNITS - 1) / VRT_TILE_UNITS) {
    case 1: multiply(tiles, &p, sums, block->sums_step, 1); break;
    case 2: multiply(tiles, &p, sums, block->sums_step, 2); break;
    case 3: multiply(tiles, &p, sums, block->sums_step, 3); break;
    default: multiply(tiles, &p, sums, block->sums_step, 4); break;
    }
}

void vrt_tiles_product(const struct vrt_tiles_block *block)
{
    /* Tiles of equal height: other shapes take the time of some products. */
    const int n_tiles = (block->rows + VRT_TILE_ROWS - 1) / VRT_TILE_ROWS;
    const int height = (block->rows + n_tiles - 1) / n_tiles;
    struct vrt_tiles tiles;

    vrt_tiles_begin(block);
    for (int first = 0; first < block->rows; first += height) {
        const int rows = VRT_MIN(height, block->rows - first);
        const struct vrt_tile_shapes shapes = shapes_of(rows, block->product.n_units);

        if (first == 0 || rows < height)
            vrt_tiles_shape(&tiles, &shapes);
        multiply_some(&tiles, block, first);
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
