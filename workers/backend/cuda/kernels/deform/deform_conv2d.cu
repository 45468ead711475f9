/* SPDX-License-Identifier: MIT */

/* deform_conv2d: a 3x3 convolution whose taps are displaced and weighted, place by place. */

#include "backend/cuda/kernels/products/product.h"

using namespace vrt;

int vrt_cuda_deform_conv2d(const vrt_cuda_call *call)
{
    const vrt_op_deform_conv2d &deform = call->op->deform_conv2d;
    product p = product_of(call, deform.weight, deform.bias,
                           call->op->in[0].shape.c / deform.groups);

    p.kernel = 3;
    p.n_groups = deform.groups;
    p.n_runs = deform.offset_groups;
    p.n_out = call->op->out.shape.c / deform.groups;
    p.offsets = view_of_in(call, 1);
    switch (call->params[deform.weight].dtype) {
    case VRT_DTYPE_F16: return deform_launch<__half>(call, p);
    case VRT_DTYPE_BF16: return deform_launch<__nv_bfloat16>(call, p);
    default: return deform_launch<float>(call, p);
    }
}
