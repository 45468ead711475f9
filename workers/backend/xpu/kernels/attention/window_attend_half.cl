/* SPDX-License-Identifier: MIT */

/*
 * Attention, its factors of 16 bits, as matrix units take them
 *
 * Computed transposed, keys * queries' and values' * weights', so that 8 items, a subgroup, have a
 * query each, and then another: all scores, weights and sums of a query are its own item's. Keys and
 * values come through local memory, KEYS at a time; softmax is computed as they come, in f32: what
 * was summed up so far is scaled down to what it is beside the largest score. Sums of products begin
 * with what is added to scores; that is in local memory, too, for any query eight keys after each
 * other.
 *
 * A block of rows, of 8 rows by 16 factors, lies in local memory as its items take it: [pair of
 * factors][row], a pair being an int. First rows are keys and factors channels, c and c + 1; then
 * rows are channels and factors keys, b and b + 8.
 *
 * ATTEND_QUERIES are those of a group; ATTEND_HALF is attend-f16.clh or attend-bf16.clh; ATTEND_MAD,
 * attend-dpas.clh or attend-plain.clh, says ATTEND_GROUP and how to multiply(rows_of(block), column,
 * sums). Heads have an even number of channels, DIM at most; what is beyond counts as zeros.
 */

#define QUERIES ATTEND_QUERIES

#include "backend/kernels/attention/window.h"

#define ITEMS (QUERIES / 2)
#define LANES 8
#define DIM VRT_KERNEL_ATTEND_DIM
#define KEYS ITEMS                  /* at hand */
#define STEP 32                     /* keys multiplied at once */
#define BLOCK 64                    /* ints of it */

/* What was summed up is scaled down where a score exceeds what weights are relative to by so many
 * powers of two: seldom. 16 bits hold weights of that size as well as those up to 1. */
#define SLACK 8

#include ATTEND_HALF
#include ATTEND_MAD

/* What a group has at hand in local memory. */
struct slab {
    __local int *keys, *values;     /* blocks: [keys][channels], [16 keys][channels] */
    struct meaning meaning;
    __local float *added;           /* [ITEMS][16], where it isn't simple */
};

/* The query that a place of the padded clip has, of the head that `qkv` begins with; its key is C
 * further on, its value 2 C. Computed such as takes few instructions of 32 bits. */
static inline const __global ushort *query_at(const struct task *task, const __global ushort *qkv,
                                              int row)
{
    const ulong place_bytes = 3 * sizeof(*qkv) * (uint)task->e->c;

    return (const __global ushort *)((const __global char *)qkv + (uint)row * place_bytes);
}

/* Channels c .. c + 7; zeros beyond a head's last, where what is read is part of the op's workspace
 * all the same. */
static inline int4 pairs_at(const struct task *task, const __global ushort *at, int c)
{
    const int4 x = vload4(0, (const __global int *)(at + c));

    return select((int4)(0), x, (int4)(c, c + 2, c + 4, c + 6) < task->e->dim);
}

/* Key b of the window; those beyond the last are as that. */
static inline const __global ushort *key_at(const struct task *task, const __global ushort *qkv,
                                            int b)
{
    const struct vrt_kernel_attend *e = task->e;

    return query_at(task, qkv, row_of(e, task->window, min(b, e->n - 1) + task->key)) + e->c;
}

/* Keys `first` and on: an item takes one, and a half of the values b and b + 8, of which one is that
 * key's. */
static inline void copy(const struct task *task, const __global ushort *qkv, int first,
                        const struct slab *slab)
{
    const int t = (int)get_local_id(0), half_taken = t / 8 % 2;
    const int to_value = task->e->c + half_taken * (DIM / 2);
    const __global ushort *key = key_at(task, qkv, first + t);
    const __global ushort *other = key_at(task, qkv, first + (t ^ 8));
    const __global ushort *b = (half_taken ? other : key) + to_value;
    const __global ushort *b_8 = (half_taken ? key : other) + to_value;
    __local int *keys = slab->keys + t / 8 * 2 * BLOCK + t % 8;
    __local int *values = slab->values + (t / 16 * 4 + half_taken * 2) * BLOCK + t % 8 * 8;

#pragma unroll
    for (int i = 0; i < DIM / 8; i++) {
        const int4 x = pairs_at(task, key, 8 * i);
        keys[i * 32] = x.x;
        keys[i * 32 + 8] = x.y;
        keys[i * 32 + 16] = x.z;
        keys[i * 32 + 24] = x.w;
    }
#pragma unroll
    for (int i = 0; i < DIM / 16; i++) {
        const uint4 x = vload4(i, (const __global uint *)b);
        const uint4 y = vload4(i, (const __global uint *)b_8);
        const int4 even = as_int4((x & 0xffff) | y << 16);
        const int4 odd = as_int4(x >> 16 | (y & 0xffff0000));
        vstore8((int8)(even.x, odd.x, even.y, odd.y, even.z, odd.z, even.w, odd.w), 0,
                values + i * BLOCK);
    }
}

/* One of the item's queries. */
struct query {
    int8 factors[DIM / 16];
    int code, label;
    float most, total;              /* the largest score so far, the sum of weights */
    float8 sums[DIM / 8];           /* of weighted values: what comes of it times `total` */
};

static inline void start_query(const struct task *task, const __global ushort *qkv, int a,
                               struct query *query)
{
    const struct vrt_kernel_attend *e = task->e;
    const __global ushort *at = query_at(task, qkv, row_of(e, task->window, a + task->query));

    query->factors[0] = (int8)(pairs_at(task, at, 0), pairs_at(task, at, 8));
    query->factors[1] = (int8)(pairs_at(task, at, 16), pairs_at(task, at, 24));
    query->code = e->has_table ? code_of(e, a) : 0;
    query->label = label_of(e, task->window, a);
    query->most = -INFINITY;
    query->total = 0;
    query->sums[0] = query->sums[1] = query->sums[2] = query->sums[3] = (float8)(0);
}

/* added [16]: to scores with keys k and on. */
static inline void add_singly(const struct task *task, const struct meaning *meaning, int k,
                              const struct query *query, __local float *added)
{
    const int n = task->e->n - meaning->first - k;
    int i = 0;

    for (; i < 16 && i < n; i++)
        added[i] = added_to(task, meaning, k + i, query->code, query->label);
    for (; i < 16; i++)
        added[i] = -INFINITY;
}

/* scores [STEP]: what is added to those with keys k and on. */
static inline void start_scores(const struct task *task, const struct slab *slab, int k,
                                const struct query *query, float8 scores[STEP / 8])
{
    const struct meaning *meaning = &slab->meaning;
    const __local float *from = meaning->biases + task->last_code - query->code;

#pragma unroll
    for (int b = 0; b < STEP; b += 16) {
        int x = meaning->codes[k + b], y = meaning->codes[k + b + 8];
        if (!meaning->is_simple) {
            __local float *added = slab->added + (int)get_local_id(0) * 16;
            add_singly(task, meaning, k + b, query, added);
            from = added;
            x = 0;
            y = 8;
        }
        scores[b / 8] = vload8(0, from + x);
        scores[b / 8 + 1] = vload8(0, from + y);
    }
}

static inline int8 pairs_of(float8 x, float8 y)
{
    return (int8)(pair_of_weights(x.s0, y.s0), pair_of_weights(x.s1, y.s1),
                  pair_of_weights(x.s2, y.s2), pair_of_weights(x.s3, y.s3),
                  pair_of_weights(x.s4, y.s4), pair_of_weights(x.s5, y.s5),
                  pair_of_weights(x.s6, y.s6), pair_of_weights(x.s7, y.s7));
}

static inline float largest_of(float8 x)
{
    const float4 four = fmax(x.lo, x.hi);
    const float2 two = fmax(four.lo, four.hi);

    return fmax(two.x, two.y);
}

static inline float total_of(float8 x)
{
    const float4 four = x.lo + x.hi;
    const float2 two = four.lo + four.hi;

    return two.x + two.y;
}

/* weights [STEP]: what values are weighted with, from scores times the root of dim. */
static inline void weigh(const struct task *task, const float8 scores[STEP / 8],
                         struct query *query, int8 weights[STEP / 16])
{
    const float scale = M_LOG2E_F / task->unit;
    const float largest = largest_of(fmax(fmax(scores[0], scores[1]), fmax(scores[2], scores[3])));
    const float most = (largest - query->most) * scale > SLACK ? largest : query->most;
    const float less = native_exp2((query->most - most) * scale);
    const float8 from = (float8)(-most * scale), times = (float8)(scale);
    const float8 x0 = native_exp2(fma(scores[0], times, from));
    const float8 x1 = native_exp2(fma(scores[1], times, from));
    const float8 x2 = native_exp2(fma(scores[2], times, from));
    const float8 x3 = native_exp2(fma(scores[3], times, from));

    weights[0] = pairs_of(x0, x1);
    weights[1] = pairs_of(x2, x3);
    query->total = fma(query->total, less, total_of((x0 + x1) + (x2 + x3)));
    if (most > query->most) {
        query->sums[0] *= less;
        query->sums[1] *= less;
        query->sums[2] *= less;
        query->sums[3] *= less;
    }
    query->most = most;
}

/* Two queries meet keys k and on of those at hand. */
static inline void meet(const struct task *task, const struct slab *slab, int k,
                        struct query queries[2], int8 weights[2][STEP / 16])
{
    const __local int *blocks = slab->keys + k * (DIM / 2);
    float8 p[STEP / 8], q[STEP / 8];

    start_scores(task, slab, k, &queries[0], p);
    start_scores(task, slab, k, &queries[1], q);
#pragma unroll
    for (int b = 0; b < STEP / 8; b++)
#pragma unroll
        for (int c = 0; c < DIM / 16; c++) {
            ROWS rows = rows_of(blocks + (b * (DIM / 16) + c) * BLOCK);
            p[b] = multiply(rows, queries[0].factors[c], p[b]);
            q[b] = multiply(rows, queries[1].factors[c], q[b]);
        }
    weigh(task, p, &queries[0], weights[0]);
    weigh(task, q, &queries[1], weights[1]);
}

static inline void add_values(const struct slab *slab, int k, const int8 weights[2][STEP / 16],
                              struct query queries[2])
{
    const __local int *blocks = slab->values + k * (DIM / 2);

#pragma unroll
    for (int b = 0; b < STEP / 16; b++)
#pragma unroll
        for (int c = 0; c < DIM / 8; c++) {
            ROWS rows = rows_of(blocks + (b * (DIM / 8) + c) * BLOCK);
            queries[0].sums[c] = multiply(rows, weights[0][b], queries[0].sums[c]);
            queries[1].sums[c] = multiply(rows, weights[1][b], queries[1].sums[c]);
        }
}

/* out: of the place to which what comes of query a goes. */
static inline void store_query(const struct task *task, int a, const struct query *query,
                               __global ushort *out)
{
    const struct vrt_kernel_attend *e = task->e;
    const int row = row_of(e, task->window, a + task->row);
    __global int *to = (__global int *)(out + (long)row * e->width + e->column +
                                        task->head * e->dim);
    const float scale = 1 / query->total;

#pragma unroll
    for (int c = 0; c < DIM / 8; c++) {
        const float8 x = query->sums[c] * scale;
        const int4 pairs = (int4)(pair_of(x.s0, x.s1), pair_of(x.s2, x.s3), pair_of(x.s4, x.s5),
                                  pair_of(x.s6, x.s7));
        const int n = e->dim - 8 * c;
        if (n >= 8)
            vstore4(pairs, c, to);
        else if (n >= 4)
            vstore2(pairs.lo, 2 * c, to);
        if (n == 2)
            to[4 * c] = pairs.x;
        else if (n == 6)
            to[4 * c + 2] = pairs.z;
    }
}

/* qkv [places of the padded clip,3C], out [the same,width]; table [entries,heads] */
__kernel ATTEND_GROUP
void NAME(struct vrt_kernel_attend e, __global ushort *out, const __global ushort *qkv,
          const __global float *table)
{
    __local int keys[KEYS * DIM / 2], values[KEYS * DIM / 2];
    __local int labels[KEYS], codes[KEYS];
    __local float biases[MAX_BIASES], added[ITEMS * 16];
    const int t = (int)get_local_id(0);
    struct slab slab = { keys, values, { 0, false, labels, codes, biases }, added };
    struct query queries[2];
    int8 weights[2][STEP / 16];
    struct task task;

    START_TASK(&e, table, sqrt((float)e.dim), &task);
    qkv += task.head * e.dim;
    const int a = task.first + t / LANES * 2 * LANES + t % LANES;
    start_query(&task, qkv, min(a, task.last), &queries[0]);
    start_query(&task, qkv, min(a + LANES, task.last), &queries[1]);
    for (int first = 0; first < e.n; first += KEYS) {
        barrier(CLK_LOCAL_MEM_FENCE);
        copy(&task, qkv, first, &slab);
        slab.meaning.first = first;
        find_meaning(&task, KEYS, &slab.meaning);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < KEYS && first + k < e.n; k += STEP) {
            meet(&task, &slab, k, queries, weights);
            add_values(&slab, k, weights, queries);
        }
    }
    if (a < e.n)
        store_query(&task, a, &queries[0], out);
    if (a + LANES < e.n)
        store_query(&task, a + LANES, &queries[1], out);
}
