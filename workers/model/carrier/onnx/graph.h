/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * An ONNX graph of a known network while it is read, for a picture of one size
 *
 * What is computed of constants and of sizes alone is computed here; what is computed of pictures
 * is for who knows the network, operation by operation, with the shapes that it has at that size.
 *
 * Thread: any one at a time.
 */

#include "engine/checkpoint/arena.h"
#include "engine/dag/onnx.h"

#define VRT_CARRIER_INPUTS_MAX 16

/* Numbers that are held at once. */
#define VRT_CARRIER_NUMBERS_MAX (INT64_C(1) << 24)

struct vrt_carrier_shape {
    int n_dims;
    int64_t dims[VRT_ONNX_DIMS_MAX];
};

/* What a name stands for. */
struct vrt_carrier_value {
    enum {
        VRT_CARRIER_OTHER,          /* what isn't followed */
        VRT_CARRIER_NUMBERS,        /* that are known */
        VRT_CARRIER_DATA,           /* of pictures: `data` is the network's number of it */
    } kind;
    struct vrt_carrier_shape shape;
    int data;
    struct vrt_onnx_constant source;    /* of numbers in the file */
    float *values;                  /* owned; NULL: they aren't read yet, or needed any more */
    bool is_whole;                  /* of numbers: integers, which are divided as such */
};

struct vrt_carrier_onnx {
    struct vrt_onnx_reader onnx;
    struct vrt_cp_arena arena;
    const VrtPb__Graph *graph;
    const char *network;            /* what it would be: static */
    int64_t height, width;          /* of pictures, where the file leaves them open */
    struct vrt_dag_names uses;      /* by operations that are still to be read: how many */
    struct vrt_dag_names names;     /* of `values` */
    struct vrt_carrier_value *values;
    int n_values, capacity;
    int64_t n_live, n_computed;     /* numbers that are held, that were computed so far */

    /* The operation that is read. */
    const VrtPb__Node *node;
    int n_in, places[VRT_CARRIER_INPUTS_MAX];   /* of its inputs; -1: left out */
    size_t output;
    struct vrt_carrier_shape shape; /* of this output */
};

/* An operation that reads pictures: the network's number of what it makes, anything where it said
 * that it failed. */
struct vrt_carrier_op {
    const char *type;
    int (*read)(void *network);
};

/* Takes the file apart. Return: 0; -EINVAL, -errno, the sentence said. */
int vrt_carrier_onnx_open(struct vrt_carrier_onnx *onnx, const struct vrt_dag_file *file,
                          struct vrt_dag *dag) VRT_MUST_CHECK;

void vrt_carrier_onnx_done(struct vrt_carrier_onnx *onnx);

/* Whether the graph has an operation of this type. */
bool vrt_carrier_onnx_has(const struct vrt_carrier_onnx *onnx, const char *type);

/* Input `i` of those that aren't constants. Return: NULL: there are fewer. */
const VrtPb__ValueInfo *vrt_carrier_onnx_input(const struct vrt_carrier_onnx *onnx, int i);

/* The shape of a picture that comes in, with 0 for channels that the file leaves open. Return:
 * whether it has one. */
bool vrt_carrier_onnx_shape_of(const struct vrt_carrier_onnx *onnx, const VrtPb__ValueInfo *input,
                               struct vrt_carrier_shape *ret_shape);

/* From now on the input is this data. Return: 0; -EINVAL, -ENOMEM with the sentence said. */
int vrt_carrier_onnx_put_input(struct vrt_carrier_onnx *onnx, const VrtPb__ValueInfo *input,
                               int data, const struct vrt_carrier_shape *shape) VRT_MUST_CHECK;

/* Reads constants; to be called before inputs are put. Return: as vrt_carrier_onnx_open(). */
int vrt_carrier_onnx_read_constants(struct vrt_carrier_onnx *onnx) VRT_MUST_CHECK;

/* Reads all operations, until *r, where the network says that it failed, isn't 0. Return: 0; *r;
 * -EINVAL, -ENOMEM with the sentence said. */
int vrt_carrier_onnx_read(struct vrt_carrier_onnx *onnx, const struct vrt_carrier_op *ops,
                          void *network, const int *r) VRT_MUST_CHECK;

/* The one result, made of pictures. Messages are about the file from now on. Return: NULL: there
 * are more, or it is something else. */
const struct vrt_carrier_value *vrt_carrier_onnx_result(const struct vrt_carrier_onnx *onnx);

/* The following are about the operation that is read. */

/* Input `i`: NULL where it is left out. It stays where it is until the operation is read. */
struct vrt_carrier_value *vrt_carrier_onnx_in(const struct vrt_carrier_onnx *onnx, int i);

/* Room for n numbers, the caller's to free; NULL: there is no memory, with the sentence said. */
float *vrt_carrier_onnx_alloc(const struct vrt_carrier_onnx *onnx, int64_t n);

/* The numbers of input i: NULL where it has none, or there is no memory for them, with the sentence
 * said. */
const float *vrt_carrier_onnx_numbers(struct vrt_carrier_onnx *onnx, int i);

/* A copy of them, the caller's to free. Return: 0; -EINVAL, -ENOMEM with the sentence said. */
int vrt_carrier_onnx_take(struct vrt_carrier_onnx *onnx, int i, float **ret_values) VRT_MUST_CHECK;

/* The integers of attribute `name`, else of input i. Return: how many, up to VRT_ONNX_DIMS_MAX; 0:
 * there are none; -1: they aren't known, or more. */
int vrt_carrier_onnx_integers(struct vrt_carrier_onnx *onnx, const char *name, int i,
                              int64_t *ret_integers);

/* Whether it is a convolution of this stride with `pad` zeros at each edge, and plain otherwise. */
bool vrt_carrier_onnx_is_conv(struct vrt_carrier_onnx *onnx, int64_t stride, int64_t pad);

/* Whether input i is one number. */
bool vrt_carrier_onnx_number(struct vrt_carrier_onnx *onnx, int i, float *ret_number);

/* Whether it cuts off nothing but what isn't from 0 to 1. */
bool vrt_carrier_onnx_is_clip(struct vrt_carrier_onnx *onnx);

static inline int64_t vrt_carrier_shape_n(const struct vrt_carrier_shape *shape)
{
    int64_t n = 1;

    for (int d = 0; d < shape->n_dims; d++)
        if (__builtin_mul_overflow(n, shape->dims[d], &n))
            return INT64_MAX;
    return n;
}

/* Places onnx->shape by the operation's type. Return: whether it is known. */
bool vrt_carrier_onnx_shape(struct vrt_carrier_onnx *onnx);

/* A limit of a slice, within n places. */
int64_t vrt_carrier_limit(int64_t limit, int64_t n);

/* An axis that may be counted from the end. Return: -1: there is no such. */
static inline int vrt_carrier_axis(int64_t axis, int n_dims)
{
    return axis >= -n_dims && axis < n_dims ? (int)(axis < 0 ? axis + n_dims : axis) : -1;
}

/* Likewise, of the attribute: by default the first. */
static inline int vrt_carrier_onnx_axis(const struct vrt_carrier_onnx *onnx, int n_dims)
{
    return vrt_carrier_axis(vrt_onnx_int(onnx->node, "axis", 0), n_dims);
}

/* Computes numbers of numbers alone, and of sizes, in the shape that was found. Return: whether
 * that is known. */
bool vrt_carrier_onnx_compute(struct vrt_carrier_onnx *onnx, struct vrt_carrier_value *ret_value);
