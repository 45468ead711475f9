/* SPDX-License-Identifier: MIT */

/* conv2d: out = activation(x * weight + bias) * scale + residual. */

#include "backend/cuda/kernels/products/product.h"

using namespace vrt;

template <class T>
static int start(const vrt_cuda_call *call, const product &p)
{
    return p.kernel == 1 ? rows_launch<T>(call, p) : conv_launch<T>(call, p);
}

int vrt_cuda_conv2d(const vrt_cuda_call *call)
{
    const vrt_op_conv2d &conv = call->op->conv2d;
    const vrt_cuda_param &weight = call->params[conv.weight];
    const bool tf32_allowed = call->tf32 && !weight.is_strict;
    product p = product_of(call, conv.weight, conv.bias, call->op->in[0].shape.c);

    p.kernel = conv.kernel;
    p.activation = conv.activation;
    p.slope = conv.slope;
    p.scale = conv.scale;
    if (conv.activation == VRT_ACTIVATION_PRELU)
        p.slopes = (const float *)call->params[conv.slopes].data;
    p.residual = view_of_in(call, 1);
    switch (weight.dtype) {
    case VRT_DTYPE_F16: return start<__half>(call, p);
    case VRT_DTYPE_BF16: return start<__nv_bfloat16>(call, p);
    default: return tf32_allowed ? start<tf32>(call, p) : start<float>(call, p);
    }
}
