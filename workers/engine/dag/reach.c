/* SPDX-License-Identifier: MIT */
/* How far a pixel sees, and of which sizes a graph's nodes are whole. */

#include <limits.h>
#include <stdlib.h>

#include "base/macro.h"
#include "engine/dag/dag.h"

/* Rows (or columns) of a node's picture; first > last: none. */
struct span {
    int64_t first, last;
};

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* The rows of its input `k` that rows `span` of a node are made of; size_k is that input's. */
static struct span seen(const struct vrt_dag_node *node, const struct vrt_dag_node *in, int k,
                        struct span span)
{
    /* Its size is that of the input times p / q. */
    const int64_t p = (int64_t)node->num * in->den, q = (int64_t)node->den * in->num;

    if (node->kind == VRT_DAG_CONV && k == 0)
        return (struct span){ span.first - node->kernel / 2, span.last + node->kernel / 2 };
    if (node->kind == VRT_DAG_RESIZE && node->mode == VRT_RESIZE_BILINEAR)
        return (struct span){ floor_div((2 * span.first + 1) * q - p, 2 * p),
                              floor_div((2 * span.last + 1) * q - p, 2 * p) + 1 };
    if (node->kind == VRT_DAG_BICUBIC)
        return (struct span){ floor_div((2 * span.first + 1) * q - p, 2 * p) - 1,
                              floor_div((2 * span.last + 1) * q - p, 2 * p) + 2 };
    if (node->kind == VRT_DAG_UNSHUFFLE)
        return (struct span){ span.first * node->r, span.last * node->r + node->r - 1 };
    return (struct span){ floor_div(span.first * q, p), floor_div(span.last * q, p) };
}

static void widen(struct span *span, struct span by)
{
    if (span->first > span->last) {
        *span = by;
        return;
    }
    span->first = VRT_MIN(span->first, by.first);
    span->last = VRT_MAX(span->last, by.last);
}

int vrt_dag_multiple(const struct vrt_dag *dag)
{
    int multiple = VRT_MAX(dag->edge, 1);

    for (int i = 0; i < dag->n_nodes; i++) {
        const int den = dag->nodes[i].den, before = multiple;

        while (multiple % den != 0 && multiple <= INT_MAX - before)
            multiple += before;
    }
    return multiple;
}

/* For row `place` of the result: how far from its own row of the input others reach it. */
static int64_t reach_of(const struct vrt_dag *dag, struct span *spans, int place)
{
    const int64_t own = place / dag->nodes[dag->result].num;

    for (int i = 0; i < dag->n_nodes; i++)
        spans[i] = (struct span){ 0, -1 };
    spans[dag->result] = (struct span){ place, place };
    for (int i = dag->result; i > 0; i--) {
        const struct vrt_dag_node *node = &dag->nodes[i];

        for (int k = 0; k < node->n_in && spans[i].first <= spans[i].last; k++)
            widen(&spans[node->in[k]], seen(node, &dag->nodes[node->in[k]], k, spans[i]));
    }
    return VRT_MAX(own - spans[0].first, spans[0].last - own);
}

int vrt_dag_radius(const struct vrt_dag *dag)
{
    VRT_CLEANUP(vrt_freep) struct span *spans = calloc((size_t)dag->n_nodes, sizeof(*spans));
    const int n_places = dag->nodes[dag->result].num * vrt_dag_multiple(dag);
    int64_t radius = 1;

    /* Each place of the square that the smallest pixel becomes is another's neighbour. */
    for (int place = 0; spans && place < n_places; place++)
        radius = VRT_MAX(radius, reach_of(dag, spans, place));
    return spans ? (int)VRT_MIN(radius, INT_MAX / 4) : -1;
}
