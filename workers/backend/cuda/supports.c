/* SPDX-License-Identifier: MIT */

/* Which op is done by which launcher, and of which types and sizes. */

#include "backend/cuda/device.h"
#include "backend/cuda/kernels/cover.h"
#include "backend/cuda/libraries/libraries.h"

/* The product of two sides, as in a resize, fits an int. */
#define MAX_SIDE (1 << 15)

struct launcher {
    int (*launch)(const struct vrt_cuda_call *call);
    size_t (*workspace_bytes)(const struct vrt_cuda_limits *limits, const struct vrt_op *op);
};

static const struct launcher launchers[VRT_OP_KIND_COUNT] = {
    [VRT_OP_ADD] = { vrt_cuda_add, NULL },
    [VRT_OP_AFFINE] = { vrt_cuda_affine, NULL },
    [VRT_OP_AVGPOOL2] = { vrt_cuda_avgpool2, NULL },
    [VRT_OP_BLEND] = { vrt_cuda_blend, NULL },
    [VRT_OP_CONCAT] = { vrt_cuda_concat, NULL },
    [VRT_OP_CONV2D] = { vrt_cuda_conv2d, NULL },
    [VRT_OP_COPY] = { vrt_cuda_copy, NULL },
    [VRT_OP_DEFORM_CONV2D] = { vrt_cuda_deform_conv2d, NULL },
    [VRT_OP_DEPTH_TO_SPACE] = { vrt_cuda_depth_to_space, NULL },
    [VRT_OP_FILL] = { vrt_cuda_fill, NULL },
    [VRT_OP_FLOW_OFFSETS] = { vrt_cuda_flow_offsets, NULL },
    [VRT_OP_GATE] = { vrt_cuda_gate, NULL },
    [VRT_OP_GEGLU] = { vrt_cuda_geglu, vrt_cuda_geglu_workspace_bytes },
    [VRT_OP_LAYERNORM] = { vrt_cuda_layernorm, NULL },
    [VRT_OP_LINEAR] = { vrt_cuda_linear, vrt_cuda_linear_workspace_bytes },
    [VRT_OP_MEAN] = { vrt_cuda_mean, vrt_cuda_mean_workspace_bytes },
    [VRT_OP_PAD] = { vrt_cuda_pad, NULL },
    [VRT_OP_RANGE] = { vrt_cuda_range, vrt_cuda_range_workspace_bytes },
    [VRT_OP_RESIZE] = { vrt_cuda_resize, NULL },
    [VRT_OP_RGB_TO_YUV] = { vrt_cuda_rgb_to_yuv, NULL },
    [VRT_OP_SPACE_TO_DEPTH] = { vrt_cuda_space_to_depth, NULL },
    [VRT_OP_WARP] = { vrt_cuda_warp, NULL },
    [VRT_OP_WINDOW_ATTENTION] = { vrt_cuda_window_attention,
                                  vrt_cuda_window_attention_workspace_bytes },
    [VRT_OP_YUV_TO_RGB] = { vrt_cuda_yuv_to_rgb, NULL },
};

bool vrt_cuda_has_type(const struct vrt_cuda_device *cuda, enum vrt_dtype dtype)
{
    return dtype != VRT_DTYPE_BF16 || cuda->limits.code >= 80;
}

/* Kernels count rows and what is in one in ints. */
static bool is_supported_size(struct vrt_shape shape)
{
    return shape.h <= MAX_SIDE && shape.w <= MAX_SIDE &&
           (int64_t)shape.d * shape.h <= VRT_CUDA_COVER_MAX &&
           (int64_t)shape.w * shape.c <= VRT_CUDA_COVER_MAX;
}

static bool is_supported(const struct vrt_cuda_device *cuda, const struct vrt_tensor *t)
{
    return vrt_cuda_has_type(cuda, t->dtype) && is_supported_size(t->shape);
}

bool vrt_cuda_supports(const struct vrt_device *device, const struct vrt_op *op)
{
    const struct vrt_cuda_device *cuda = vrt_cuda_device_of(device);

    if (!launchers[op->kind].launch || !vrt_cuda_has_type(cuda, op->weight_dtype))
        return false;
    for (int i = 0; i < op->n_in; i++)
        if (vrt_op_in(op, i) && !is_supported(cuda, vrt_op_in(op, i)))
            return false;
    for (int i = 0; i < vrt_op_n_out(op); i++)
        if (!is_supported(cuda, vrt_op_out(op, i)))
            return false;
    return true;
}

size_t vrt_cuda_workspace_bytes(const struct vrt_device *device, const struct vrt_op *op)
{
    const struct vrt_cuda_device *cuda = vrt_cuda_device_of(device);
    const struct launcher *launcher = &launchers[op->kind];
    const size_t bytes = launcher->workspace_bytes ?
                         launcher->workspace_bytes(&cuda->limits, op) : 0;

    return bytes + vrt_cuda_libraries_workspace_bytes(cuda->libraries, op, bytes);
}

int vrt_cuda_launch(const struct vrt_cuda_call *call)
{
    return launchers[call->op->kind].launch(call);
}
