/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Tiles in C, for tests on processors without: see "backend/cpu/products/tiles/shapes.h"
 *
 * The same rules: what AMX would refuse ends the process, a load leaves zeros beyond the tile's
 * size, and other shapes empty all tiles.
 */

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "backend/cpu/products/tiles/shapes.h"
#include "base/error.h"

/* What a thread multiplies with. */
struct vrt_tiles {
    struct vrt_tile_shapes shapes;
    uint32_t data[VRT_TILES][VRT_TILE_ROWS][VRT_TILE_UNITS];
};

/* Sets the tiles up. */
static inline void vrt_tiles_shape(struct vrt_tiles *tiles, const struct vrt_tile_shapes *shapes)
{
    static const struct vrt_tile_shapes none;

    vrt_assert(shapes->palette == 1 && shapes->start_row == 0);
    vrt_assert(memcmp(shapes->reserved, none.reserved, sizeof(none.reserved)) == 0);
    for (int i = 0; i < 16; i++) {
        vrt_assert(shapes->rows[i] <= VRT_TILE_ROWS && shapes->row_bytes[i] <= 4 * VRT_TILE_UNITS);
        vrt_assert((shapes->rows[i] == 0) == (shapes->row_bytes[i] == 0));
        vrt_assert(i < VRT_TILES || shapes->rows[i] == 0);
    }
    tiles->shapes = *shapes;
    memset(tiles->data, 0, sizeof(tiles->data));
}

/* Whether tiles of rows are so high: the two that `heights` tells of are those of the first sums
 * and of the third. */
static inline bool vrt_tiles_have(const struct vrt_tiles *tiles, const int heights[2])
{
    return tiles->shapes.rows[0] == heights[0] && tiles->shapes.rows[2] == heights[1];
}

/* Begins a product: there are no tiles. */
static inline void vrt_tiles_begin(struct vrt_tiles *tiles, const void *memory)
{
    (void)memory;
    tiles->shapes = (struct vrt_tile_shapes){ 0 };
}

/* Ends the thread's use of tiles. */
static inline void vrt_tiles_release(void)
{
}

/* Zeros. */
static inline void vrt_tile_zero(struct vrt_tiles *tiles, int tile)
{
    vrt_assert(tiles->shapes.rows[tile] > 0);
    memset(tiles->data[tile], 0, sizeof(tiles->data[tile]));
}

/* Rows of units, `step` of them apart. */
static inline void vrt_tile_load(struct vrt_tiles *tiles, int tile, const uint32_t *from,
                                 size_t step)
{
    vrt_tile_zero(tiles, tile);
    for (size_t i = 0; i < tiles->shapes.rows[tile]; i++)
        memcpy(tiles->data[tile][i], from + i * step, tiles->shapes.row_bytes[tile]);
}

/* Likewise, of f32. */
static inline void vrt_tile_store(const struct vrt_tiles *tiles, int tile, float *to, size_t step)
{
    vrt_assert(tiles->shapes.rows[tile] > 0);
    for (size_t i = 0; i < tiles->shapes.rows[tile]; i++)
        memcpy(to + i * step, tiles->data[tile][i], tiles->shapes.row_bytes[tile]);
}

/* A denormal is a zero. */
static inline float vrt_tile_flushed(float x)
{
    return fabsf(x) < FLT_MIN ? copysignf(0, x) : x;
}

/* Number `i` of a pair. */
static inline float vrt_tile_number(uint32_t pair, int i)
{
    const uint32_t bits = i ? pair & 0xffff0000 : pair << 16;
    float number;

    memcpy(&number, &bits, sizeof(number));
    return vrt_tile_flushed(number);
}

/* c [16] += a [n] b [n][16]. The product of two bf16 is exact: fused or not, sums are the same. */
static inline void vrt_tile_add_row(float *c, const uint32_t *a,
                                    const uint32_t (*b)[VRT_TILE_UNITS], int n)
{
    float sums[2][VRT_TILE_UNITS] = { 0 };

    for (int k = 0; k < n; k++)
        for (int i = 0; i < 2; i++) {
            const float number = vrt_tile_number(a[k], i);

            for (int column = 0; column < VRT_TILE_UNITS; column++)
                sums[i][column] = vrt_tile_flushed(sums[i][column] +
                                                   number * vrt_tile_number(b[k][column], i));
        }
    for (int column = 0; column < VRT_TILE_UNITS; column++) {
        const float sum = vrt_tile_flushed(sums[0][column] + sums[1][column]);
        c[column] = vrt_tile_flushed(c[column] + sum);
    }
}

/* c += a b */
static inline void vrt_tile_multiply(struct vrt_tiles *tiles, int c, int a, int b)
{
    const struct vrt_tile_shapes *shapes = &tiles->shapes;

    vrt_assert(c != a && c != b && a != b);
    vrt_assert(shapes->rows[c] == shapes->rows[a] && shapes->rows[c] > 0);
    vrt_assert(shapes->row_bytes[c] == shapes->row_bytes[b] && shapes->row_bytes[c] > 0);
    vrt_assert(shapes->row_bytes[a] == 4 * shapes->rows[b] && shapes->rows[b] > 0);
    for (int i = 0; i < shapes->rows[c]; i++) {
        float sums[VRT_TILE_UNITS];

        memcpy(sums, tiles->data[c][i], sizeof(sums));
        vrt_tile_add_row(sums, tiles->data[a][i], (const uint32_t(*)[VRT_TILE_UNITS])tiles->data[b],
                         shapes->rows[b]);
        memcpy(tiles->data[c][i], sums, sizeof(sums));
    }
}
