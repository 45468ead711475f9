/* SPDX-License-Identifier: MIT */

#include "backend/cpu/attention.h"

#include <math.h>
#include <string.h>

#include "backend/cpu/exp.h"

typedef float(*rows_of_block)[VRT_BLOCK_TOKENS];

/* Runs of queries whose bias lies side by side. */
#define RUN 8

typedef float run_vector __attribute__((vector_size(4 * RUN), aligned(4), may_alias));

/* Queries [first, first + VRT_BLOCK_TOKENS). */
struct block {
    const struct vrt_attention_head *head;
    int first;
    float sums[VRT_BLOCK_TOKENS];
};

/* The bias of key k for the run of queries from `query` on. */
static const float *bias_at(const struct vrt_attention_bias *bias, int k, int query)
{
    static const float none[RUN];

    if (!bias->values)
        return none;
    if (bias->step)
        return bias->values + (size_t)k * bias->step + query;
    return bias->values + (bias->query_at[query / RUN] - bias->key_at[k]);
}

/* n rows of products, from key k on, become scores. */
static void finish_scores(const struct block *block, int k, int n, rows_of_block rows)
{
    const struct vrt_attention_head *head = block->head;

    for (int i = 0; i < n; i++)
        for (int run = 0; run < VRT_BLOCK_TOKENS; run += RUN) {
            const float *bias = bias_at(&head->bias, k + i, block->first + run);
            run_vector *scores = (run_vector *)(rows[i] + run);

            *scores = *scores * head->scale + *(const run_vector *)bias;
        }
}

/* Lowers the scores of keys for queries of another label. */
static void mask_scores(const struct block *block, rows_of_block scores)
{
    const struct vrt_attention_head *head = block->head;
    const float *labels = head->query_labels + block->first;

    for (int k = 0; k < head->n_keys; k++)
        for (int t = 0; t < VRT_BLOCK_TOKENS; t++)
            scores[k][t] -= labels[t] != head->key_labels[k]
                                ? VRT_ATTENTION_MASK * VRT_ATTENTION_LOG2E
                                : 0;
}

/* Scores of all keys. */
static void find_scores(const struct block *block)
{
    const struct vrt_attention_head *head = block->head;
    rows_of_block scores = (rows_of_block)(void *)head->scores;
    struct vrt_product product = {
        .w_row = 1,
        .w_step = head->step,
        .x = head->q + block->first,
        .x_step = head->step,
        .n_units = vrt_unit_count(head->head_dim),
    };

    for (int k = 0; k < head->n_keys; k += VRT_BLOCK_ROWS) {
        const int n = VRT_MIN(VRT_BLOCK_ROWS, head->n_keys - k);

        product.w = head->k + k;
        vrt_product_by_tokens(&product, n, scores + k);
        finish_scores(block, k, n, scores + k);
    }
    if (head->query_labels)
        mask_scores(block, scores);
}

/* The larger of each pair of elements; NaN where b is. */
static inline vrt_cpu_vector larger(vrt_cpu_vector a, vrt_cpu_vector b)
{
    const vrt_cpu_integers is_a = a > b;

    return (vrt_cpu_vector)((is_a & (vrt_cpu_integers)a) | (~is_a & (vrt_cpu_integers)b));
}

/* vrt_cpu_exp2() of each element, in vectors: an array may not stay in registers. */
static inline vrt_cpu_vector power_of_2(vrt_cpu_vector x)
{
    const float rounder = 0x1.8p23f + 127;

    x = larger((vrt_cpu_vector){ 0 } - 126, x);
    const vrt_cpu_vector shifted = x + rounder, r = x - (shifted - rounder);
    vrt_cpu_vector p = r * 1.326472675e-3f + 9.671512672e-3f;
    p = p * r + 5.550733745e-2f;
    p = p * r + 2.402224208e-1f;
    p = p * r + 6.931469776e-1f;
    p = p * r + 1;
    return p * (vrt_cpu_vector)((vrt_cpu_integers)shifted << 23);
}

static inline vrt_cpu_vector load(const float *from)
{
    return *(const vrt_cpu_vector_at *)from;
}

static inline void store(float *to, vrt_cpu_vector v)
{
    *(vrt_cpu_vector_at *)to = v;
}

/* Scores become exponentials, in units, where they were: a unit's row takes the place of its
 * first element's, or an earlier one's. The sums are of what was not yet rounded. */
static void find_exponentials(struct block *block, rows_of_block scores)
{
    const int n_keys = block->head->n_keys;

    for (int strip = 0; strip < VRT_BLOCK_TOKENS; strip += VRT_CPU_VECTOR_FLOATS) {
        vrt_cpu_vector largest = load(scores[0] + strip), sums = { 0 };

        for (int k = 1; k < n_keys; k++)
            largest = larger(load(scores[k] + strip), largest);
        for (int k = 0; k < n_keys; k += VRT_UNIT_ELEMENTS) {
            const vrt_cpu_vector even = power_of_2(load(scores[k] + strip) - largest);
            vrt_cpu_vector odd = { 0 };

            if (VRT_UNIT_ELEMENTS == 2 && k + 1 < n_keys)
                odd = power_of_2(load(scores[k + 1] + strip) - largest);
            sums += even + odd;
            vrt_unit_store((vrt_unit *)scores[k / VRT_UNIT_ELEMENTS] + strip, even, odd);
        }
        store(block->sums + strip, sums);
    }
}

static void find_values(const struct block *block)
{
    const struct vrt_attention_head *head = block->head;
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
    for (int i = 0; i < head->head_dim; i += VRT_BLOCK_ROWS) {
        const int n = VRT_MIN(VRT_BLOCK_ROWS, head->head_dim - i);

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

    for (block.first = 0; block.first < head->n_queries; block.first += VRT_BLOCK_TOKENS) {
        find_scores(&block);
        find_exponentials(&block, (rows_of_block)(void *)head->scores);
        find_values(&block);
    }
}
