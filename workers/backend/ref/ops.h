/* SPDX-License-Identifier: MIT */
#pragma once

/* The ops as the reference device runs them: a file each, named after it; shapes are in op.h. */

#include <stddef.h>

#include "backend/op/tensor.h"

struct vrt_op;
struct vrt_ref_replica;
struct vrt_ref_run;

/* Each runs `run` to its end. */
void vrt_ref_conv2d(const struct vrt_ref_run *run);
void vrt_ref_linear(const struct vrt_ref_run *run);
void vrt_ref_layernorm(const struct vrt_ref_run *run);
void vrt_ref_window_attention(const struct vrt_ref_run *run);
void vrt_ref_geglu(const struct vrt_ref_run *run);
void vrt_ref_deform_conv2d(const struct vrt_ref_run *run);
void vrt_ref_flow_offsets(const struct vrt_ref_run *run);
void vrt_ref_warp(const struct vrt_ref_run *run);
void vrt_ref_depth_to_space(const struct vrt_ref_run *run);
void vrt_ref_space_to_depth(const struct vrt_ref_run *run);
void vrt_ref_resize(const struct vrt_ref_run *run);
void vrt_ref_avgpool2(const struct vrt_ref_run *run);
void vrt_ref_concat(const struct vrt_ref_run *run);
void vrt_ref_add(const struct vrt_ref_run *run);
void vrt_ref_affine(const struct vrt_ref_run *run);
void vrt_ref_gate(const struct vrt_ref_run *run);
void vrt_ref_blend(const struct vrt_ref_run *run);
void vrt_ref_mean(const struct vrt_ref_run *run);
void vrt_ref_fill(const struct vrt_ref_run *run);
void vrt_ref_copy(const struct vrt_ref_run *run);
void vrt_ref_pad(const struct vrt_ref_run *run);
void vrt_ref_yuv_to_rgb(const struct vrt_ref_run *run);
void vrt_ref_rgb_to_yuv(const struct vrt_ref_run *run);
void vrt_ref_range(const struct vrt_ref_run *run);

/* What those need as scratch that work on all channels of a place, or of a window, at once. */
size_t vrt_ref_conv2d_workspace_bytes(const struct vrt_op *op);
size_t vrt_ref_linear_workspace_bytes(const struct vrt_op *op);
size_t vrt_ref_layernorm_workspace_bytes(const struct vrt_op *op);
size_t vrt_ref_window_attention_workspace_bytes(const struct vrt_op *op);
size_t vrt_ref_geglu_workspace_bytes(const struct vrt_op *op);
size_t vrt_ref_deform_conv2d_workspace_bytes(const struct vrt_op *op);
size_t vrt_ref_warp_workspace_bytes(const struct vrt_op *op);

/* Param `index`, or NULL for a negative one; weights [O,I,K,K] are kept as [K,K,I,O], [O,I] as
 * [I,O]. */
const float *vrt_ref_param(const struct vrt_ref_replica *replica, int index);

/* What param `index` was rounded to. */
enum vrt_dtype vrt_ref_param_dtype(const struct vrt_ref_replica *replica, int index);
