/* SPDX-License-Identifier: MIT */
#pragma once

/* Units of two bf16 for tiles: what both kinds of them have in common. */

#include <stdint.h>

#include "backend/cpu/isa/vector.h"
#include "backend/cpu/products/tiles/shapes.h"

#define VRT_UNIT_ELEMENTS 2

/* Tiles read so many units of a row at once. */
#define VRT_UNIT_STEP VRT_TILE_UNITS

/* Rows of sums that are made at once: two tiles of them. */
#define VRT_BLOCK_ROWS 32

/* Places of a deform_conv2d that are multiplied at once. */
#define VRT_DEFORM_PLACES 16

typedef uint32_t vrt_unit __attribute__((may_alias));

typedef vrt_cpu_bits vrt_cpu_bits_at __attribute__((aligned(4), may_alias));

static inline void vrt_halves_store(uint32_t *dst, vrt_cpu_bits pairs)
{
    *(vrt_cpu_bits_at *)dst = pairs;
}

/* Numbers in a row, one beside the other: half as many units. */
static inline void vrt_halves_store_row(uint32_t *dst, vrt_cpu_halves row)
{
    *(vrt_cpu_halves *)(void *)dst = row;
}
