/* SPDX-License-Identifier: MIT */
#pragma once

/* Layers that several ops are made of. */

#include "backend/xpu/ops.h"

/* out = activation(norm(x) * weight + bias) * gate + residual, at the places of `out`; where x has
 * no such place, norm(x) is zeros. */
struct vrt_xpu_layer {
    struct vrt_xpu_view out, x;
    char *out_data;
    const char *x_data;
    const struct vrt_tensor *residual;      /* or NULL */
    struct vrt_xpu_view gate;       /* zeros: none */
    const char *gate_data;
    const struct vrt_op_norm *norm; /* or NULL */
    const char *stats;              /* by vrt_xpu_norm_stats(), where there is a norm */
    int weight, bias;               /* params; bias -1: none */
    enum vrt_activation activation; /* none or GELU */
    int window[2], shift[2];        /* of h and w; window 0: no position is added to norm(x) */
    int position;                   /* param [h * w,C] */
};

/* Appends a layer. Return: ze_result_t. */
ze_result_t vrt_xpu_layer(const struct vrt_xpu_call *call, const struct vrt_xpu_layer *layer);

/* Appends what norms the op's first input, to `stats`; nothing where there is no norm.
 * Return: ze_result_t. */
ze_result_t vrt_xpu_norm_stats(const struct vrt_xpu_call *call, const struct vrt_op_norm *norm,
                               char *stats);

/* Bytes of that, a multiple of 256. */
size_t vrt_xpu_stats_bytes(const struct vrt_op *op, const struct vrt_op_norm *norm);

/* A tensor without gaps. */
struct vrt_xpu_view vrt_xpu_dense_view(enum vrt_dtype dtype, struct vrt_shape shape);
