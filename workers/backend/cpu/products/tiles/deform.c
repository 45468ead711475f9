/* SPDX-License-Identifier: MIT */

#include "backend/cpu/products/deform.h"
#include "backend/cpu/products/deform-product.h"
#include "backend/cpu/products/tiles/tiles.h"

/* Outputs that are made at once. */
#define COLUMNS 64

_Static_assert(COLUMNS <= VRT_CPU_DEFORM_SPARE,
               "it reads no further than a row of weights reaches");

void vrt_deform_multiply(const struct vrt_deform_product *p, int places, int n)
{
    for (int o = 0; o < n; o += COLUMNS) {
        const struct vrt_tiles_block block = {
            .product = {
                .w = p->panel,
                .w_row = p->panel_row,
                .x = p->weights + o,
                .x_step = p->row,
                .n_units = p->depth,
            },
            .rows = places,
            .columns = VRT_MIN(n - o, COLUMNS),
            .sums = p->sums + o,
            .sums_step = p->row,
        };

        vrt_tiles_product(&block);
    }
}
