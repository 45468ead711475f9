/* SPDX-License-Identifier: MIT */
#pragma once

/* Layers that several ops are made of. */

#include "backend/kernels/ops.h"

/* out = activation(norm(x) * weight + bias) * gate + residual, at the places of `out`; where x has
 * no such place, norm(x) is zeros. */
struct vrt_kernel_layer {
    struct vrt_kernel_view out, x;
    struct vrt_kernel_place out_data, x_data;
    const struct vrt_tensor *residual;      /* or NULL */
    struct vrt_kernel_view gate;       /* zeros: none */
    struct vrt_kernel_place gate_data;
    const struct vrt_op_norm *norm; /* or NULL */
    struct vrt_kernel_place stats;  /* by vrt_kernel_norm_stats(), where there is a norm */
    int weight, bias;               /* params; bias -1: none */
    enum vrt_activation activation; /* none or GELU */
    int window[2], shift[2];        /* of h and w; window 0: no position is added to norm(x) */
    int position;                   /* param [h * w,C] */
};

/* Runs a layer. Return: as vrt_kernel_run(). */
int vrt_kernel_layer(const struct vrt_kernel_call *call, const struct vrt_kernel_layer *layer);

/* Has what norms the op's first input written to `stats`; nothing where there is no norm.
 * Return: as vrt_kernel_run(). */
int vrt_kernel_norm_stats(const struct vrt_kernel_call *call, const struct vrt_op_norm *norm,
                          struct vrt_kernel_place stats);

/* Bytes of that, a multiple of 256. */
size_t vrt_kernel_stats_bytes(const struct vrt_op *op, const struct vrt_op_norm *norm);
