/* SPDX-License-Identifier: MIT */

/* Keys are a panel, as queries are: one of each key is multiplied with a vector of queries. */

#include "backend/cpu/products/scores.h"
#include "backend/cpu/products/tokens.h"
#include "backend/cpu/products/vectors/registers.h"

/* Scores of N keys, from k on. */
static inline __attribute__((always_inline)) void score_keys(struct vrt_scores *block, int k,
                                                             const int N, float *scores)
{
    const struct vrt_attention_head *head = block->head;
    const struct vrt_attention_bias bias = head->bias;
    struct vrt_product g = {
        .w = head->k + k,
        .x_step = head->step,
        .n_units = vrt_unit_count(head->head_dim),
    };

    for (int t = 0; t < VRT_BLOCK_TOKENS; t += VRT_TILE_TOKENS) {
        vrt_cpu_vector acc[VRT_BLOCK_ROWS][VRT_TILE_VECTORS];

        for (int i = 0; i < N; i++)
            for (int v = 0; v < VRT_TILE_VECTORS; v++)
                acc[i][v] = (vrt_cpu_vector){ 0 };
        g.x = head->q + block->first + t;
        vrt_product_tile(&g, N, 1, head->step, acc);
        for (int v = 0; v < VRT_TILE_VECTORS; v++) {
            const int at = t + v * VRT_CPU_VECTOR_FLOATS;
            const struct vrt_bias_column column = vrt_bias_column_at(&bias, block->first + at);
            float *largest = block->largest + at;
            vrt_cpu_vector most = vrt_cpu_vector_load(largest);

            for (int i = 0; i < N; i++) {
                acc[i][v] += vrt_bias_of_key(&column, k + i);
                vrt_cpu_vector_store(scores + i * VRT_BLOCK_TOKENS + at, acc[i][v]);
                most = vrt_cpu_vector_larger(acc[i][v], most);
            }
            vrt_cpu_vector_store(largest, most);
        }
    }
}

void vrt_scores_find(struct vrt_scores *block, int k, int n, float *scores)
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

size_t vrt_keys_row(int head_dim)
{
    (void)head_dim;
    return 1;
}

void vrt_keys_put(const float *block, int head_dim, int first, vrt_unit *keys, size_t step)
{
    vrt_tokens_put(block, head_dim, keys + first, step);
}
