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
#include <stdbool.h>
#include <stddef.h>

#include "backend/cpu/products/tiles/shapes.h"

/* What a thread multiplies with; nothing, for it has registers. */
struct vrt_tiles {
    char none;
};

#define VRT_TILE_FENCE(memory) __asm__ volatile("" : : "r"(memory) : "memory")

/* How high the thread's tiles of rows are set up to be; zeros: they aren't. */
extern _Thread_local int vrt_cpu_amx_heights[2];

/* Whether they are so high. To read that of the processor takes the time of some products. */
static inline bool vrt_tiles_have(const struct vrt_tiles *tiles, const int heights[2])
{
    (void)tiles;
    return vrt_cpu_amx_heights[0] == heights[0] && vrt_cpu_amx_heights[1] == heights[1];
}

/* Sets the thread's tiles up. */
static inline void vrt_tiles_shape(struct vrt_tiles *tiles, const struct vrt_tile_shapes *shapes)
{
    (void)tiles;
    VRT_TILE_FENCE(shapes);
    _tile_loadconfig(shapes);
    vrt_cpu_amx_heights[0] = shapes->rows[0];
    vrt_cpu_amx_heights[1] = shapes->rows[2];
}

/* Ends the thread's use of tiles: the system needn't keep them for it. */
static inline void vrt_tiles_release(void)
{
    _tile_release();
    vrt_cpu_amx_heights[0] = 0;
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
#define vrt_tiles_begin(tiles, memory) VRT_TILE_FENCE(memory)
