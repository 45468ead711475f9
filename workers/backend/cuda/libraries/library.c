/* SPDX-License-Identifier: MIT */

/*
 * The rule has three parts.
 *
 * What a library can't do as docs/ops.md has it stays ours: cuBLASLt's gelu is the one with tanh,
 * ours the exact one; its bias has the type of the result, our vectors are f32, so that a bias with
 * a result of 16 bits would be rounded. cuDNN's filters have no gaps, ours are filled up to eight
 * channels; and it compiles no kernel for places that don't begin at a multiple of 16 bytes. What
 * is multiplied in f32 is ours, unless TF32 is allowed, and then only by cuBLASLt, which can be
 * told so for each product.
 *
 * What would cost a pass over memory more stays ours: all of the op's epilogue is fused, or none.
 *
 * What is left is what a library might do faster. Nobody has measured it (tests/gpu.sh can), so
 * that AUTO goes by what is known: our kernels multiply by `mma`, which reaches the full rate of
 * the tensor cores on sm_75 to sm_89 and on sm_120, but not where these have instructions for whole
 * groups of warps: on sm_90 (`wgmma`) and on sm_100 to sm_110 (`tcgen05`). There libraries are
 * taken, for what isn't small. That cuDNN uses these instructions for our graphs where there are
 * such, and `mma` elsewhere, as we do, was seen in what it compiles (docs/cuda.md).
 */

#include "backend/cuda/libraries/library.h"

/* Cards with instructions for matrices that our kernels don't use. */
#define CAPABILITY_FIRST 90
#define CAPABILITY_LAST 110

/* What our weights' channels are filled up to: 16 bytes. */
#define CHANNELS_ROUNDED_TO 8

bool vrt_cuda_library_is_wanted(const struct vrt_cuda_library_rules *rules)
{
    switch (rules->wanted) {
    case VRT_CUDA_LIBRARIES_ALL: return true;
    case VRT_CUDA_LIBRARIES_AUTO:
        return rules->capability >= CAPABILITY_FIRST && rules->capability <= CAPABILITY_LAST;
    default: return false;
    }
}

/* Its places follow each other at one distance, so that they are rows of one matrix. */
static bool is_matrix(const struct vrt_tensor *t)
{
    const struct vrt_shape s = t->shape;

    return (s.h == 1 || t->stride_h == s.w * t->stride_w) &&
           (s.d == 1 || t->stride_d == (int64_t)s.h * s.w * t->stride_w);
}

/* What is multiplied is of the weights' type, whatever x is: rows are made where it isn't. */
static bool has_cublaslt_types(const struct vrt_cuda_library_rules *rules, const struct vrt_op *op)
{
    const enum vrt_dtype out = op->out.dtype;

    if (op->weight_dtype == VRT_DTYPE_F32)
        return rules->tf32 && out == VRT_DTYPE_F32;
    return out == VRT_DTYPE_F32 || (out == op->weight_dtype && op->linear.bias < 0);
}

static bool may_be_cublaslt(const struct vrt_cuda_library_rules *rules, const struct vrt_op *op)
{
    const struct vrt_tensor *residual = vrt_op_in(op, 1);
    const bool makes_rows = op->linear.norm.weight >= 0 || op->in[0].dtype != op->weight_dtype;

    return op->linear.activation == VRT_ACTIVATION_NONE && has_cublaslt_types(rules, op) &&
           (makes_rows || is_matrix(&op->in[0])) && is_matrix(&op->out) &&
           (!residual || (residual->dtype == op->out.dtype && is_matrix(residual)));
}

static bool may_be_cudnn(const struct vrt_op *op)
{
    const struct vrt_tensor *x = &op->in[0];

    return x->dtype != VRT_DTYPE_F32 && x->shape.c % CHANNELS_ROUNDED_TO == 0 &&
           (x->stride_d | x->stride_h | x->stride_w) % CHANNELS_ROUNDED_TO == 0;
}

/* Whether AUTO leaves it to us for its size. */
static bool is_small(const struct vrt_op *op)
{
    return vrt_op_flops(op) < (op->kind == VRT_OP_CONV2D ? VRT_CUDA_LIBRARY_CONV2D_FLOPS_MIN :
                                                           VRT_CUDA_LIBRARY_LINEAR_FLOPS_MIN);
}

enum vrt_cuda_library vrt_cuda_library_may(const struct vrt_cuda_library_rules *rules,
                                           const struct vrt_op *op)
{
    if (!vrt_cuda_library_is_wanted(rules))
        return VRT_CUDA_LIBRARY_NONE;
    if (rules->wanted == VRT_CUDA_LIBRARIES_AUTO && is_small(op))
        return VRT_CUDA_LIBRARY_NONE;
    if (op->kind == VRT_OP_LINEAR && may_be_cublaslt(rules, op))
        return VRT_CUDA_LIBRARY_CUBLASLT;
    if (op->kind == VRT_OP_CONV2D && may_be_cudnn(op))
        return VRT_CUDA_LIBRARY_CUDNN;
    return VRT_CUDA_LIBRARY_NONE;
}

/* A bound tensor is elsewhere each time: what is recorded for a library has one address. */
static bool is_in_arena(const struct vrt_op *op)
{
    for (int i = 0; i < op->n_in; i++)
        if (vrt_op_in(op, i) && op->in[i].slot != VRT_SLOT_ARENA)
            return false;
    return op->out.slot == VRT_SLOT_ARENA;
}

enum vrt_cuda_library vrt_cuda_library_of(const struct vrt_cuda_library_rules *rules,
                                          const struct vrt_op *op, bool is_strict)
{
    return is_strict || !is_in_arena(op) ? VRT_CUDA_LIBRARY_NONE : vrt_cuda_library_may(rules, op);
}
