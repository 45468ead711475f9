/* SPDX-License-Identifier: MIT */
#pragma once

/* The product of a deform_conv2d: a panel of places with weights as "deform.h" says. */

#include "backend/cpu/products/product.h"

#define vrt_deform_multiply VRT_UNIT_NAME(deform_multiply)

/* One product: sums [places, row] = panel [places, depth] * weights [depth, row]. */
struct vrt_deform_product {
    const vrt_unit *panel, *weights;
    float *sums;
    size_t panel_row, row;
    int depth;
};

/* The first n sums of so many places; and maybe others of no meaning: of as many outputs more as
 * VRT_CPU_DEFORM_SPARE says, of the places that make a multiple of VRT_DEFORM_PLACES ("unit.h"). */
void vrt_deform_multiply(const struct vrt_deform_product *p, int places, int n);
