/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What window_attention does between its layers: queries meet keys, window by window
 *
 * A group takes QUERIES queries of one window, one head and one meeting, an item each; keys and
 * values come through local memory, KEYS at a time. Softmax is computed as they come: what was
 * summed up so far is scaled down to what it is beside the largest score. Who includes this
 * defines DIM, a multiple of 4, and whether heads may have more channels (IS_WIDE): these are
 * divided into parts of DIM; scores are made of all of them, and a group makes the results of one.
 */

#define QUERIES VRT_KERNEL_ATTEND_QUERIES

#include "backend/kernels/attention/window.h"

#define KEYS 16

/* What a group has at hand in local memory. */
struct slab {
    LOCAL float4 *keys, *values;    /* [KEYS][DIM / 4] */
    LOCAL long *at;                 /* [2][KEYS]: of a head's key in qkv, and of those after them */
    struct meaning meaning;
};

/* Elements at .. at + 3, n of which count; the others are zeros, but read. */
static inline float4 load_some(const GLOBAL char *data, int dtype, long at, int n)
{
    float4 x = load4(data, dtype, at);

    x.x = n > 0 ? x.x : 0;
    x.y = n > 1 ? x.y : 0;
    x.z = n > 2 ? x.z : 0;
    x.w = n > 3 ? x.w : 0;
    return x;
}

/* Finds keys `first` and on; those beyond the last are as that. */
static inline void place_keys(const PRIVATE struct task *task, int first, LOCAL long *at)
{
    const ARG struct vrt_kernel_attend *e = task->e;
    const int t = task->item;

    if (t < KEYS) {
        const int row = row_of(e, task->window, min(first + t, e->n - 1) + task->key);
        at[first / KEYS % 2 * KEYS + t] = ((long)row * 3 + 1) * e->c + task->head * e->dim;
    }
}

/* Keys' channels of a part and, with the first, values' of that which the group makes. */
static inline void copy(const PRIVATE struct task *task, const GLOBAL char *qkv, int first,
                        int part, const PRIVATE struct slab *slab)
{
    const ARG struct vrt_kernel_attend *e = task->e;

    for (int i = task->item; i < KEYS * DIM / 4; i += QUERIES) {
        const long at = slab->at[first / KEYS % 2 * KEYS + i / (DIM / 4)];
        const int own = i % (DIM / 4) * 4, key = part * DIM + own, value = task->part * DIM + own;
        slab->keys[i] = load_some(qkv, e->dtype, at + key, e->dim - key);
        if (part == 0)
            slab->values[i] = load_some(qkv, e->dtype, at + e->c + value, e->dim - value);
    }
}

/* q [DIM]: channels c and on of a query, which is `at`, times what scores are. */
static inline void load_query(const ARG struct vrt_kernel_attend *e, const GLOBAL char *qkv,
                              long at, int c, PRIVATE float4 *q)
{
    const float scale = 1 / sqrt((float)e->dim);

#pragma unroll
    for (int i = 0; i < DIM / 4; i++)
        q[i] = load_some(qkv, e->dtype, at + c + 4 * i, e->dim - c - 4 * i) * scale;
}

/* scores [KEYS] += q times keys. */
static inline void meet(const PRIVATE float4 *q, const LOCAL float4 *keys, PRIVATE float *scores)
{
#pragma unroll
    for (int b = 0; b < KEYS; b++) {
        float4 dots = 0;
#pragma unroll
        for (int c = 0; c < DIM / 4; c++)
            dots = fma(q[c], keys[b * DIM / 4 + c], dots);
        scores[b] += (dots.x + dots.y) + (dots.z + dots.w);
    }
}

/* One of the group's. */
struct query {
    int code, label;
    float most, total;              /* the largest score so far, the sum of weights */
    float4 sums[DIM / 4];           /* of weighted values: what comes of it times `total` */
};

/* Query a, before it met any key. */
static inline void start_query(const PRIVATE struct task *task, int a, PRIVATE struct query *query)
{
    query->code = task->e->has_table ? code_of(task->e, a) : 0;
    query->label = label_of(task->e, task->window, a);
    query->most = -INFINITY;
    query->total = 0;
#pragma unroll
    for (int c = 0; c < DIM / 4; c++)
        query->sums[c] = 0;
}

/* Makes weights of scores. */
static inline void weigh(const PRIVATE struct task *task, const PRIVATE struct meaning *meaning,
                         PRIVATE struct query *query, PRIVATE float *scores)
{
    float most = query->most;

#pragma unroll
    for (int b = 0; b < KEYS; b++) {
        scores[b] = meaning->first + b < task->e->n
                        ? scores[b] + added_to(task, meaning, b, query->code, query->label)
                        : -INFINITY;
        most = fmax(most, scores[b]);
    }
    const float less = exp(query->most - most);
    query->most = most;
    query->total *= less;
#pragma unroll
    for (int c = 0; c < DIM / 4; c++)
        query->sums[c] *= less;
#pragma unroll
    for (int b = 0; b < KEYS; b++) {
        scores[b] = exp(scores[b] - most);
        query->total += scores[b];
    }
}

static inline void add_values(const LOCAL float4 *values, const PRIVATE float *weights,
                              PRIVATE struct query *query)
{
#pragma unroll
    for (int b = 0; b < KEYS; b++) {
        const float4 weight = weights[b];
#pragma unroll
        for (int c = 0; c < DIM / 4; c++)
            query->sums[c] = fma(weight, values[b * DIM / 4 + c], query->sums[c]);
    }
}

/* out: of the place to which what comes of query a goes. */
static inline void store_query(const PRIVATE struct task *task, int a,
                               const PRIVATE struct query *query, GLOBAL char *out)
{
    const ARG struct vrt_kernel_attend *e = task->e;
    const int part = task->part * DIM;
    const long at = (long)row_of(e, task->window, a + task->row) * e->width + e->column +
                    task->head * e->dim + part;

#pragma unroll
    for (int c = 0; c < DIM; c += 4) {
        const float4 x = query->sums[c / 4] / query->total;
        if (part + c < e->dim)
            store(out, e->dtype, at + c, x.x);
        if (part + c + 1 < e->dim)
            store(out, e->dtype, at + c + 1, x.y);
        if (part + c + 2 < e->dim)
            store(out, e->dtype, at + c + 2, x.z);
        if (part + c + 3 < e->dim)
            store(out, e->dtype, at + c + 3, x.w);
    }
}

/* qkv [places of the padded clip,3C], out [the same,width]; table [entries,heads] */
KERNEL_OF(QUERIES, NAME)(ARGS(struct vrt_kernel_attend, e), OUTPUT(1, out), INPUT(2, qkv),
                         INPUT(3, table) WORK_ITEM)
{
    LOCAL float4 keys[KEYS * DIM / 4], values[KEYS * DIM / 4];
    LOCAL float biases[MAX_BIASES];
    LOCAL long places[2 * KEYS];
    LOCAL int labels[KEYS], codes[KEYS];
    struct slab slab = { keys, values, places, { 0, false, labels, codes, biases } };
    struct query query;
    struct task task;
    float4 q[DIM / 4];

    START_TASK(&e, (const GLOBAL float *)table, 1, &task);
    const int own = task.first + task.item, a = min(own, task.last);
    const long at = (long)row_of(&e, task.window, a + task.query) * 3 * e.c + task.head * e.dim;
    start_query(&task, a, &query);
    load_query(&e, qkv, at, 0, q);
    place_keys(&task, 0, places);
    for (int first = 0; first < e.n; first += KEYS) {
        float scores[KEYS] = { 0 };
        for (int part = 0; part < (IS_WIDE ? e.parts : 1); part++) {
            BARRIER();
            copy(&task, qkv, first, part, &slab);
            if (part == 0) {
                slab.meaning.first = first;
                find_meaning(&task, KEYS, &slab.meaning);
                place_keys(&task, first + KEYS, places);
            }
            BARRIER();
            if (IS_WIDE)
                load_query(&e, qkv, at, part * DIM, q);
            meet(q, keys, scores);
        }
        weigh(&task, &slab.meaning, &query, scores);
        add_values(values, scores, &query);
    }
    if (own < e.n)
        store_query(&task, a, &query, out);
}
