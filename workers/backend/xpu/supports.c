/* SPDX-License-Identifier: MIT */

/* Which op is recorded by which function, and of which sizes. */

#include "backend/xpu/device.h"
#include "backend/xpu/ops.h"

/* The product of two sides, as in a resize, fits an int. */
#define MAX_SIDE (1 << 15)

static const struct recorder {
    ze_result_t (*record)(const struct vrt_xpu_call *call);
    size_t (*workspace_bytes)(const struct vrt_op *op);
} recorders[VRT_OP_KIND_COUNT] = {
    [VRT_OP_ADD] = { vrt_xpu_add, NULL },
    [VRT_OP_AFFINE] = { vrt_xpu_affine, NULL },
    [VRT_OP_AVGPOOL2] = { vrt_xpu_avgpool2, NULL },
    [VRT_OP_BLEND] = { vrt_xpu_blend, NULL },
    [VRT_OP_CONCAT] = { vrt_xpu_concat, NULL },
    [VRT_OP_CONV2D] = { vrt_xpu_conv2d, NULL },
    [VRT_OP_COPY] = { vrt_xpu_copy, NULL },
    [VRT_OP_DEFORM_CONV2D] = { vrt_xpu_deform_conv2d, NULL },
    [VRT_OP_DEPTH_TO_SPACE] = { vrt_xpu_depth_to_space, NULL },
    [VRT_OP_FILL] = { vrt_xpu_fill, NULL },
    [VRT_OP_FLOW_OFFSETS] = { vrt_xpu_flow_offsets, NULL },
    [VRT_OP_GEGLU] = { vrt_xpu_geglu, vrt_xpu_geglu_workspace_bytes },
    [VRT_OP_LAYERNORM] = { vrt_xpu_layernorm, NULL },
    [VRT_OP_LINEAR] = { vrt_xpu_linear, vrt_xpu_linear_workspace_bytes },
    [VRT_OP_MEAN] = { vrt_xpu_mean, vrt_xpu_mean_workspace_bytes },
    [VRT_OP_PAD] = { vrt_xpu_pad, NULL },
    [VRT_OP_RANGE] = { vrt_xpu_range, vrt_xpu_range_workspace_bytes },
    [VRT_OP_RESIZE] = { vrt_xpu_resize, NULL },
    [VRT_OP_RGB_TO_YUV] = { vrt_xpu_rgb_to_yuv, NULL },
    [VRT_OP_SPACE_TO_DEPTH] = { vrt_xpu_space_to_depth, NULL },
    [VRT_OP_WARP] = { vrt_xpu_warp, NULL },
    [VRT_OP_WINDOW_ATTENTION] = { vrt_xpu_window_attention,
                                  vrt_xpu_window_attention_workspace_bytes },
    [VRT_OP_YUV_TO_RGB] = { vrt_xpu_yuv_to_rgb, NULL },
};

/* Kernels count places, and the elements of a row, in ints. */
static bool is_supported_size(struct vrt_shape shape)
{
    return shape.h <= MAX_SIDE && shape.w <= MAX_SIDE &&
           (int64_t)shape.d * shape.h * shape.w <= INT32_MAX / 2 &&
           (int64_t)shape.w * shape.c <= INT32_MAX / 2;
}

bool vrt_xpu_supports(const struct vrt_device *device, const struct vrt_op *op)
{
    (void)device;
    if (!recorders[op->kind].record)
        return false;
    for (int i = 0; i < op->n_in; i++)
        if (vrt_op_in(op, i) && !is_supported_size(vrt_op_in(op, i)->shape))
            return false;
    for (int i = 0; i < vrt_op_n_out(op); i++)
        if (!is_supported_size(vrt_op_out(op, i)->shape))
            return false;
    return op->kind != VRT_OP_WINDOW_ATTENTION || vrt_xpu_window_attention_is_supported(op);
}

size_t vrt_xpu_workspace_bytes(const struct vrt_device *device, const struct vrt_op *op)
{
    (void)device;
    return recorders[op->kind].workspace_bytes ? recorders[op->kind].workspace_bytes(op) : 0;
}

ze_result_t vrt_xpu_record(const struct vrt_xpu_call *call)
{
    return recorders[call->op->kind].record(call);
}
