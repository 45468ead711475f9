/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Tensors as kernels see them
 *
 * One in the arena is where it is planned; one in a bound buffer is found, when the kernel runs,
 * through the table of slots. Elements are read and written as f32, whatever their type: the
 * switch is the same for all threads of a grid, and so costs one instruction, where an instance of
 * each kernel for each type would cost minutes of compiling.
 */

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "backend/cuda/kernels/kernels.h"
#include "mma.cuh"

namespace vrt {

struct view {
    char *base;                     /* where offset_bytes counts from; NULL: *slot */
    char *const *slot;              /* device memory */
    int64_t offset_bytes;
    int64_t stride_d, stride_h, stride_w;   /* elements */
    int d, h, w, c;
    int dtype;                      /* enum vrt_dtype */
};

/* How kernels of this call see `t`; NULL: a view of nothing, whose `c` is 0. */
static inline view view_of(const vrt_cuda_call *call, const vrt_tensor *t)
{
    view v = {};

    if (!t)
        return v;
    if (t->slot == 0)       /* VRT_SLOT_ARENA, which belongs to backend.h */
        v.base = call->arena;
    else
        v.slot = call->slots + t->slot;
    v.offset_bytes = (int64_t)t->offset_bytes;
    v.stride_d = t->stride_d;
    v.stride_h = t->stride_h;
    v.stride_w = t->stride_w;
    v.d = t->shape.d;
    v.h = t->shape.h;
    v.w = t->shape.w;
    v.c = t->shape.c;
    v.dtype = t->dtype;
    return v;
}

/* How kernels see input i of the call's op. */
static inline view view_of_in(const vrt_cuda_call *call, int i)
{
    return view_of(call, vrt_op_in(call->op, i));
}

/*
 * Whether every place of the view begins at a multiple of `bytes`, so that runs of channels can be
 * read that long at a time. Of a bound buffer nobody knows.
 */
static inline bool view_is_aligned(const view &v, int64_t bytes)
{
    const int64_t size = (int64_t)vrt_dtype_size((enum vrt_dtype)v.dtype);

    return v.base && v.offset_bytes % bytes == 0 && v.stride_d * size % bytes == 0 &&
           v.stride_h * size % bytes == 0 && v.stride_w * size % bytes == 0;
}

/* Where element (0,0,0,0) is. */
static __device__ __forceinline__ char *view_data(const view &v)
{
    return in_global((v.base ? v.base : *v.slot) + v.offset_bytes);
}

/* Elements from (0,0,0,0) to (d,h,w,0). */
static __device__ __forceinline__ int64_t view_at(const view &v, int d, int h, int w)
{
    return d * v.stride_d + h * v.stride_h + w * v.stride_w;
}

/* One element, as f32. `data`: view_data(). */
static __device__ __forceinline__ float load(const char *data, int dtype, int64_t at)
{
    if (dtype == VRT_DTYPE_F32)
        return ((const float *)data)[at];
    if (dtype == VRT_DTYPE_F16)
        return __half2float(((const __half *)data)[at]);
    return __bfloat162float(((const __nv_bfloat16 *)data)[at]);
}

/* Rounds to nearest, ties to even. */
static __device__ __forceinline__ void store(char *data, int dtype, int64_t at, float x)
{
    if (dtype == VRT_DTYPE_F32)
        ((float *)data)[at] = x;
    else if (dtype == VRT_DTYPE_F16)
        ((__half *)data)[at] = __float2half_rn(x);
    else
        ((__nv_bfloat16 *)data)[at] = __float2bfloat16_rn(x);
}

}
