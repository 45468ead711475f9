/* SPDX-License-Identifier: MIT */
#pragma once

/* Ops made of other ops: tensors within a workspace, and the launching of what reads them. */

#include "backend/cuda/kernels/view.cuh"

namespace vrt {

/* Bytes of the workspace are given out in runs that begin at multiples of it. */
#define VRT_WORKSPACE_ALIGN 256

/* Takes `bytes` from what begins at *end. Return: where they are. */
static inline size_t workspace_take(size_t *end, size_t bytes)
{
    const size_t at = *end;

    *end += (bytes + VRT_WORKSPACE_ALIGN - 1) / VRT_WORKSPACE_ALIGN * VRT_WORKSPACE_ALIGN;
    return at;
}

/*
 * The tensor `offset` bytes into the call's workspace, with this many elements from one place to
 * the next; call NULL: into a workspace at 0, for what depends on no address.
 */
static inline vrt_tensor workspace_tensor(const vrt_cuda_call *call, size_t offset,
                                          vrt_dtype dtype, vrt_shape shape, int64_t row_elements)
{
    vrt_tensor t = vrt_tensor_dense(dtype, shape);

    t.stride_w = row_elements;
    t.stride_h = shape.w * row_elements;
    t.stride_d = shape.h * t.stride_h;
    t.storage = 0;
    t.slot = 0;
    t.offset_bytes = offset + (call ? (size_t)(call->workspace - call->arena) : 0);
    return t;
}

/* An op of one input. */
static inline vrt_op op_of(vrt_op_kind kind, const vrt_tensor &in, const vrt_tensor &out)
{
    vrt_op op = {};

    op.kind = kind;
    op.n_in = 1;
    op.in[0] = in;
    op.out = out;
    return op;
}

/* out = x W^T + b + residual (NULL: none), by weights of the type that those of `whole` have. */
static inline vrt_op linear_of(const vrt_op *whole, const vrt_tensor &x, int weight, int bias,
                               const vrt_tensor *residual, const vrt_tensor &out)
{
    vrt_op op = op_of(VRT_OP_LINEAR, x, out);

    op.weight_dtype = whole->weight_dtype;
    op.linear.norm = { -1, -1 };
    op.linear.weight = weight;
    op.linear.bias = bias;
    op.n_in = 2;
    op.in[1].storage = -1;
    if (residual)
        op.in[1] = *residual;
    return op;
}

/* Whether what ends `end` bytes into the call's workspace lies within it. A launcher asks before it
 * enqueues anything: what it was given and what it uses are found by the same function. */
static inline int check_workspace(const vrt_cuda_call *call, size_t end)
{
    return end <= call->workspace_bytes ? 0 : (int)cudaErrorInvalidValue;
}

/* Enqueues `op` instead of the call's, with a workspace `offset` bytes into the call's. */
static inline int launch_part(const vrt_cuda_call *call, int (*launch)(const vrt_cuda_call *),
                              const vrt_op &op, size_t offset)
{
    vrt_cuda_call part = *call;

    if (offset > call->workspace_bytes)
        return (int)cudaErrorInvalidValue;
    part.op = &op;
    part.workspace = call->workspace + offset;
    part.workspace_bytes = call->workspace_bytes - offset;
    return launch(&part);
}

}
