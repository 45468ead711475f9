/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Tensors as kernels see them
 *
 * Elements are read and written as f32, whatever their type: the choice is the same for all items
 * of a launch.
 */

#include "backend/kernels/language.h"

#include "backend/kernels/args.h"
#include "backend/op/enums.h"

/* Elements from where the view's data begins to (d,h,w,0). */
static inline long view_at(const ARG struct vrt_kernel_view *v, int d, int h, int w)
{
    return VIEW_FIRST_PLUS(v) d * v->stride_d + h * v->stride_h + w * v->stride_w;
}

/* Element `at`, as f32. */
static inline float load(const GLOBAL char *data, int dtype, long at)
{
    switch (dtype) {
    case VRT_DTYPE_F32: return ((const GLOBAL float *)data)[at];
    case VRT_DTYPE_F16: return load_half(data, at);
    case VRT_DTYPE_BF16: return as_float((uint)((const GLOBAL ushort *)data)[at] << 16);
    case VRT_DTYPE_U8: return ((const GLOBAL uchar *)data)[at];
    default: return ((const GLOBAL ushort *)data)[at];
    }
}

/* Elements at .. at + 3, of a type that isn't an integer's. */
static inline float4 load4(const GLOBAL char *data, int dtype, long at)
{
    switch (dtype) {
    case VRT_DTYPE_F32: return load4_f32(data, at);
    case VRT_DTYPE_F16: return load4_half(data, at);
    default: return as_float4(load4_ushort(data, at) << 16);
    }
}

/* The upper half of an f32, to nearest, ties to even; a NaN stays one. */
static inline ushort bf16_of(float x)
{
    const uint bits = as_uint(x);

    return isnan(x) ? (ushort)(bits >> 16 | 0x40)
                    : (ushort)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* Rounds to nearest, ties to even; integers are clamped. */
static inline void store(GLOBAL char *data, int dtype, long at, float x)
{
    switch (dtype) {
    case VRT_DTYPE_F32: ((GLOBAL float *)data)[at] = x; break;
    case VRT_DTYPE_F16: store_half(data, at, x); break;
    case VRT_DTYPE_BF16: ((GLOBAL ushort *)data)[at] = bf16_of(x); break;
    case VRT_DTYPE_U8: ((GLOBAL uchar *)data)[at] = uchar_of(x); break;
    default: ((GLOBAL ushort *)data)[at] = ushort_of(x); break;
    }
}

/* x as a product's factor of this type. */
static inline float rounded(float x, int dtype)
{
    if (dtype == VRT_DTYPE_BF16)
        return as_float((uint)bf16_of(x) << 16);
    return dtype == VRT_DTYPE_F16 ? half_rounded(x) : x;
}

struct place {
    int d, h, w, c;
    bool exists;
};

/*
 * What an item of a launch by elements (ops-elements.c) makes, from its ids: one element of the
 * output. Nothing returns a struct here: on the CPU such came back wrong.
 */
static inline void find_place_of(const ARG struct vrt_kernel_view *out, int x, int y, int z,
                                 PRIVATE struct place *ret_place)
{
    ret_place->w = x / out->c;
    ret_place->c = x % out->c;
    ret_place->h = y;
    ret_place->d = z;
    ret_place->exists = ret_place->w < out->w;
}

#define PLACE_OF(out, ret_place) \
    find_place_of(out, GLOBAL_ID(0), GLOBAL_ID(1), GLOBAL_ID(2), ret_place)

static inline float load_at(const ARG struct vrt_kernel_view *v, const GLOBAL char *data,
                            const PRIVATE struct place *p)
{
    return load(data, v->dtype, view_at(v, p->d, p->h, p->w) + p->c);
}

static inline void store_at(const ARG struct vrt_kernel_view *v, GLOBAL char *data,
                            const PRIVATE struct place *p, float x)
{
    store(data, v->dtype, view_at(v, p->d, p->h, p->w) + p->c, x);
}
