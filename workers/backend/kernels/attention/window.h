/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Which places a window has, and what queries and keys are to each other by where they are
 *
 * Divisions by what is known only at run time are few, and none is in a loop: they cost a GPU more
 * than a head's products do. Who includes this defines QUERIES, of a group.
 */

#include "backend/kernels/view.h"

/* Added to a score where query and key are no neighbours: only the roll brought them together. */
#define APART (-100.0f)

/* t / n for t up to a million, a window's places being far less: what is rounded down is by half of
 * 1 / n away from whole numbers, which is more than it is off by. */
static inline int quotient(int t, int n)
{
    return (int)(((float)t + 0.5f) * native_recip((float)n));
}

/* Where the group's window begins in the rolled clip. */
static inline void find_window(const ARG struct vrt_kernel_attend *e, int window,
                               PRIVATE int *origin)
{
    const int line = window / e->along_w, d = line / e->along_h;

    origin[0] = d * e->size[0];
    origin[1] = (line - d * e->along_h) * e->size[1];
    origin[2] = (window - line * e->along_w) * e->size[2];
}

/* Whether the roll brought some of its places together. */
static inline bool is_mixed(const ARG struct vrt_kernel_attend *e, const PRIVATE int *origin)
{
    return origin[0] + e->size[0] > e->seam[0] || origin[1] + e->size[1] > e->seam[1] ||
           origin[2] + e->size[2] > e->seam[2];
}

/* Where place t of the window is in the rolled clip. */
static inline void find_place(const ARG struct vrt_kernel_attend *e, const PRIVATE int *origin,
                              int t, PRIVATE int *at)
{
    const int area = e->size[1] * e->size[2];
    const int d = quotient(t, area), of_frame = t - d * area, h = quotient(of_frame, e->size[2]);

    at[0] = origin[0] + d;
    at[1] = origin[1] + h;
    at[2] = origin[2] + of_frame - h * e->size[2];
}

/* Where in the clip, not rolled, that is. */
static inline int unrolled(int at, int shift, int padded)
{
    return at + shift < padded ? at + shift : at + shift - padded;
}

/* Which place of the padded clip place t of the window is. */
static inline int row_of(const ARG struct vrt_kernel_attend *e, const PRIVATE int *origin, int t)
{
    int at[3];

    find_place(e, origin, t, at);
    return (unrolled(at[0], e->shift[0], e->padded[0]) * e->padded[1] +
            unrolled(at[1], e->shift[1], e->padded[1])) * e->padded[2] +
           unrolled(at[2], e->shift[2], e->padded[2]);
}

/* The same for places of the window that are neighbours: on one side of every seam. */
static inline int label_of(const ARG struct vrt_kernel_attend *e, const PRIVATE int *origin, int t)
{
    int at[3];

    find_place(e, origin, t, at);
    return (at[0] >= e->seam[0]) + 2 * (at[1] >= e->seam[1]) + 4 * (at[2] >= e->seam[2]);
}

/* In the bias table, whose entries are those of differences: greater, the greater t is. Counted in
 * windows of full size, of which one that was cut has the first places. */
static inline int code_of(const ARG struct vrt_kernel_attend *e, int t)
{
    const int area = e->full[1] * e->full[2];
    const int d = quotient(t, area), of_frame = t - d * area, h = quotient(of_frame, e->full[2]);
    const int side = 2 * e->full[2] - 1;

    return (d * (2 * e->full[1] - 1) + h) * side + of_frame - h * e->full[2];
}

/* What a group makes, and of what. */
struct task {
    const ARG struct vrt_kernel_attend *e;
    const GLOBAL float *table;
    int window[3];                  /* its first place, in the rolled clip */
    int head, part;                 /* part: which of a head's, as e->parts says */
    int query, key, row;            /* the first places of queries and keys, and for results */
    bool is_mixed;
    float unit;                     /* of scores: those of the formula times this */
    int first, last;                /* queries */
    int first_code, last_code;      /* of these; without a table all codes are 0 */
    int item, n_items;              /* who asks, of the group's */
};

/* Of the group x, y, z; item and n_items are filled in by the caller. */
static inline void start_group(const ARG struct vrt_kernel_attend *e, const GLOBAL float *table,
                               float unit, int x, int y, int z, PRIVATE struct task *task)
{
    const int run = quotient(y, e->heads);
    const int part = quotient(run, e->meetings), meeting = run - part * e->meetings;

    task->e = e;
    task->table = table;
    find_window(e, z, task->window);
    task->head = y - run * e->heads;
    task->part = part;
    task->query = meeting ? e->queries[1] : e->queries[0];
    task->key = meeting ? e->keys[1] : e->keys[0];
    task->row = meeting ? e->rows[1] : e->rows[0];
    task->is_mixed = is_mixed(e, task->window);
    task->unit = unit;
    task->first = x * QUERIES;
    task->last = min(task->first + QUERIES, e->n) - 1;
    task->first_code = e->has_table ? code_of(e, task->first) : 0;
    task->last_code = e->has_table ? code_of(e, task->last) : 0;
}

/* In a kernel: what its item's group makes. */
#define START_TASK(e, table, unit, task)                                                    \
    do {                                                                                    \
        start_group(e, table, unit, GROUP_ID(0), GROUP_ID(1), GROUP_ID(2), task);           \
        (task)->item = LOCAL_ID(0);                                                         \
        (task)->n_items = LOCAL_SIZE(0);                                                    \
    } while (0)

/* Entries of the bias table at hand, at most. */
#define MAX_BIASES (4 * QUERIES)

/* What keys at hand, `first` and on, mean for scores: by their places, in local memory. */
struct meaning {
    int first;
    bool is_simple;                 /* a query's code and a key's find what is added to a score */
    LOCAL int *labels, *codes;      /* of each key */
    LOCAL float *biases;            /* [MAX_BIASES]: entry i is that of the last query with the
                                     * first key, - i */
};

/* Copies n entries, beginning with that of two places whose codes differ by so much. */
static inline void copy_biases(const PRIVATE struct task *task, int difference, int n,
                               LOCAL float *biases)
{
    const ARG struct vrt_kernel_attend *e = task->e;
    const GLOBAL float *from = task->table + (e->base + difference - task->item) * e->heads +
                               task->head;

    for (int i = task->item; i < n; i += task->n_items, from -= task->n_items * e->heads)
        biases[i] = *from * task->unit;
}

/* For n keys, n being no more than the group's items, a multiple of 8. Where it is simple, codes
 * differ by 1 between keys 8 k .. 8 k + 7, and biases are in the order of keys. */
static inline void find_meaning(const PRIVATE struct task *task, int n,
                                PRIVATE struct meaning *meaning)
{
    const ARG struct vrt_kernel_attend *e = task->e;
    const int t = task->item, last = min(meaning->first + n, e->n) - 1;
    const int b = min(meaning->first + t, last);
    const int first_code = e->has_table ? code_of(e, meaning->first) : 0;
    const int last_code = e->has_table ? code_of(e, last) : 0;
    const int n_biases = task->last_code - task->first_code + last_code - first_code + 1;
    const bool is_at_hand = !e->has_table || (e->full[2] % 8 == 0 && n_biases <= MAX_BIASES);

    meaning->is_simple = is_at_hand && !task->is_mixed && meaning->first + n <= e->n;
    if (t < n) {
        meaning->codes[t] = !e->has_table ? 0 : code_of(e, b) -
                                                (meaning->is_simple ? first_code : 0);
        meaning->labels[t] = task->is_mixed ? label_of(e, task->window, b) : 0;
    }
    if (meaning->is_simple && e->has_table)
        copy_biases(task, task->last_code - first_code, n_biases, meaning->biases);
    else if (t < 8)
        meaning->biases[t] = 0;
}

/* What is added to the score of key k of these, which there is, and a query with this code and
 * label. */
static inline float added_to(const PRIVATE struct task *task,
                             const PRIVATE struct meaning *meaning, int k, int code, int label)
{
    const ARG struct vrt_kernel_attend *e = task->e;

    if (meaning->is_simple)
        return meaning->biases[task->last_code - code + meaning->codes[k]];
    const int entry = e->base + code - meaning->codes[k];
    const float x = e->has_table ? task->table[entry * e->heads + task->head] * task->unit : 0;
    return meaning->labels[k] == label ? x : x + APART * task->unit;
}
