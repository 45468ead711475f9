/* SPDX-License-Identifier: MIT */

/* Keys are rows of units, as weights are: what a tile multiplies a panel of queries with. */

#include "backend/cpu/products/scores.h"
#include "backend/cpu/products/tokens.h"

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
    enum { STEP = VRT_UNIT_STEP * VRT_UNIT_ELEMENTS };
    const size_t row = vrt_keys_row(head_dim);

    (void)step;
    keys += (size_t)first * row;
    for (int c = 0; c < head_dim; c += STEP, keys += VRT_UNIT_STEP) {
        vrt_unit units[VRT_UNIT_ROWS][VRT_UNIT_STEP][VRT_BLOCK_TOKENS] = { 0 };

        for (int i = c; i < VRT_MIN(c + STEP, head_dim); i += VRT_UNIT_ELEMENTS) {
            const float *even = block + (size_t)i * VRT_BLOCK_TOKENS;

            vrt_unit_put(units[0][(i - c) / VRT_UNIT_ELEMENTS], VRT_UNIT_STEP * VRT_BLOCK_TOKENS,
                         even, i + 1 < head_dim ? even + VRT_BLOCK_TOKENS : NULL);
        }
        for (size_t part = 0; part < VRT_UNIT_ROWS; part++)
            vrt_tokens_turn(units[part][0], VRT_UNIT_STEP, keys + part * row / VRT_UNIT_ROWS, row);
    }
}
