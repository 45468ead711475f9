/* SPDX-License-Identifier: MIT */

#include "backend/cpu/products/vectors/registers.h"

static inline __attribute__((always_inline)) void block(const struct vrt_product *product,
                                                        const int N, float *sums)
{
    struct vrt_product g = *product;

    for (int t = 0; t < VRT_BLOCK_TOKENS; t += VRT_TILE_TOKENS) {
        vrt_cpu_vector acc[VRT_BLOCK_ROWS][VRT_TILE_VECTORS];

        for (int i = 0; i < N; i++)
            for (int v = 0; v < VRT_TILE_VECTORS; v++)
                acc[i][v] = (vrt_cpu_vector){ 0 };
        g.x = product->x + t;
        vrt_product_tile(&g, N, g.w_row, 1, acc);
        for (int i = 0; i < N; i++) {
            vrt_cpu_vector_at *row = (vrt_cpu_vector_at *)(sums + i * VRT_BLOCK_TOKENS + t);

            for (int v = 0; v < VRT_TILE_VECTORS; v++)
                row[v] = acc[i][v];
        }
    }
}

void vrt_product_by_rows(const struct vrt_product *product, int n,
                         float sums[VRT_BLOCK_ROWS][VRT_BLOCK_TOKENS])
{
    switch (n) {
    case 1: block(product, 1, sums[0]); break;
    case 2: block(product, 2, sums[0]); break;
    case 3: block(product, 3, sums[0]); break;
    case 4: block(product, 4, sums[0]); break;
    case 5: block(product, 5, sums[0]); break;
    default: block(product, VRT_BLOCK_ROWS, sums[0]); break;
    }
}

void vrt_product_end(void)
{
}
