/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Attention of one head among the tokens of a window, all of it in one core's cache
 *
 * Scores stand transposed, a row for each key: the softmax of a query then runs down a column, and
 * vectors over queries need no sums across their lanes. They exist for VRT_BLOCK_TOKENS queries at
 * a time.
 */

#include "backend/cpu/products/product.h"

#define vrt_attention_run VRT_UNIT_NAME(attention_run)

/* What is added to the scores of one head: relative position bias, times log2 e, so that powers of
 * two do for the softmax. */
struct vrt_attention_bias {
    const float *values;            /* NULL: nothing */

    /* values is [keys][step]: as it is. Else (step 0) values is a table, which is read in runs of
     * 8 queries: key k and query q have values[query_at[q / 8] - key_at[k] + q % 8]. */
    size_t step;
    const int *query_at, *key_at;
};

struct vrt_attention_head {
    /* Panel q [rows of head_dim][step], times log2 e and the scale of scores; k as "scores.h" puts
     * keys, one key_row after the other; v rows [head_dim][v_step], keys side by side. */
    const vrt_unit *q, *k, *v;
    size_t step, key_row, v_step;
    int n_queries, n_keys, head_dim;
    struct vrt_attention_bias bias;

    /* Parts of a window that don't see each other; NULL: all do. */
    const float *query_labels, *key_labels;

    float *out;                     /* [head_dim][out_step] */
    size_t out_step;
    float *scores;                  /* scratch: [vrt_attention_rows()][VRT_BLOCK_TOKENS] */
};

#define VRT_ATTENTION_LOG2E 1.44269504f  /* exp(x) is exp2(x log2 e) */

/* The score of tokens with different labels is lowered by so much. */
#define VRT_ATTENTION_MASK 100.0f

/* Rows of scores of so many keys, and of the panel that they become. */
static inline size_t vrt_attention_rows(int n_keys)
{
    return (size_t)vrt_unit_count(n_keys) * VRT_UNIT_ELEMENTS;
}

/* Fills out for n_queries rounded up to whole blocks; what belongs to no query is of no meaning. */
void vrt_attention_run(const struct vrt_attention_head *head);
