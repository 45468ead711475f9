/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What records each op: appends its kernels to the call's list
 *
 * What a kernel computes depends on the op and the device's abilities alone, so that devices of one
 * class give the same bits.
 */

#include "backend/xpu/kernels.h"

/* Return: ze_result_t. */
ze_result_t vrt_xpu_add(const struct vrt_xpu_call *call);
ze_result_t vrt_xpu_affine(const struct vrt_xpu_call *call);
ze_result_t vrt_xpu_avgpool2(const struct vrt_xpu_call *call);
ze_result_t vrt_xpu_blend(const struct vrt_xpu_call *call);
ze_result_t vrt_xpu_concat(const struct vrt_xpu_call *call);
ze_result_t vrt_xpu_conv2d(const struct vrt_xpu_call *call);
ze_result_t vrt_xpu_copy(const struct vrt_xpu_call *call);
ze_result_t vrt_xpu_deform_conv2d(const struct vrt_xpu_call *call);
ze_result_t vrt_xpu_depth_to_space(const struct vrt_xpu_call *call);
ze_result_t vrt_xpu_fill(const struct vrt_xpu_call *call);
ze_result_t vrt_xpu_flow_offsets(const struct vrt_xpu_call *call);
ze_result_t vrt_xpu_geglu(const struct vrt_xpu_call *call);
ze_result_t vrt_xpu_layernorm(const struct vrt_xpu_call *call);
ze_result_t vrt_xpu_linear(const struct vrt_xpu_call *call);
ze_result_t vrt_xpu_mean(const struct vrt_xpu_call *call);
ze_result_t vrt_xpu_pad(const struct vrt_xpu_call *call);
ze_result_t vrt_xpu_range(const struct vrt_xpu_call *call);
ze_result_t vrt_xpu_resize(const struct vrt_xpu_call *call);
ze_result_t vrt_xpu_rgb_to_yuv(const struct vrt_xpu_call *call);
ze_result_t vrt_xpu_space_to_depth(const struct vrt_xpu_call *call);
ze_result_t vrt_xpu_warp(const struct vrt_xpu_call *call);
ze_result_t vrt_xpu_window_attention(const struct vrt_xpu_call *call);
ze_result_t vrt_xpu_yuv_to_rgb(const struct vrt_xpu_call *call);

/* Bytes that the function of the same name wants at call->workspace; the others want none. */
size_t vrt_xpu_geglu_workspace_bytes(const struct vrt_op *op);
size_t vrt_xpu_linear_workspace_bytes(const struct vrt_op *op);
size_t vrt_xpu_mean_workspace_bytes(const struct vrt_op *op);
size_t vrt_xpu_range_workspace_bytes(const struct vrt_op *op);
size_t vrt_xpu_window_attention_workspace_bytes(const struct vrt_op *op);

/* Whether the padded clip is small enough. */
bool vrt_xpu_window_attention_is_supported(const struct vrt_op *op);
