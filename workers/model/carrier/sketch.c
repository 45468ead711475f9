/* SPDX-License-Identifier: MIT */

#include "model/carrier/sketch.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"

#define NODES_MAX 8192

void vrt_sketch_done(struct vrt_sketch *sketch)
{
    for (int i = 0; i < sketch->n_constants; i++)
        free(sketch->constants[i].values);
    free(sketch->constants);
    free(sketch->nodes);
}

int vrt_sketch_refuse(struct vrt_sketch *sketch, const char *format, ...)
{
    char why[240];
    va_list args;

    if (sketch->r < 0)
        return sketch->r;
    va_start(args, format);
    vsnprintf(why, sizeof(why), format, args);
    va_end(args);
    sketch->r = vrt_dag_refuse(sketch->dag, "%s", why);
    return sketch->r;
}

/* Has room for one more of what has `*capacity` now. Return: the new place; NULL: that failed. */
static void *grown(struct vrt_sketch *sketch, void *items, int *capacity, size_t item_bytes)
{
    const int n = *capacity ? 2 * *capacity : 256;
    void *larger = reallocarray(items, (size_t)n, item_bytes);

    if (larger)
        *capacity = n;
    else if (sketch->r == 0)
        sketch->r = vrt_refuse_errno(sketch->dag->error, vrt_raise(-ENOMEM), sketch->dag->source);
    return larger;
}

/* Fills in what follows from the dimensions. */
static void set_dims(struct vrt_sketch *sketch, struct vrt_sketch_constant *constant,
                     const int64_t *dims)
{
    constant->n = 1;
    for (int d = 0; d < constant->n_dims; d++) {
        constant->dims[d] = dims[d];
        if (dims[d] < 1 || __builtin_mul_overflow(constant->n, dims[d], &constant->n))
            vrt_sketch_refuse(sketch, "has a constant without numbers");
    }
}

int vrt_sketch_constant_new(struct vrt_sketch *sketch, const int64_t *dims, int n_dims,
                            float *values)
{
    struct vrt_sketch_constant constant = { .n_dims = n_dims, .values = values };

    set_dims(sketch, &constant, dims);
    if (sketch->r == 0 && sketch->n_constants == sketch->constants_capacity) {
        struct vrt_sketch_constant *larger = grown(sketch, sketch->constants,
                                                   &sketch->constants_capacity, sizeof(*larger));
        sketch->constants = larger ? larger : sketch->constants;
    }
    if (sketch->r == 0 && !values)
        sketch->r = vrt_dag_alloc(sketch->dag, constant.n, &constant.values);
    if (sketch->r < 0) {
        free(values);
        return 0;
    }
    sketch->constants[sketch->n_constants++] = constant;
    return sketch->n_constants;
}

struct vrt_sketch_constant *vrt_sketch_constant(const struct vrt_sketch *sketch, int number)
{
    return &sketch->constants[number - 1];
}

int vrt_sketch_node(struct vrt_sketch *sketch, const struct vrt_sketch_node *node)
{
    if (sketch->r < 0)
        return 0;
    for (int i = 0; i < sketch->n_nodes; i++)
        if (memcmp(&sketch->nodes[i], node, sizeof(*node)) == 0)
            return i;
    if (sketch->n_nodes == NODES_MAX) {
        vrt_sketch_refuse(sketch, "is one of more operations than a network of attention has");
        return 0;
    }
    if (sketch->n_nodes == sketch->capacity) {
        struct vrt_sketch_node *larger = grown(sketch, sketch->nodes, &sketch->capacity,
                                               sizeof(*larger));
        if (!larger)
            return 0;
        sketch->nodes = larger;
    }
    sketch->nodes[sketch->n_nodes] = *node;
    return sketch->n_nodes++;
}

int vrt_sketch_affine(struct vrt_sketch *sketch, int x, float scale, float shift)
{
    if (sketch->r < 0)
        return 0;
    const struct vrt_sketch_node of = sketch->nodes[x];

    if (of.kind == VRT_SKETCH_AFFINE)
        return vrt_sketch_affine(sketch, of.at[0], of.by[0] * scale, of.by[1] * scale + shift);
    if (scale == 1 && shift == 0)
        return x;
    return vrt_sketch_node(sketch, &(struct vrt_sketch_node){
        .kind = VRT_SKETCH_AFFINE, .at = { x }, .by = { scale, shift + 0.0f } });
}

static int ordered(struct vrt_sketch *sketch, enum vrt_sketch_kind kind, int a, int b)
{
    return vrt_sketch_node(sketch, &(struct vrt_sketch_node){
        .kind = kind, .at = { VRT_MIN(a, b), VRT_MAX(a, b) } });
}

int vrt_sketch_add(struct vrt_sketch *sketch, int a, int b)
{
    return ordered(sketch, VRT_SKETCH_ADD, a, b);
}

int vrt_sketch_sub(struct vrt_sketch *sketch, int a, int b)
{
    return vrt_sketch_add(sketch, a, vrt_sketch_affine(sketch, b, -1, 0));
}

/* Where x is a factor times something else: *x becomes that. */
static void take_factor(struct vrt_sketch *sketch, int *x, float *factor)
{
    if (sketch->r < 0)
        return;
    const struct vrt_sketch_node of = sketch->nodes[*x];

    if (of.kind != VRT_SKETCH_AFFINE || of.by[0] == 0)
        return;
    *factor *= of.by[0];
    *x = vrt_sketch_affine(sketch, of.at[0], 1, of.by[1] / of.by[0]);
}

int vrt_sketch_mul(struct vrt_sketch *sketch, int a, int b)
{
    float factor = 1;

    take_factor(sketch, &a, &factor);
    take_factor(sketch, &b, &factor);
    return vrt_sketch_affine(sketch, ordered(sketch, VRT_SKETCH_MUL, a, b), factor, 0);
}

int vrt_sketch_matmul(struct vrt_sketch *sketch, int a, int b)
{
    float factor = 1;

    take_factor(sketch, &a, &factor);
    take_factor(sketch, &b, &factor);
    const int product = vrt_sketch_node(sketch, &(struct vrt_sketch_node){
        .kind = VRT_SKETCH_MATMUL, .at = { a, b } });
    return vrt_sketch_affine(sketch, product, factor, 0);
}

/* A norm is d / sqrt(mean(d * d) + epsilon), d = x - mean(x). */
int vrt_sketch_div(struct vrt_sketch *sketch, int a, int b)
{
    if (sketch->r < 0)
        return 0;
    const struct vrt_sketch_node *n = sketch->nodes, *root = &n[b];
    const struct vrt_sketch_node *sum = &n[root->at[0]], *mean = &n[sum->at[0]];
    const struct vrt_sketch_node *square = &n[mean->at[0]], *d = &n[a];

    if (root->kind != VRT_SKETCH_ROOT || sum->kind != VRT_SKETCH_AFFINE || sum->by[0] != 1 ||
        mean->kind != VRT_SKETCH_MEAN || square->kind != VRT_SKETCH_MUL || square->at[0] != a ||
        square->at[1] != a || d->kind != VRT_SKETCH_ADD) {
        vrt_sketch_refuse(sketch, "divides by something else than a deviation");
        return 0;
    }
    for (int k = 0; k < 2; k++) {
        const struct vrt_sketch_node *less = &n[d->at[1 - k]];

        if (less->kind == VRT_SKETCH_AFFINE && less->by[0] == -1 && less->by[1] == 0 &&
            n[less->at[0]].kind == VRT_SKETCH_MEAN && n[less->at[0]].at[0] == d->at[k])
            return vrt_sketch_node(sketch, &(struct vrt_sketch_node){
                .kind = VRT_SKETCH_NORM, .at = { d->at[k] }, .by = { sum->by[1] } });
    }
    vrt_sketch_refuse(sketch, "divides by something else than a deviation");
    return 0;
}

int vrt_sketch_with(struct vrt_sketch *sketch, enum vrt_sketch_kind kind, int x, int constant)
{
    return vrt_sketch_node(sketch, &(struct vrt_sketch_node){
        .kind = kind, .at = { x }, .weight = constant });
}

int vrt_sketch_find(const struct vrt_sketch *sketch, enum vrt_sketch_kind kind, int x)
{
    for (int i = 0; sketch->r == 0 && i < sketch->n_nodes; i++)
        if (sketch->nodes[i].kind == kind && sketch->nodes[i].at[0] == x)
            return i;
    return -1;
}
