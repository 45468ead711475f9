/* SPDX-License-Identifier: MIT */

#include "backend/cpu/products/scores.h"

#include <math.h>

typedef float(*rows_of_block)[VRT_BLOCK_TOKENS];

/* Lowers the scores of keys for queries of another label. */
static void mask_scores(struct vrt_scores *block, rows_of_block scores)
{
    const struct vrt_attention_head *head = block->head;
    const float *labels = head->query_labels + block->first;

    for (int t = 0; t < VRT_BLOCK_TOKENS; t++)
        block->largest[t] = -INFINITY;
    for (int k = 0; k < head->n_keys; k++)
        for (int t = 0; t < VRT_BLOCK_TOKENS; t++) {
            const float mask = labels[t] != head->key_labels[k] ? VRT_ATTENTION_MASK : 0;

            scores[k][t] -= mask * VRT_ATTENTION_LOG2E;
            block->largest[t] = scores[k][t] > block->largest[t] ? scores[k][t]
                                                                 : block->largest[t];
        }
}

/* Scores of all keys, and the largest of each query. */
static void find_scores(struct vrt_scores *block, rows_of_block scores)
{
    const struct vrt_attention_head *head = block->head;
    const int step = vrt_block_rows(head->n_keys);

    for (int t = 0; t < VRT_BLOCK_TOKENS; t++)
        block->largest[t] = -INFINITY;
    for (int k = 0; k < head->n_keys; k += step)
        vrt_scores_find(block, k, VRT_MIN(step, head->n_keys - k), scores[k]);
    if (head->query_labels)
        mask_scores(block, scores);
}

/* Vectors of queries that are worked on side by side. */
#define STRIP_VECTORS (VRT_CPU_VECTOR_FLOATS == 16 ? 4 : 2)

/* Those of the queries [first, first + STRIP_VECTORS * VRT_CPU_VECTOR_FLOATS) of a block. */
static void find_exponentials_of(struct vrt_scores *block, int first, rows_of_block scores)
{
    const int n_keys = block->head->n_keys;
    vrt_cpu_vector sums[STRIP_VECTORS] = { 0 }, largest[STRIP_VECTORS];

    for (int v = 0; v < STRIP_VECTORS; v++)
        largest[v] = vrt_cpu_vector_load(block->largest + first + v * VRT_CPU_VECTOR_FLOATS);
    for (int k = 0; k < n_keys; k += VRT_UNIT_ELEMENTS) {
        vrt_unit *units = (vrt_unit *)scores[vrt_panel_row_at(k)] + first;

#pragma GCC unroll 4
        for (int v = 0; v < STRIP_VECTORS; v++) {
            const int at = v * VRT_CPU_VECTOR_FLOATS;
            vrt_cpu_vector even = vrt_cpu_vector_load(scores[k] + first + at), odd = { 0 };

            even = vrt_cpu_vector_exp2(even - largest[v]);
            if (VRT_UNIT_ELEMENTS == 2 && k + 1 < n_keys)
                odd = vrt_cpu_vector_exp2(vrt_cpu_vector_load(scores[k + 1] + first + at) -
                                          largest[v]);
            sums[v] += even + odd;
            vrt_unit_store(units + at, VRT_BLOCK_TOKENS, even, odd);
        }
    }
    for (int v = 0; v < STRIP_VECTORS; v++)
        vrt_cpu_vector_store(block->sums + first + v * VRT_CPU_VECTOR_FLOATS, sums[v]);
}

/* Scores become exponentials, in units, where they were: a unit's row takes the place of its
 * first element's, or an earlier one's. The sums are of what was not yet rounded. */
static void find_exponentials(struct vrt_scores *block, rows_of_block scores)
{
    for (int i = 0; i < VRT_BLOCK_TOKENS; i += STRIP_VECTORS * VRT_CPU_VECTOR_FLOATS)
        find_exponentials_of(block, i, scores);
    vrt_panel_fill_up((vrt_unit *)scores[0], VRT_BLOCK_TOKENS, block->head->n_keys);
}

static void find_values(const struct vrt_scores *block)
{
    const struct vrt_attention_head *head = block->head;
    const int step = vrt_block_rows(head->head_dim);
    float sums[VRT_BLOCK_ROWS][VRT_BLOCK_TOKENS], inverse[VRT_BLOCK_TOKENS];
    struct vrt_product product = {
        .w_row = head->v_step,
        .x = (const vrt_unit *)head->scores,
        .x_step = VRT_BLOCK_TOKENS,
        .n_units = vrt_unit_count(head->n_keys),
    };

    for (int t = 0; t < VRT_BLOCK_TOKENS; t++)
        inverse[t] = 1 / block->sums[t];
    for (int i = 0; i < head->head_dim; i += step) {
        const int n = VRT_MIN(step, head->head_dim - i);

        product.w = head->v + (size_t)i * head->v_step;
        vrt_product_by_rows(&product, n, sums);
        for (int k = 0; k < n; k++)
            for (int t = 0; t < VRT_BLOCK_TOKENS; t++)
                head->out[(size_t)(i + k) * head->out_step + (size_t)(block->first + t)] =
                    sums[k][t] * inverse[t];
    }
}

void vrt_attention_run(const struct vrt_attention_head *head)
{
    struct vrt_scores block = { .head = head };
    rows_of_block scores = (rows_of_block)(void *)head->scores;

    for (block.first = 0; block.first < head->n_queries; block.first += VRT_BLOCK_TOKENS) {
        find_scores(&block, scores);
        find_exponentials(&block, scores);
        find_values(&block);
    }
}
