/* SPDX-License-Identifier: MIT */

/* Keys are rows of units, as weights are: what a tile multiplies a panel of queries with. */

#include "backend/cpu/products/scores.h"

/* Adds the bias of n keys from k on; `largest` rises to the largest score of each query. */
static void finish(struct vrt_scores *block, int k, int n, float *scores)
{
    const struct vrt_attention_bias bias = block->head->bias;

    for (int t = 0; t < VRT_BLOCK_TOKENS; t += VRT_CPU_VECTOR_FLOATS) {
        const struct vrt_bias_column column = vrt_bias_column_at(&bias, block->first + t);
        vrt_cpu_vector most = vrt_cpu_vector_load(block->largest + t);

        for (int i = 0; i < n; i++) {
            float *at = scores + i * VRT_BLOCK_TOKENS + t;
            const vrt_cpu_vector score = vrt_cpu_vector_load(at) + vrt_bias_of_key(&column, k + i);

            vrt_cpu_vector_store(at, score);
            most = vrt_cpu_vector_larger(score, most);
        }
        vrt_cpu_vector_store(block->largest + t, most);
    }
}

void vrt_scores_find(struct vrt_scores *block, int k, int n, float *scores)
{
    const struct vrt_attention_head *head = block->head;
    const struct vrt_product product = {
        .w = head->k + (size_t)k * head->key_row,
        .w_row = head->key_row,
        .x = head->q + block->first,
        .x_step = head->step,
        .n_units = vrt_unit_count(head->head_dim),
    };

    vrt_product_by_rows(&product, n, (float(*)[VRT_BLOCK_TOKENS])scores);
    finish(block, k, n, scores);
}

size_t vrt_keys_row(int head_dim)
{
    return vrt_panel_rows(head_dim);
}

void vrt_keys_put(const float *block, int head_dim, int first, vrt_unit *keys, size_t step)
{
    const size_t row = vrt_keys_row(head_dim);

    (void)step;
    for (int i = 0; i < head_dim; i += VRT_UNIT_ELEMENTS) {
        const float *even = block + i * VRT_BLOCK_TOKENS;
        vrt_unit units[VRT_UNIT_ROWS][VRT_BLOCK_TOKENS];
        vrt_unit *to = keys + (size_t)first * row + (size_t)(i / VRT_UNIT_ELEMENTS);

        vrt_unit_put(units[0], VRT_BLOCK_TOKENS, even,
                     i + 1 < head_dim ? even + VRT_BLOCK_TOKENS : NULL);
        for (int t = 0; t < VRT_BLOCK_TOKENS; t++, to += row)
            for (size_t k = 0; k < VRT_UNIT_ROWS; k++)
                to[k * row / 2] = units[k][t];
    }
    for (size_t i = (size_t)(head_dim + 1) / 2; i < row / VRT_UNIT_ROWS; i++)
        for (int t = 0; t < VRT_BLOCK_TOKENS; t++)
            for (size_t k = 0; k < VRT_UNIT_ROWS; k++)
                keys[(size_t)(first + t) * row + k * row / 2 + i] = 0;
}
