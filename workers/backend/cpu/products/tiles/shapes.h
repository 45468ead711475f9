/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Tiles: the registers of a unit that multiplies matrices
 *
 * A tile is up to 16 rows of up to 16 units of 4 bytes. c [m][n] += a [m][k] b [k][n] is one step:
 * a's rows are units of pairs along K, b's columns are, and c is f32: so a panel is such a b, and
 * rows of weights are such an a, both as they lie in memory. What computes it is "tile.h", of which
 * there are two: AMX's instructions, and a stand-in in C.
 *
 * The sum of a step is rounded thus: the products of the first numbers of the pairs are added up in
 * their order from zero, those of the second numbers likewise; both sums are added, and what that
 * makes to c. Each addition is rounded to nearest, ties to even; denormals are zeros.
 */

#include <stdint.h>

#define VRT_TILE_ROWS 16
#define VRT_TILE_UNITS 16
#define VRT_TILES 8

/* Which tiles there are, of which size, as LDTILECFG reads it. */
struct vrt_tile_shapes {
    uint8_t palette;                /* 1: those of this page */
    uint8_t start_row, reserved[14];
    uint16_t row_bytes[16];         /* 0, and 0 rows: no tile */
    uint8_t rows[16];
};

_Static_assert(sizeof(struct vrt_tile_shapes) == 64, "what LDTILECFG reads");
