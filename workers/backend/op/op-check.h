/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Checks of single ops, private to op-check*.c: whether shapes and attributes are such as op.h
 * says, types and number of tensors having been looked at. Each returns NULL, or what is wrong.
 */

#include "backend/op/op.h"

static inline bool vrt_op_in_range(int value, int low, int high)
{
    return value >= low && value <= high;
}

/* Whether both stand on the same frames, rows and columns. */
static inline bool vrt_op_same_places(struct vrt_shape a, struct vrt_shape b)
{
    return a.d == b.d && a.h == b.h && a.w == b.w;
}

/* Of each: NULL, or what is wrong. */
const char *vrt_op_check_linear(const struct vrt_op *op);
const char *vrt_op_check_layernorm(const struct vrt_op *op);
const char *vrt_op_check_window_attention(const struct vrt_op *op);
const char *vrt_op_check_geglu(const struct vrt_op *op);
const char *vrt_op_check_deform_conv2d(const struct vrt_op *op);
const char *vrt_op_check_flow_offsets(const struct vrt_op *op);
const char *vrt_op_check_warp(const struct vrt_op *op);
