/* SPDX-License-Identifier: MIT */

/* Which op is run by which function, and of which sizes; where its tensors are. */

#include "backend/kernels/launch.h"

#include "backend/backend.h"
#include "backend/kernels/ops.h"

/* The product of two sides, as in a resize, fits an int. */
#define MAX_SIDE (1 << 15)

static const struct kind {
    int (*run)(const struct vrt_kernel_call *call);
    size_t (*workspace_bytes)(const struct vrt_op *op);
} kinds[VRT_OP_KIND_COUNT] = {
    [VRT_OP_ADD] = { vrt_kernel_add, NULL },
    [VRT_OP_AFFINE] = { vrt_kernel_affine, NULL },
    [VRT_OP_AVGPOOL2] = { vrt_kernel_avgpool2, NULL },
    [VRT_OP_BLEND] = { vrt_kernel_blend, NULL },
    [VRT_OP_CONCAT] = { vrt_kernel_concat, NULL },
    [VRT_OP_CONV2D] = { vrt_kernel_conv2d, NULL },
    [VRT_OP_COPY] = { vrt_kernel_copy, NULL },
    [VRT_OP_DEFORM_CONV2D] = { vrt_kernel_deform_conv2d, NULL },
    [VRT_OP_DEPTH_TO_SPACE] = { vrt_kernel_depth_to_space, NULL },
    [VRT_OP_FILL] = { vrt_kernel_fill, NULL },
    [VRT_OP_FLOW_OFFSETS] = { vrt_kernel_flow_offsets, NULL },
    [VRT_OP_GATE] = { vrt_kernel_gate, NULL },
    [VRT_OP_GEGLU] = { vrt_kernel_geglu, vrt_kernel_geglu_workspace_bytes },
    [VRT_OP_LAYERNORM] = { vrt_kernel_layernorm, NULL },
    [VRT_OP_LINEAR] = { vrt_kernel_linear, vrt_kernel_linear_workspace_bytes },
    [VRT_OP_MEAN] = { vrt_kernel_mean, vrt_kernel_mean_workspace_bytes },
    [VRT_OP_PAD] = { vrt_kernel_pad, NULL },
    [VRT_OP_RANGE] = { vrt_kernel_range, vrt_kernel_range_workspace_bytes },
    [VRT_OP_RESIZE] = { vrt_kernel_resize, NULL },
    [VRT_OP_RGB_TO_YUV] = { vrt_kernel_rgb_to_yuv, NULL },
    [VRT_OP_SPACE_TO_DEPTH] = { vrt_kernel_space_to_depth, NULL },
    [VRT_OP_WARP] = { vrt_kernel_warp, NULL },
    [VRT_OP_WINDOW_ATTENTION] = { vrt_kernel_window_attention,
                                  vrt_kernel_window_attention_workspace_bytes },
    [VRT_OP_YUV_TO_RGB] = { vrt_kernel_yuv_to_rgb, NULL },
};

/* Kernels count places, and the elements of a row, in ints. */
static bool is_supported_size(struct vrt_shape shape)
{
    return shape.h <= MAX_SIDE && shape.w <= MAX_SIDE &&
           (int64_t)shape.d * shape.h * shape.w <= INT32_MAX / 2 &&
           (int64_t)shape.w * shape.c <= INT32_MAX / 2;
}

bool vrt_kernel_supports(const struct vrt_device *device, const struct vrt_op *op)
{
    (void)device;
    if (!kinds[op->kind].run)
        return false;
    for (int i = 0; i < op->n_in; i++)
        if (vrt_op_in(op, i) && !is_supported_size(vrt_op_in(op, i)->shape))
            return false;
    for (int i = 0; i < vrt_op_n_out(op); i++)
        if (!is_supported_size(vrt_op_out(op, i)->shape))
            return false;
    return op->kind != VRT_OP_WINDOW_ATTENTION || vrt_kernel_window_attention_is_supported(op);
}

size_t vrt_kernel_workspace_bytes(const struct vrt_device *device, const struct vrt_op *op)
{
    (void)device;
    return kinds[op->kind].workspace_bytes ? kinds[op->kind].workspace_bytes(op) : 0;
}

int vrt_kernel_run(const struct vrt_kernel_call *call)
{
    return kinds[call->op->kind].run(call);
}

/* Where element (0,0,0,0) is. */
static struct vrt_kernel_place origin_of(const struct vrt_kernel_call *call,
                                         const struct vrt_tensor *t)
{
    struct vrt_kernel_place place = t->slot == VRT_SLOT_ARENA ? call->arena
                                                              : call->bindings[t->slot - 1];

    place.offset_bytes += t->offset_bytes;
    return place;
}

struct vrt_kernel_place vrt_kernel_place_of(const struct vrt_kernel_call *call,
                                            const struct vrt_tensor *t)
{
    if (!t)
        return (struct vrt_kernel_place){ NULL, 0 };
    struct vrt_kernel_place place = origin_of(call, t);
    place.offset_bytes -= place.offset_bytes % call->target->align_bytes;
    return place;
}

/* Of a tensor that its data begins with. */
static struct vrt_kernel_view view_from_start(const struct vrt_tensor *t)
{
    return (struct vrt_kernel_view){
        .stride_d = t->stride_d,
        .stride_h = t->stride_h,
        .stride_w = t->stride_w,
        .d = t->shape.d,
        .h = t->shape.h,
        .w = t->shape.w,
        .c = t->shape.c,
        .dtype = (int32_t)t->dtype,
    };
}

struct vrt_kernel_view vrt_kernel_view_of(const struct vrt_kernel_call *call,
                                          const struct vrt_tensor *t)
{
    if (!t)
        return (struct vrt_kernel_view){ 0 };
    struct vrt_kernel_view view = view_from_start(t);
    view.first = (int32_t)(origin_of(call, t).offset_bytes % call->target->align_bytes /
                           vrt_dtype_size(t->dtype));
    return view;
}

struct vrt_kernel_view vrt_kernel_dense_view(enum vrt_dtype dtype, struct vrt_shape shape)
{
    const struct vrt_tensor dense = vrt_tensor_dense(dtype, shape);

    return view_from_start(&dense);
}

struct vrt_kernel_place vrt_kernel_workspace(const struct vrt_kernel_call *call,
                                             size_t offset_bytes)
{
    struct vrt_kernel_place place = call->arena;

    place.offset_bytes += call->op->workspace_offset_bytes + offset_bytes;
    return place;
}

size_t vrt_kernel_aligned(size_t bytes)
{
    return (bytes + VRT_KERNEL_ALIGN - 1) / VRT_KERNEL_ALIGN * VRT_KERNEL_ALIGN;
}
