/* SPDX-License-Identifier: MIT */
#pragma once

/* An ONNX graph while it is read: what its names stand for, and the table of its operations. */

#include "engine/dag/arith.h"
#include "engine/dag/names.h"
#include "engine/dag/read.h"
#include "engine/dag/onnx.pb-c.h"

struct vrt_cp_arena;

#define VRT_ONNX_DIMS_MAX 8
#define VRT_ONNX_PROBES 16
#define VRT_ONNX_SIZES_MAX 64

/* A constant of the file. */
struct vrt_onnx_constant {
    const VrtPb__Tensor *tensor;    /* NULL: one of a node's attributes */
    const VrtPb__Attribute *attribute;
    int n_dims;
    int64_t dims[VRT_ONNX_DIMS_MAX];
    int64_t n;
};

/* Numbers that follow from the picture's size: for each of those that the graph is tried with. */
struct vrt_onnx_sizes {
    int n_dims, dims[2];            /* n_dims 0: a single one */
    int n;
    bool is_whole;                  /* integers, which are divided as such */
    double *v;                      /* [n][n_probes], the arena's */
};

/* What a name stands for: a node of ours, a constant, a node that is seen in more dimensions than
 * four until pixels were moved between them, or numbers. */
struct vrt_onnx_value {
    enum { VRT_ONNX_NODE, VRT_ONNX_CONSTANT, VRT_ONNX_VIEW, VRT_ONNX_SIZES } kind;
    int node;
    bool is_raw;                    /* the input as it comes, without an edge */
    int cropped;                    /* that an edge was cut off again: 1: rows, 2: columns */
    bool is_clipped;                /* to what can be shown */
    bool is_padded;                 /* with dimensions of 1, which go again */
    struct vrt_onnx_constant constant;
    int n_dims;                     /* of a view */
    int64_t dims[VRT_ONNX_DIMS_MAX];
    bool is_moved;                  /* of a view: it was transposed, .. */
    enum vrt_dag_kind moves;        /* .. by which pixels are shuffled so, .. */
    int r;                          /* .. by squares of this side */
    struct vrt_onnx_sizes sizes;
};

struct vrt_onnx_reader {
    const struct vrt_dag_file *file;
    struct vrt_dag *dag;
    struct vrt_dag_names names;     /* of `values` */
    struct vrt_onnx_value *values;
    int n_values, capacity;
    const VrtPb__Node *node;        /* the operation that is read */
    struct vrt_cp_arena *arena;
    int64_t opset;                  /* the version of the operations */
    int n_probes;                   /* sizes of the picture that it is tried with: */
    double probes[2][VRT_ONNX_PROBES];      /* heights, widths */
    bool has_edge;                  /* the picture is padded, by: */
    double edge[2][VRT_ONNX_PROBES];        /* rows at the bottom, columns on the right */
    bool is_raw_read;               /* an operation has read it without */
};

/* Takes the file apart, in the reader's arena. Return: 0; -EINVAL, -errno, the sentence said. */
int vrt_onnx_unpack(struct vrt_onnx_reader *reader,
                    const VrtPb__Graph **ret_graph) VRT_MUST_CHECK;

/* The reader's arena has no more. Return: -EINVAL, its budget is spent; -ENOMEM; with the sentence
 * said. */
int vrt_onnx_refuse_memory(const struct vrt_onnx_reader *reader);

/* The text, or "" where it is absent. */
static inline const char *vrt_onnx_text(const char *text)
{
    return text ? text : "";
}

/* Input `i` of the operation: NULL where it is absent or left out. */
const struct vrt_onnx_value *vrt_onnx_in(const struct vrt_onnx_reader *reader, size_t i);

/* The attribute, or NULL. */
const VrtPb__Attribute *vrt_onnx_attribute(const VrtPb__Node *node, const char *name);

/* Whether an attribute that is text, if it is there, else `otherwise`, is `wanted`. */
bool vrt_onnx_is(const VrtPb__Node *node, const char *name, const char *otherwise,
                 const char *wanted);

/* The attribute's number, or `otherwise`. */
int64_t vrt_onnx_int(const VrtPb__Node *node, const char *name, int64_t otherwise);
float vrt_onnx_float(const VrtPb__Node *node, const char *name, float otherwise);

/* What a tensor says of itself is held against its data. Return: 0; -EINVAL with the sentence
 * said. */
int vrt_onnx_constant_of(struct vrt_onnx_reader *reader, const VrtPb__Tensor *tensor,
                         struct vrt_onnx_constant *ret_constant) VRT_MUST_CHECK;

/* The constant's numbers, the caller's to free. Return: as vrt_dag_alloc(). */
int vrt_onnx_numbers(struct vrt_onnx_reader *reader, const struct vrt_onnx_constant *constant,
                     float **ret_values) VRT_MUST_CHECK;

/* Number `i` of a constant of integers, or of anything. Return: 0 where it has no such. */
int64_t vrt_onnx_integer(const struct vrt_onnx_constant *constant, int64_t i);

/* Reads the operation: what its output is. Return: 0; -EINVAL, -ENOMEM with the sentence said. */
int vrt_onnx_operate(struct vrt_onnx_reader *reader,
                     struct vrt_onnx_value *ret_value) VRT_MUST_CHECK;

/* Those that give a picture an edge, and cut it off. Return: as vrt_onnx_operate(). */
int vrt_onnx_pad(struct vrt_onnx_reader *reader, struct vrt_onnx_value *ret_value) VRT_MUST_CHECK;
int vrt_onnx_slice(struct vrt_onnx_reader *reader,
                   struct vrt_onnx_value *ret_value) VRT_MUST_CHECK;

/* Those that move or resize pixels. Return: as of vrt_dag_conv(). */
int vrt_onnx_resize(struct vrt_onnx_reader *reader, int x) VRT_MUST_CHECK;
int vrt_onnx_reshape(struct vrt_onnx_reader *reader,
                     struct vrt_onnx_value *ret_value) VRT_MUST_CHECK;
int vrt_onnx_unsqueeze(struct vrt_onnx_reader *reader,
                       struct vrt_onnx_value *ret_value) VRT_MUST_CHECK;
int vrt_onnx_squeeze(struct vrt_onnx_reader *reader,
                     struct vrt_onnx_value *ret_value) VRT_MUST_CHECK;
int vrt_onnx_transpose(struct vrt_onnx_reader *reader,
                       struct vrt_onnx_value *ret_value) VRT_MUST_CHECK;
