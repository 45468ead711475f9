/* SPDX-License-Identifier: MIT */

#include "backend/cpu/products/attention.h"

#include <math.h>
#include <string.h>


typedef float(*rows_of_block)[VRT_BLOCK_TOKENS];

/* Runs of queries whose bias lies side by side. */
#define RUN 8

/* Runs of a vector; or vectors of a run. */
#define VECTOR_RUNS (VRT_CPU_VECTOR_FLOATS / RUN)

typedef float run_vector __attribute__((vector_size(4 * RUN), aligned(4), may_alias));

/* Queries [first, first + VRT_BLOCK_TOKENS). */
struct block {
    const struct vrt_attention_head *head;
    int first;
    float largest[VRT_BLOCK_TOKENS], sums[VRT_BLOCK_TOKENS];
};

/* The bias of key k for a vector of queries, from `query` on. */
static inline vrt_cpu_vector bias_at(const struct vrt_attention_bias *bias, int k, int query)
{
    if (!bias->values)
        return (vrt_cpu_vector){ 0 };
    if (bias->step)
        return vrt_cpu_vector_load(bias->values + (size_t)k * bias->step + query);

    const float *values = bias->values - bias->key_at[k] + query % RUN;
    union {
        vrt_cpu_vector v;
        run_vector runs[VECTOR_RUNS > 0 ? VECTOR_RUNS : 1];
    } u;
    if (VECTOR_RUNS <= 1)
        return vrt_cpu_vector_load(values + bias->query_at[query / RUN]);
    for (int i = 0; i < VECTOR_RUNS; i++)
        u.runs[i] = *(const run_vector *)(values + bias->query_at[query / RUN + i]);
    return u.v;
}

/* Scores of N keys, from k on. */
static inline __attribute__((always_inline)) void score_keys(struct block *block, int k,
                                                             const int N, float *scores)
{
    const struct vrt_attention_head *head = block->head;
    const struct vrt_attention_bias bias = head->bias;
    struct vrt_product g = {
        .w = head->k + k,
        .w_step = head->step,
        .x_step = head->step,
        .n_units = vrt_unit_count(head->head_dim),
    };

    for (int t = 0; t < VRT_BLOCK_TOKENS; t += VRT_TILE_TOKENS) {
        vrt_cpu_vector acc[VRT_BLOCK_ROWS][VRT_TILE_VECTORS];

        for (int i = 0; i < N; i++)
            for (int v = 0; v < VRT_TILE_VECTORS; v++)
                acc[i][v] = (vrt_cpu_vector){ 0 };
        g.x = head->q + block->first + t;
        vrt_product_tile(&g, N, 1, g.w_step, acc);
        for (int v = 0; v < VRT_TILE_VECTORS; v++) {
            float *largest = block->largest + t + v * VRT_CPU_VECTOR_FLOATS;
            vrt_cpu_vector most = vrt_cpu_vector_load(largest);

            for (int i = 0; i < N; i++) {
                acc[i][v] += bias_at(&bias, k + i, block->first + t + v * VRT_CPU_VECTOR_FLOATS);
                float *row = scores + i * VRT_BLOCK_TOKENS + t + v * VRT_CPU_VECTOR_FLOATS;
                vrt_cpu_vector_store(row, acc[i][v]);
                most = vrt_cpu_vector_larger(acc[i][v], most);
            }
            vrt_cpu_vector_store(largest, most);
        }
    }
}

static void score_some(struct block *block, int k, int n, float *scores)
{
    switch (n) {
    case 1: score_keys(block, k, 1, scores); break;
    case 2: score_keys(block, k, 2, scores); break;
    case 3: score_keys(block, k, 3, scores); break;
    case 4: score_keys(block, k, 4, scores); break;
    case 5: score_keys(block, k, 5, scores); break;
    default: score_keys(block, k, VRT_BLOCK_ROWS, scores); break;
    }
}

/* Lowers the scores of keys for queries of another label. */
static void mask_scores(struct block *block, rows_of_block scores)
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
static void find_scores(struct block *block, rows_of_block scores)
{
    const struct vrt_attention_head *head = block->head;
    const int step = vrt_block_rows(head->n_keys);

    for (int t = 0; t < VRT_BLOCK_TOKENS; t++)
        block->largest[t] = -INFINITY;
    for (int k = 0; k < head->n_keys; k += step)
        score_some(block, k, VRT_MIN(step, head->n_keys - k), scores[k]);
    if (head->query_labels)
        mask_scores(block, scores);
}

/* Scores become exponentials, in units, where they were: a unit's row takes the place of its
 * first element's, or an earlier one's. The sums are of what was not yet rounded. */
static void find_exponentials(struct block *block, rows_of_block scores)
{
    const int n_keys = block->head->n_keys;

    for (int strip = 0; strip < VRT_BLOCK_TOKENS; strip += VRT_CPU_VECTOR_FLOATS) {
        const vrt_cpu_vector largest = vrt_cpu_vector_load(block->largest + strip);
        vrt_cpu_vector sums = { 0 };

        for (int k = 0; k < n_keys; k += VRT_UNIT_ELEMENTS) {
            vrt_cpu_vector even = vrt_cpu_vector_load(scores[k] + strip), odd = { 0 };

            even = vrt_cpu_vector_exp2(even - largest);
            if (VRT_UNIT_ELEMENTS == 2 && k + 1 < n_keys)
                odd = vrt_cpu_vector_exp2(vrt_cpu_vector_load(scores[k + 1] + strip) - largest);
            sums += even + odd;
            vrt_unit_store((vrt_unit *)scores[k / VRT_UNIT_ELEMENTS] + strip, even, odd);
        }
        vrt_cpu_vector_store(block->sums + strip, sums);
    }
}

static void find_values(const struct block *block)
{
    const struct vrt_attention_head *head = block->head;
    const int step = vrt_block_rows(head->head_dim);
    float sums[VRT_BLOCK_ROWS][VRT_BLOCK_TOKENS], inverse[VRT_BLOCK_TOKENS];
    struct vrt_product product = {
        .w_row = head->v_step,
        .w_step = 1,
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
    struct block block = { .head = head };
    rows_of_block scores = (rows_of_block)(void *)head->scores;

    for (block.first = 0; block.first < head->n_queries; block.first += VRT_BLOCK_TOKENS) {
        find_scores(&block, scores);
        find_exponentials(&block, scores);
        find_values(&block);
    }
}
