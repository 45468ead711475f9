/* SPDX-License-Identifier: MIT */
#pragma once

/* Scores of an attention's keys, and how keys lie for the product that makes them. */

#include "backend/cpu/products/attention.h"

#define vrt_scores_find VRT_UNIT_NAME(scores_find)
#define vrt_keys_row VRT_UNIT_NAME(keys_row)
#define vrt_keys_put VRT_UNIT_NAME(keys_put)

/* Runs of queries whose bias lies side by side. */
#define VRT_BIAS_RUN 8

/* Runs of a vector; or vectors of a run. */
#define VRT_BIAS_RUNS (VRT_CPU_VECTOR_FLOATS / VRT_BIAS_RUN)

typedef float vrt_bias_run
    __attribute__((vector_size(4 * VRT_BIAS_RUN), aligned(4), may_alias));

/* Those of the queries [first, first + VRT_BLOCK_TOKENS). */
struct vrt_scores {
    const struct vrt_attention_head *head;
    int first;
    float largest[VRT_BLOCK_TOKENS], sums[VRT_BLOCK_TOKENS];
};

/* The bias of any key for a vector of queries. */
struct vrt_bias_column {
    const struct vrt_attention_bias *bias;
    const float *first, *second;    /* key 0's; second: of the second half, where runs are halves */
};

static inline struct vrt_bias_column vrt_bias_column_at(const struct vrt_attention_bias *bias,
                                                        int query)
{
    struct vrt_bias_column column = { .bias = bias, .first = bias->values };

    if (!bias->values)
        return column;
    if (bias->step) {
        column.first += query;
        return column;
    }
    const int *query_at = bias->query_at + query / VRT_BIAS_RUN;
    column.first += query_at[0] + query % VRT_BIAS_RUN;
    if (VRT_BIAS_RUNS > 1)
        column.second = bias->values + query_at[1];
    return column;
}

static inline vrt_cpu_vector vrt_bias_of_key(const struct vrt_bias_column *column, int k)
{
    if (!column->first)
        return (vrt_cpu_vector){ 0 };
    if (column->bias->step)
        return vrt_cpu_vector_load(column->first + (size_t)k * column->bias->step);

    const int at = column->bias->key_at[k];
#if VRT_CPU_VECTOR_FLOATS == 2 * VRT_BIAS_RUN
    return __builtin_shufflevector(*(const vrt_bias_run *)(column->first - at),
                                   *(const vrt_bias_run *)(column->second - at), 0, 1, 2, 3, 4, 5,
                                   6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
#else
    return vrt_cpu_vector_load(column->first - at);
#endif
}

/* The scores of n keys, up to VRT_BLOCK_ROWS, from k on: [n][VRT_BLOCK_TOKENS], with their bias;
 * `largest` rises to the largest of them. */
void vrt_scores_find(struct vrt_scores *block, int k, int n, float *scores);

/* Units from a key to the next one: struct vrt_attention_head.key_row. */
size_t vrt_keys_row(int head_dim);

/* Copies a block of keys, [head_dim][VRT_BLOCK_TOKENS], to the place of key `first` among `keys`,
 * of which there are `step`. */
void vrt_keys_put(const float *block, int head_dim, int first, vrt_unit *keys, size_t step);
