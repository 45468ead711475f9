/* SPDX-License-Identifier: MIT */
#pragma once

/* Products by tiles: blocks of 16 rows and 64 columns of sums, in four registers. */

#include "backend/cpu/products/product.h"

#define vrt_tiles_product VRT_UNIT_NAME(tiles_product)

/* Sums [rows][sums_step] of the product, in so many columns, 1 to 64, rounded up to whole tiles: so
 * many are read of x as well. */
struct vrt_tiles_block {
    struct vrt_product product;
    int rows, columns;
    float *sums;
    size_t sums_step;
};

void vrt_tiles_product(const struct vrt_tiles_block *block);
