/* SPDX-License-Identifier: MIT */

/* A convolution by cuDNN. */

#include "backend/cuda/libraries/by-library.h"

/* What is read at a time at most: more alignment than that is of no use. */
#define ALIGN_MAX 16

/* Of the address of each place of the tensor. */
static int64_t align_of(const struct vrt_cuda_call *call, const struct vrt_tensor *t)
{
    const int64_t steps = t->stride_d | t->stride_h | t->stride_w;
    const uint64_t bits = (uint64_t)(uintptr_t)(call->arena + t->offset_bytes) |
                          (uint64_t)steps * vrt_dtype_size(t->dtype);

    return vrt_cuda_align_of(bits, ALIGN_MAX);
}

static struct vrt_cuda_conv_tensor places_of(const struct vrt_cuda_call *call,
                                             const struct vrt_tensor *t)
{
    return (struct vrt_cuda_conv_tensor){
        .dtype = t->dtype,
        .stride_d = t->stride_d,
        .stride_h = t->stride_h,
        .stride_w = t->stride_w,
        .align = align_of(call, t),
    };
}

static struct vrt_cuda_conv conv_of(const struct vrt_cuda_call *call)
{
    const struct vrt_op *op = call->op;
    const struct vrt_op_conv2d *conv2d = &op->conv2d;
    const struct vrt_tensor *residual = vrt_op_in(op, 1);
    const struct vrt_shape shape = op->out.shape;
    struct vrt_cuda_conv conv = {
        .d = shape.d,
        .h = shape.h,
        .w = shape.w,
        .n_in = op->in[0].shape.c,
        .n_out = shape.c,
        .kernel = conv2d->kernel,
        .x = places_of(call, &op->in[0]),
        .out = places_of(call, &op->out),
        .has_bias = conv2d->bias >= 0,
        .has_slope = conv2d->activation == VRT_ACTIVATION_RELU ||
                     conv2d->activation == VRT_ACTIVATION_LEAKY_RELU,
        .has_slopes = conv2d->activation == VRT_ACTIVATION_PRELU,
        .has_scale = conv2d->scale != 1,
        .has_residual = residual != NULL,
    };

    if (residual)
        conv.residual = places_of(call, residual);
    return conv;
}

int vrt_cuda_cudnn_can(struct vrt_cuda_cudnn *cudnn, const struct vrt_cuda_call *call,
                       bool *ret_can)
{
    const struct vrt_cuda_conv conv = conv_of(call);
    const struct vrt_cuda_conv_way *way;
    int r = vrt_cuda_cudnn_find(cudnn, &conv, &way);

    if (!r)
        *ret_can = way != NULL;
    return r;
}

int vrt_cuda_cudnn_conv2d(struct vrt_cuda_cudnn *cudnn, const struct vrt_cuda_call *call,
                          char *scratch)
{
    const struct vrt_op *op = call->op;
    const struct vrt_op_conv2d *conv2d = &op->conv2d;
    const struct vrt_tensor *residual = vrt_op_in(op, 1);
    const struct vrt_cuda_conv conv = conv_of(call);
    const struct vrt_cuda_conv_data data = {
        .x = call->arena + op->in[0].offset_bytes,
        .weight = call->params[conv2d->weight].data,
        .residual = residual ? call->arena + residual->offset_bytes : NULL,
        .bias = conv.has_bias ? call->params[conv2d->bias].data : NULL,
        .slopes = conv.has_slopes ? call->params[conv2d->slopes].data : NULL,
        .slope = conv2d->activation == VRT_ACTIVATION_LEAKY_RELU ? conv2d->slope : 0,
        .scale = conv2d->scale,
        .out = call->arena + op->out.offset_bytes,
        .scratch = scratch,
    };

    const struct vrt_cuda_conv_way *way;
    int r = vrt_cuda_cudnn_find(cudnn, &conv, &way);

    return r ? r : vrt_cuda_cudnn_run(cudnn, way, &data);
}
