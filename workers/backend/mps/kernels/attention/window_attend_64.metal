/* SPDX-License-Identifier: MIT */

/*
 * Attention for heads of up to 32 channels, by matrices of 8 rows and columns: Apple7 and later
 *
 * A group takes 64 queries of one window, one head and one meeting, each of its four simdgroups 16
 * of them, as two blocks of 8 rows. Keys and values come through threadgroup memory, KEYS at a
 * time. Softmax is computed as they come, in f32: what was summed up so far is scaled down to what
 * it is beside the largest score.
 *
 * Which elements of a matrix an item has, it isn't told. So each query has a line in threadgroup
 * memory, for its factors first, then for scores, for the weights that are made of them, and for
 * sums that are to be scaled or stored. Two items share it, a half each: of the keys at hand, or of
 * the channels.
 *
 * The build says which types there are: FACTOR (float, half or bfloat) is that of queries, keys,
 * values, weights and what is stored.
 */

#define QUERIES 64

#include "backend/kernels/attention/window.h"
#include "backend/mps/kernels/factors.h"

#define ITEMS 128
#define SIMD_QUERIES 16             /* of a simdgroup: two blocks */
#define KEYS 32                     /* at hand */
#define DIM VRT_KERNEL_ATTEND_DIM
#define HALF 16                     /* of KEYS, and of DIM */

/* How many factors are as long as a float. */
#define PER_FLOAT ((int)(sizeof(float) / sizeof(FACTOR)))

/* From one line to the next: 16 bytes more than is in it, so that those of a block are in unlike
 * banks of threadgroup memory. */
#define LINE (KEYS + 4)                 /* of a query, in floats */
#define KEY_LINE (DIM + 4 * PER_FLOAT)  /* of a key or a value, in factors */

/* What was summed up is scaled down where a score exceeds what weights are relative to by so many
 * powers of two: seldom. 16 bits hold weights of that size as well as those up to 1. */
#define SLACK 8

/* Waits for the simdgroup's other items, and for what they wrote to threadgroup memory. */
#define SIMD_BARRIER() simdgroup_barrier(mem_flags::mem_threadgroup)

typedef simdgroup_matrix<FACTOR, 8, 8> factors_8x8;
typedef simdgroup_matrix<float, 8, 8> sums_8x8;

/* The query that an item shares, and its half. */
struct query {
    int a;                          /* of the window's: maybe beyond the last */
    int first;                      /* of the half's keys, or channels */
    int code, label;
    float most, total;              /* the largest score so far; the sum of the half's weights */
    LOCAL float4 *line;             /* [HALF / 4], of the half */
};

/* Channels c .. c + 3 of a place that begins with `from`; beyond a head's last they are zeros, but
 * read. */
static inline FACTORS load_some(const PRIVATE struct task *task, const GLOBAL FACTOR *from, int c)
{
    const FACTORS x = FACTORS(*(const GLOBAL PACKED_FACTORS *)(from + c));
    const int n = task->e->dim - c;
    const FACTOR zero = (FACTOR)0.0f;

    return FACTORS(n > 0 ? x.x : zero, n > 1 ? x.y : zero, n > 2 ? x.z : zero, n > 3 ? x.w : zero);
}

/* The query of place t of the window, qkv beginning with the head's first; its key is C further on,
 * its value 2 C. */
static inline const GLOBAL FACTOR *query_at(const PRIVATE struct task *task,
                                            const GLOBAL FACTOR *qkv, int t)
{
    return qkv + (long)row_of(task->e, task->window, t) * 3 * task->e->c;
}

/* Keys `first` and on, with their values: an item takes 8 channels. Keys beyond the last are as
 * that. */
static inline void copy(const PRIVATE struct task *task, const GLOBAL FACTOR *qkv, int first,
                        LOCAL FACTORS *keys, LOCAL FACTORS *values)
{
    const ARG struct vrt_kernel_attend *e = task->e;
    const int t = task->item / (DIM / 8), c = task->item % (DIM / 8) * 8;
    const int to = (t * KEY_LINE + c) / 4;
    const GLOBAL FACTOR *key = query_at(task, qkv, min(first + t, e->n - 1) + task->key) + e->c;
    const GLOBAL FACTOR *value = key + e->c;

    keys[to] = load_some(task, key, c);
    keys[to + 1] = load_some(task, key, c + 4);
    values[to] = load_some(task, value, c);
    values[to + 1] = load_some(task, value, c + 4);
}

/* Before it met any key; its factors are put into its line. */
static inline void start_query(const PRIVATE struct task *task, const GLOBAL FACTOR *qkv, int a,
                               PRIVATE struct query *query)
{
    LOCAL FACTORS *factors = (LOCAL FACTORS *)query->line;

    query->a = a;
    a = min(a, task->last);
    query->code = task->e->has_table ? code_of(task->e, a) : 0;
    query->label = label_of(task->e, task->window, a);
    query->most = -INFINITY;
    query->total = 0;
    const GLOBAL FACTOR *from = query_at(task, qkv, a + task->query);
#pragma unroll
    for (int c = 0; c < HALF; c += 4)
        factors[c / 4] = load_some(task, from, query->first + c);
}

/* Of one block's queries, from line `first` on: eight channels, or eight keys' weights. They lie
 * where floats of the same half would begin. */
static inline void load_factors(const LOCAL float *lines, int first, int eight,
                                PRIVATE factors_8x8 &ret_factors)
{
    const LOCAL float *half_line = lines + first * LINE + eight / 2 * HALF;

    simdgroup_load(ret_factors, (const LOCAL FACTOR *)half_line + eight % 2 * 8, LINE * PER_FLOAT);
}

/* queries [2][DIM / 8] of the lines, and sums [2][DIM / 8] of nothing yet. */
static inline void start_blocks(const LOCAL float *lines, PRIVATE factors_8x8 *queries,
                                PRIVATE sums_8x8 *sums)
{
    SIMD_BARRIER();
#pragma unroll
    for (int c = 0; c < DIM / 8; c++) {
        load_factors(lines, 0, c, queries[c]);
        load_factors(lines, 8, c, queries[DIM / 8 + c]);
        sums[c] = sums[DIM / 8 + c] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    }
}

/* queries [2][DIM / 8]; their scores are put into the lines. */
static inline void meet(PRIVATE factors_8x8 *queries, const LOCAL FACTOR *keys, LOCAL float *lines)
{
#pragma unroll
    for (int b = 0; b < KEYS; b += 8) {
        sums_8x8 x = make_filled_simdgroup_matrix<float, 8, 8>(0.0f), y = x;
#pragma unroll
        for (int c = 0; c < DIM / 8; c++) {
            factors_8x8 key;
            simdgroup_load(key, keys + b * KEY_LINE + 8 * c, KEY_LINE, 0, true);
            simdgroup_multiply_accumulate(x, queries[c], key, x);
            simdgroup_multiply_accumulate(y, queries[DIM / 8 + c], key, y);
        }
        simdgroup_store(x, lines + b, LINE);
        simdgroup_store(y, lines + 8 * LINE + b, LINE);
    }
}

/* scores [HALF / 4] += what is added to those of the half's keys. */
static inline void add_biases(const PRIVATE struct task *task,
                              const PRIVATE struct meaning *meaning,
                              const PRIVATE struct query *query, PRIVATE float4 *scores)
{
    const int n = task->e->n - meaning->first;

    if (meaning->is_simple) {
#pragma unroll
        for (int i = 0; i < HALF; i += 8) {
            const LOCAL float *from = meaning->biases + task->last_code - query->code +
                                      meaning->codes[query->first + i];
            scores[i / 4] += float4(from[0], from[1], from[2], from[3]);
            scores[i / 4 + 1] += float4(from[4], from[5], from[6], from[7]);
        }
        return;
    }
#pragma unroll
    for (int i = 0; i < HALF; i++) {
        const int k = query->first + i;
        scores[i / 4][i % 4] += k < n ? added_to(task, meaning, k, query->code, query->label)
                                      : -INFINITY;
    }
}

static inline float largest_of(const PRIVATE float4 *x)
{
    const float4 four = fmax(fmax(x[0], x[1]), fmax(x[2], x[3]));

    return fmax(fmax(four.x, four.y), fmax(four.z, four.w));
}

/* sums [2][DIM / 8] into the lines, and back. */
static inline void store_sums(PRIVATE sums_8x8 *sums, LOCAL float *lines)
{
    SIMD_BARRIER();
#pragma unroll
    for (int c = 0; c < DIM / 8; c++) {
        simdgroup_store(sums[c], lines + 8 * c, LINE);
        simdgroup_store(sums[DIM / 8 + c], lines + 8 * LINE + 8 * c, LINE);
    }
    SIMD_BARRIER();
}

static inline void load_sums(const LOCAL float *lines, PRIVATE sums_8x8 *sums)
{
    SIMD_BARRIER();
#pragma unroll
    for (int c = 0; c < DIM / 8; c++) {
        simdgroup_load(sums[c], lines + 8 * c, LINE);
        simdgroup_load(sums[DIM / 8 + c], lines + 8 * LINE + 8 * c, LINE);
    }
    SIMD_BARRIER();
}

/* Each query's sums times its `factor`. */
static inline void scale_sums(const PRIVATE struct query *query, float factor, LOCAL float *lines,
                              PRIVATE sums_8x8 *sums)
{
    store_sums(sums, lines);
#pragma unroll
    for (int i = 0; i < HALF / 4; i++)
        query->line[i] *= factor;
    load_sums(lines, sums);
}

/* Makes weights of the scores in the lines, which are times `unit`; sums are scaled down to them
 * where need be. */
static inline void weigh(const PRIVATE struct task *task, const PRIVATE struct meaning *meaning,
                         PRIVATE struct query *query, LOCAL float *lines, PRIVATE sums_8x8 *sums)
{
    const float scale = M_LOG2E_F / task->unit;
    LOCAL FACTORS *weights = (LOCAL FACTORS *)query->line;
    float4 x[HALF / 4] = { query->line[0], query->line[1], query->line[2], query->line[3] };

    add_biases(task, meaning, query, x);
    const float own = largest_of(x), largest = fmax(own, simd_shuffle_xor(own, 1));
    const float most = (largest - query->most) * scale > SLACK ? largest : query->most;
    const float less = exp2((query->most - most) * scale);
    if (meaning->first > 0 && simd_any(less < 1))
        scale_sums(query, less, lines, sums);
#pragma unroll
    for (int i = 0; i < HALF / 4; i++) {
        x[i] = exp2(fma(x[i], float4(scale), float4(-most * scale)));
        weights[i] = FACTORS(x[i]);
    }
    const float4 total = (x[0] + x[1]) + (x[2] + x[3]);
    query->total = query->total * less + ((total.x + total.y) + (total.z + total.w));
    query->most = most;
}

/* sums [2][DIM / 8] += weights in the lines times values. */
static inline void add_values(const LOCAL float *lines, const LOCAL FACTOR *values,
                              PRIVATE sums_8x8 *sums)
{
#pragma unroll
    for (int b = 0; b < KEYS / 8; b++) {
        factors_8x8 x, y;
        load_factors(lines, 0, b, x);
        load_factors(lines, 8, b, y);
#pragma unroll
        for (int c = 0; c < DIM / 8; c++) {
            factors_8x8 value;
            simdgroup_load(value, values + b * 8 * KEY_LINE + 8 * c, KEY_LINE);
            simdgroup_multiply_accumulate(sums[c], x, value, sums[c]);
            simdgroup_multiply_accumulate(sums[DIM / 8 + c], y, value, sums[DIM / 8 + c]);
        }
    }
}

/* out: of the place to which what comes of the query goes; its sums are in its line. */
static inline void store_query(const PRIVATE struct task *task, const PRIVATE struct query *query,
                               GLOBAL FACTOR *out)
{
    const ARG struct vrt_kernel_attend *e = task->e;
    const float total = query->total + simd_shuffle_xor(query->total, 1);
    const int a = min(query->a, task->last), n = query->a < e->n ? e->dim - query->first : 0;
    GLOBAL FACTOR *to = out + (long)row_of(e, task->window, a + task->row) * e->width + e->column +
                        task->head * e->dim + query->first;

    for (int i = 0; i < HALF && i < n; i++)
        to[i] = (FACTOR)(query->line[i / 4][i % 4] / total);
}

/* qkv [places of the padded clip,3C], out [the same,width]; table [entries,heads] */
KERNEL_OF(ITEMS, NAME)(ARGS(struct vrt_kernel_attend, e), OUTPUT(1, out), INPUT(2, qkv),
                       INPUT(3, table) WORK_ITEM,
                       uint simd_of_group [[simdgroup_index_in_threadgroup]],
                       uint item_of_simd [[thread_index_in_simdgroup]])
{
    LOCAL FACTORS keys[KEYS * KEY_LINE / 4], values[KEYS * KEY_LINE / 4];
    LOCAL float4 all_lines[QUERIES * LINE / 4];
    LOCAL float biases[MAX_BIASES];
    LOCAL int labels[KEYS], codes[KEYS];
    LOCAL float *lines = (LOCAL float *)all_lines + (int)simd_of_group * SIMD_QUERIES * LINE;
    const int own = (int)item_of_simd / 2, first_of_half = (int)item_of_simd % 2 * HALF;
    struct meaning meaning = { 0, false, labels, codes, biases };
    struct query query;
    struct task task;
    factors_8x8 queries[2 * DIM / 8];
    sums_8x8 sums[2 * DIM / 8];

    START_TASK(&e, (const GLOBAL float *)table, sqrt((float)e.dim), &task);
    const GLOBAL FACTOR *head = (const GLOBAL FACTOR *)qkv + task.head * e.dim;
    query.first = first_of_half;
    query.line = (LOCAL float4 *)(lines + own * LINE + first_of_half);
    start_query(&task, head, task.first + (int)simd_of_group * SIMD_QUERIES + own, &query);
    start_blocks(lines, queries, sums);
    for (int first = 0; first < e.n; first += KEYS) {
        BARRIER();
        copy(&task, head, first, keys, values);
        meaning.first = first;
        find_meaning(&task, KEYS, &meaning);
        BARRIER();
        meet(queries, (const LOCAL FACTOR *)keys, lines);
        SIMD_BARRIER();
        weigh(&task, &meaning, &query, lines, sums);
        SIMD_BARRIER();
        add_values(lines, (const LOCAL FACTOR *)values, sums);
    }
    store_sums(sums, lines);
    store_query(&task, &query, (GLOBAL FACTOR *)out);
}
