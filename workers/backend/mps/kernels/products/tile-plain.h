/* SPDX-License-Identifier: MIT */
#pragma once

/* Products by each item for itself, for GPUs without simdgroup_matrix: an item sums up what
 * take_sums() gives it, four columns of eight rows. */

struct sums {
    float4 rows[8];
};

static inline void clear_sums(PRIVATE struct sums *sums)
{
#pragma unroll
    for (int i = 0; i < 8; i++)
        sums->rows[i] = float4(0.0f);
}

/* Factor k of four columns. */
static inline float4 weights_at(const LOCAL FACTOR *weights, int k)
{
    return float4(*(const LOCAL FACTORS *)(weights + k * PRODUCT_WEIGHTS_ROW));
}

/* Adds a slab's products to the sums. A slab is added up on its own: what is added to a long sum is
 * rounded as that is. */
static inline void multiply_slab(const LOCAL FACTOR *slab, int item, PRIVATE struct sums *sums)
{
    const LOCAL FACTOR *weights = slab + PRODUCT_X + product_own_column(item);
    struct sums part;

    clear_sums(&part);
    for (int k = 0; k < PRODUCT_DEPTH; k += 4) {
        const float4 w0 = weights_at(weights, k), w1 = weights_at(weights, k + 1),
                     w2 = weights_at(weights, k + 2), w3 = weights_at(weights, k + 3);
#pragma unroll
        for (int i = 0; i < 8; i++) {
            const float4 x = float4(*(const LOCAL FACTORS *)(
                slab + product_sum_row(item, i) * PRODUCT_X_ROW + k));
            const float4 two = fma(float4(x.y), w1, fma(float4(x.x), w0, part.rows[i]));
            part.rows[i] = fma(float4(x.w), w3, fma(float4(x.z), w2, two));
        }
    }
#pragma unroll
    for (int i = 0; i < 8; i++)
        sums->rows[i] += part.rows[i];
}

/* For i = 0 .. 7: the item's columns of row product_sum_row(item, i). */
static inline float4 take_sums(LOCAL float4 *memory, int item, PRIVATE struct sums *sums, int i)
{
    return sums->rows[i];
}
