/* SPDX-License-Identifier: MIT */
#pragma once

/* An ONNX graph of attention while it is read, and its constants. */

#include "engine/dag/onnx.h"
#include "model/carrier/sketch.h"

#define VRT_CARRIER_INPUTS_MAX 5

struct vrt_carrier_value {
    enum { VRT_CARRIER_OTHER, VRT_CARRIER_CONSTANT, VRT_CARRIER_DATA } kind;
    int node;                       /* of data */
    int axes, roll;                 /* that it is rolled along, and how far */
    bool is_cut;                    /* it is a part of a node: along axis, from start to end */
    int axis;
    int64_t start, end;
    bool is_clipped;
    struct vrt_onnx_constant source;    /* of the file's constants */
    int number;                     /* of the sketch's; 0: not read yet */
    bool is_made;                   /* of others: it has no source */
};

struct vrt_carrier_onnx {
    struct vrt_onnx_reader onnx;
    struct vrt_sketch *sketch;
    struct vrt_dag_names names;     /* of `values` */
    struct vrt_carrier_value *values;
    int n_values, capacity;
    const VrtPb__Node *node;        /* the operation that is read */
    struct vrt_carrier_value in[VRT_CARRIER_INPUTS_MAX];
    int places[VRT_CARRIER_INPUTS_MAX];         /* of them; -1: left out */
    int channels;                   /* of the picture; 0: not known yet */
};

/* The number of input i, a constant, in the sketch; it is read when it is asked for. 0: that
 * failed. */
int vrt_carrier_onnx_number(struct vrt_carrier_onnx *reader, int i);

/* Reads the constant that a node is. Return: 0, and what it is no constant of is VRT_CARRIER_OTHER;
 * -EINVAL with the sentence said. */
int vrt_carrier_onnx_constant(struct vrt_carrier_onnx *reader,
                              struct vrt_carrier_value *ret_value) VRT_MUST_CHECK;

/* Reads an operation of constants alone: what tables and weights become what is used by. Return: 0,
 * *ret_value as it was where it is another; -errno with the sentence said. */
int vrt_carrier_onnx_constants(struct vrt_carrier_onnx *reader, const char *type,
                               struct vrt_carrier_value *ret_value) VRT_MUST_CHECK;
