/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Tiles as AMX has them: see "backend/cpu/products/tiles/shapes.h"
 *
 * The registers are the thread's, and their numbers part of the instructions: constants without
 * parentheses. Where gcc makes them of assembler it isn't told which memory they read; fences say
 * that what was written before has to be there.
 */

#include <immintrin.h>
#include <stddef.h>
#include <string.h>

#include "backend/cpu/products/tiles/shapes.h"

/* What a thread multiplies with; nothing, for it has registers. */
struct vrt_tiles {
    char none;
};

#define VRT_TILE_FENCE(memory) __asm__ volatile("" : : "r"(memory) : "memory")

/* Sets the thread's tiles up, which takes the time of some products: not if they are so already. */
static inline void vrt_tiles_shape(struct vrt_tiles *tiles, const struct vrt_tile_shapes *shapes)
{
    struct vrt_tile_shapes now = { 0 };

    (void)tiles;
    VRT_TILE_FENCE(&now);
    _tile_storeconfig(&now);
    VRT_TILE_FENCE(&now);
    if (memcmp(&now, shapes, sizeof(now)) == 0)
        return;
    VRT_TILE_FENCE(shapes);
    _tile_loadconfig(shapes);
}

/* Ends the thread's use of tiles: the system needn't keep them for it. */
static inline void vrt_tiles_release(void)
{
    _tile_release();
}

/* Zeros. */
#define vrt_tile_zero(tiles, tile) _tile_zero(tile)

/* Rows of units, `step` of them apart. */
#define vrt_tile_load(tiles, tile, from, step) _tile_loadd(tile, from, (step) * sizeof(uint32_t))

/* Likewise, of f32. */
#define vrt_tile_store(tiles, tile, to, step) _tile_stored(tile, to, (step) * sizeof(float))

/* c += a b */
#define vrt_tile_multiply(tiles, c, a, b) _tile_dpbf16ps(c, a, b)

/* Memory that was written is there for the loads that follow. */
#define vrt_tiles_begin(memory) VRT_TILE_FENCE(memory)
