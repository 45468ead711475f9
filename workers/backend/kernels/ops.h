/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What runs each op, for launch.c, and where its tensors are
 */

#include "backend/kernels/launch.h"

/* Where the data of `t` begins, and how kernels see it from there; NULL: nothing. */
struct vrt_kernel_place vrt_kernel_place_of(const struct vrt_kernel_call *call,
                                            const struct vrt_tensor *t);
struct vrt_kernel_view vrt_kernel_view_of(const struct vrt_kernel_call *call,
                                          const struct vrt_tensor *t);

/* How kernels see a tensor without gaps that its data begins with. */
struct vrt_kernel_view vrt_kernel_dense_view(enum vrt_dtype dtype, struct vrt_shape shape);

/* So far into the op's workspace: a multiple of VRT_KERNEL_ALIGN. */
struct vrt_kernel_place vrt_kernel_workspace(const struct vrt_kernel_call *call,
                                             size_t offset_bytes);

/* So many bytes filled up, such that what comes behind them is aligned. */
size_t vrt_kernel_aligned(size_t bytes);

/* Return: 0, or what the target's functions returned. */
int vrt_kernel_add(const struct vrt_kernel_call *call);
int vrt_kernel_affine(const struct vrt_kernel_call *call);
int vrt_kernel_avgpool2(const struct vrt_kernel_call *call);
int vrt_kernel_blend(const struct vrt_kernel_call *call);
int vrt_kernel_concat(const struct vrt_kernel_call *call);
int vrt_kernel_conv2d(const struct vrt_kernel_call *call);
int vrt_kernel_copy(const struct vrt_kernel_call *call);
int vrt_kernel_deform_conv2d(const struct vrt_kernel_call *call);
int vrt_kernel_depth_to_space(const struct vrt_kernel_call *call);
int vrt_kernel_fill(const struct vrt_kernel_call *call);
int vrt_kernel_flow_offsets(const struct vrt_kernel_call *call);
int vrt_kernel_gate(const struct vrt_kernel_call *call);
int vrt_kernel_geglu(const struct vrt_kernel_call *call);
int vrt_kernel_layernorm(const struct vrt_kernel_call *call);
int vrt_kernel_linear(const struct vrt_kernel_call *call);
int vrt_kernel_mean(const struct vrt_kernel_call *call);
int vrt_kernel_pad(const struct vrt_kernel_call *call);
int vrt_kernel_range(const struct vrt_kernel_call *call);
int vrt_kernel_resize(const struct vrt_kernel_call *call);
int vrt_kernel_rgb_to_yuv(const struct vrt_kernel_call *call);
int vrt_kernel_space_to_depth(const struct vrt_kernel_call *call);
int vrt_kernel_warp(const struct vrt_kernel_call *call);
int vrt_kernel_window_attention(const struct vrt_kernel_call *call);
int vrt_kernel_yuv_to_rgb(const struct vrt_kernel_call *call);

/* Bytes that the function of the same name wants at its workspace; the others want none. */
size_t vrt_kernel_geglu_workspace_bytes(const struct vrt_op *op);
size_t vrt_kernel_linear_workspace_bytes(const struct vrt_op *op);
size_t vrt_kernel_mean_workspace_bytes(const struct vrt_op *op);
size_t vrt_kernel_range_workspace_bytes(const struct vrt_op *op);
size_t vrt_kernel_window_attention_workspace_bytes(const struct vrt_op *op);

/* Whether the padded clip is small enough. */
bool vrt_kernel_window_attention_is_supported(const struct vrt_op *op);
