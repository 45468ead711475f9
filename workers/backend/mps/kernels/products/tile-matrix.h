/* SPDX-License-Identifier: MIT */
#pragma once

/* Products by simdgroup_matrix, of GPUs from Apple7 on: a simdgroup's sums are 4 by 4 blocks of 8
 * by 8. Which elements of a block a lane has is nowhere said, so that sums leave through memory. */

struct sums {
    simdgroup_float8x8 blocks[4][4];
};

static inline void clear_sums(PRIVATE struct sums *sums)
{
#pragma unroll
    for (int i = 0; i < 16; i++)
        sums->blocks[i / 4][i % 4] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
}

/* Of f32 a slab is added up on its own: what is added to a long sum is rounded as that is. Of 16
 * bits it goes on with the sum. */
static inline void start_part(PRIVATE simdgroup_float8x8 *part, PRIVATE simdgroup_float8x8 *sum)
{
    if (sizeof(FACTOR) == 4)
        *part = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    else
        *part = *sum;
}

static inline void end_part(PRIVATE simdgroup_float8x8 *part, PRIVATE simdgroup_float8x8 *sum)
{
    if (sizeof(FACTOR) == 4) {
        sum->thread_elements()[0] += part->thread_elements()[0];
        sum->thread_elements()[1] += part->thread_elements()[1];
    } else {
        *sum = *part;
    }
}

/* Adds a slab's products to the sums. */
static inline void multiply_slab(const LOCAL FACTOR *slab, int item, PRIVATE struct sums *sums)
{
    const LOCAL FACTOR *x = slab + product_row(item) * PRODUCT_X_ROW;
    const LOCAL FACTOR *weights = slab + PRODUCT_X + product_column(item);
    simdgroup_matrix<FACTOR, 8, 8> w[PRODUCT_DEPTH / 8][4], rows;
    simdgroup_float8x8 parts[4];

#pragma unroll
    for (int k = 0; k < PRODUCT_DEPTH / 8; k++)
#pragma unroll
        for (int j = 0; j < 4; j++)
            simdgroup_load(w[k][j], weights + 8 * k * PRODUCT_WEIGHTS_ROW + 8 * j,
                           PRODUCT_WEIGHTS_ROW);
#pragma unroll
    for (int i = 0; i < 4; i++) {
#pragma unroll
        for (int j = 0; j < 4; j++)
            start_part(&parts[j], &sums->blocks[i][j]);
#pragma unroll
        for (int k = 0; k < PRODUCT_DEPTH / 8; k++) {
            simdgroup_load(rows, x + 8 * i * PRODUCT_X_ROW + 8 * k, PRODUCT_X_ROW);
#pragma unroll
            for (int j = 0; j < 4; j++)
                simdgroup_multiply_accumulate(parts[j], rows, w[k][j], parts[j]);
        }
#pragma unroll
        for (int j = 0; j < 4; j++)
            end_part(&parts[j], &sums->blocks[i][j]);
    }
}

/* For i = 0 .. 7: all items of a simdgroup come here, and get their columns of row
 * product_sum_row(item, i). */
static inline float4 take_sums(LOCAL float4 *memory, int item, PRIVATE struct sums *sums, int i)
{
    LOCAL float *own = (LOCAL float *)memory + item / 32 * 8 * PRODUCT_SUMS_ROW;

    if (i % 2 == 0) {
        simdgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll
        for (int j = 0; j < 4; j++)
            simdgroup_store(sums->blocks[i / 2][j], own + 8 * j, PRODUCT_SUMS_ROW);
        simdgroup_barrier(mem_flags::mem_threadgroup);
    }
    return *(const LOCAL float4 *)(own + (4 * (i % 2) + item % 32 / 8) * PRODUCT_SUMS_ROW +
                                   item % 8 * 4);
}
