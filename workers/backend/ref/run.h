/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * One op being run by the reference device, and its tensors' elements as numbers
 *
 * Every type is read as a double, exactly, and written rounded once to its own precision (through
 * f32, where it is shorter than that); integers to nearest, clamped, and 0 for what is no number.
 */

#include <math.h>

#include "backend/op/half.h"
#include "backend/op/op.h"

struct vrt_ref_replica;

/* A tensor and where its element (0,0,0,0) is. */
struct vrt_ref_view {
    const struct vrt_tensor *tensor;    /* NULL: an optional one that is absent */
    void *base;
};

struct vrt_ref_run {
    const struct vrt_op *op;
    const struct vrt_ref_replica *replica;
    void *workspace;
    struct vrt_ref_view in[VRT_OP_MAX_IN];
    struct vrt_ref_view out[3];
};

/* The elements from the start of the view to (d,h,w,c). */
static inline int64_t vrt_ref_index(const struct vrt_tensor *t, int d, int h, int w, int c)
{
    return d * t->stride_d + h * t->stride_h + w * t->stride_w + c;
}

/* Element (d,h,w,c). */
static inline double vrt_ref_get(const struct vrt_ref_view *view, int d, int h, int w, int c)
{
    const int64_t i = vrt_ref_index(view->tensor, d, h, w, c);

    switch (view->tensor->dtype) {
    case VRT_DTYPE_F32: return (double)((const float *)view->base)[i];
    case VRT_DTYPE_F16: return (double)vrt_f32_from_f16(((const uint16_t *)view->base)[i]);
    case VRT_DTYPE_BF16: return (double)vrt_f32_from_bf16(((const uint16_t *)view->base)[i]);
    case VRT_DTYPE_U8: return ((const uint8_t *)view->base)[i];
    default: return ((const uint16_t *)view->base)[i];
    }
}

/* The integer in [0, max] nearest to `x`. */
static inline unsigned vrt_ref_sample(double x, double max)
{
    return x >= max ? (unsigned)max : x > 0 ? (unsigned)rint(x) : 0;
}

/* Writes element (d,h,w,c). */
static inline void vrt_ref_put(const struct vrt_ref_view *view, const int at[4], double x)
{
    const int64_t i = vrt_ref_index(view->tensor, at[0], at[1], at[2], at[3]);

    switch (view->tensor->dtype) {
    case VRT_DTYPE_F32: ((float *)view->base)[i] = (float)x; break;
    case VRT_DTYPE_F16: ((uint16_t *)view->base)[i] = vrt_f16_from_f32((float)x); break;
    case VRT_DTYPE_BF16: ((uint16_t *)view->base)[i] = vrt_bf16_from_f32((float)x); break;
    case VRT_DTYPE_U8: ((uint8_t *)view->base)[i] = (uint8_t)vrt_ref_sample(x, 255); break;
    default: ((uint16_t *)view->base)[i] = (uint16_t)vrt_ref_sample(x, 65535); break;
    }
}

/*
 * Steps through all places of a shape:
 *
 *     for (int at[4] = { 0 }; at[0] < shape.d; vrt_ref_step(at, shape))
 */
static inline void vrt_ref_step(int at[4], struct vrt_shape shape)
{
    if (++at[3] < shape.c)
        return;
    at[3] = 0;
    if (++at[2] < shape.w)
        return;
    at[2] = 0;
    if (++at[1] < shape.h)
        return;
    at[1] = 0;
    at[0]++;
}

/* `i` moved into [0, n). */
static inline int vrt_ref_clamp(int i, int n)
{
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}
