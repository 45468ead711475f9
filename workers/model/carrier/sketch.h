/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What a graph of attention computes, operation by operation, however its samples are moved about
 * between them; otherwise as planes.h has it
 *
 * Constant factors are moved behind products; a norm, and what GELU is made of, are one thing each
 * however they are written.
 *
 * Thread: any one at a time.
 */

#include <stdbool.h>
#include <stdint.h>

#include "engine/dag/dag.h"

#define VRT_SKETCH_DIMS_MAX 8

enum vrt_sketch_kind {
    VRT_SKETCH_INPUT,
    VRT_SKETCH_CONV,                /* at[0] with constants `weight` and `bias` */
    VRT_SKETCH_LINEAR,              /* at[0] times constant `weight`: [I,O], turned: [O,I] */
    VRT_SKETCH_MATMUL,              /* at[0] times at[1] */
    VRT_SKETCH_ADD, VRT_SKETCH_MUL, /* at[0] and at[1], the lower one first */
    VRT_SKETCH_SHIFT, VRT_SKETCH_SCALE,     /* at[0] and the numbers of constant `weight` */
    VRT_SKETCH_AFFINE,              /* at[0] * by[0] + by[1] */
    VRT_SKETCH_MASK,                /* at[0] plus a mask: nothing, or, by[0], of shifted windows */
    VRT_SKETCH_NORM,                /* at[0], less its mean, by its deviation; epsilon by[0] */
    VRT_SKETCH_MEAN, VRT_SKETCH_ROOT,       /* of at[0] */
    VRT_SKETCH_SOFTMAX, VRT_SKETCH_ERF,
    VRT_SKETCH_LEAKY,               /* slope by[0] */
    VRT_SKETCH_NEAREST,             /* at[0], by[0] times as large */
    VRT_SKETCH_PART,                /* number by[0] of three of at[0] */
    VRT_SKETCH_ROLL,                /* at[0], rolled by by[0] places in both directions */
};

struct vrt_sketch_node {
    enum vrt_sketch_kind kind;
    int at[2];
    int weight, bias;               /* constants, counted from 1; 0: none */
    int is_turned;
    float by[2];
};

/* Numbers of the file's. */
struct vrt_sketch_constant {
    int n_dims;
    int64_t dims[VRT_SKETCH_DIMS_MAX];
    int64_t n;
    float *values;                  /* owned */
};

/* Embedded by value; but for `dag`, zero-filled is empty. */
struct vrt_sketch {
    struct vrt_dag *dag;            /* whose messages are used */
    struct vrt_sketch_node *nodes;
    int n_nodes, capacity;
    struct vrt_sketch_constant *constants;
    int n_constants, constants_capacity;
    int r;                          /* the first failure, said: nodes are 0 after it */
};

void vrt_sketch_done(struct vrt_sketch *sketch);

/* Fills the error unless something failed before. Return: the first failure. */
int vrt_sketch_refuse(struct vrt_sketch *sketch, const char *format, ...) VRT_PRINTF(2, 3);

/* A constant of these dimensions, whose values are taken over; NULL: they are to be filled in.
 * Return: its number, from 1 on; 0 where it failed. */
int vrt_sketch_constant_new(struct vrt_sketch *sketch, const int64_t *dims, int n_dims,
                            float *values);

/* The constant; it stays where it is until the next one comes. */
struct vrt_sketch_constant *vrt_sketch_constant(const struct vrt_sketch *sketch, int number);

/* The following make nodes. Return: its number; 0 where sketch->r is a failure. */

/* As `node` says, which needs no rule. */
int vrt_sketch_node(struct vrt_sketch *sketch, const struct vrt_sketch_node *node);
int vrt_sketch_affine(struct vrt_sketch *sketch, int x, float scale, float shift);
int vrt_sketch_add(struct vrt_sketch *sketch, int a, int b);
int vrt_sketch_sub(struct vrt_sketch *sketch, int a, int b);
int vrt_sketch_mul(struct vrt_sketch *sketch, int a, int b);
int vrt_sketch_div(struct vrt_sketch *sketch, int a, int b);
int vrt_sketch_matmul(struct vrt_sketch *sketch, int a, int b);

/* x with the numbers of a constant: SHIFT or SCALE. */
int vrt_sketch_with(struct vrt_sketch *sketch, enum vrt_sketch_kind kind, int x, int constant);

/* The first node of that kind that reads x first; -1: there is none. */
int vrt_sketch_find(const struct vrt_sketch *sketch, enum vrt_sketch_kind kind, int x);
