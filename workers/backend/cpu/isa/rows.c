/* SPDX-License-Identifier: MIT */

/* Conversions between f32 and the types that tensors are stored in, and runs of rows. */

#include "backend/cpu/isa/rows.h"

#include <string.h>

#include "backend/op/half.h"

/* The nearest integer in [0, max], max below 2^23, ties to even; NaN gives 0. */
static inline int clamp_integer(float f, float max)
{
    const float no_fraction = 1 << 23;      /* from there on floats are integers */

    f = f > 0 ? f : 0;
    f = f < max ? f : max;
    return (int)(f + no_fraction - no_fraction);
}

void vrt_cpu_load(enum vrt_dtype dtype, const void *restrict src, float *restrict dst, size_t n)
{
    const uint16_t *u16 = src;
    const uint8_t *u8 = src;

    switch (dtype) {
    case VRT_DTYPE_BF16:
        for (size_t i = 0; i < n; i++)
            dst[i] = vrt_f32_from_bf16(u16[i]);
        break;
    case VRT_DTYPE_U8:
        for (size_t i = 0; i < n; i++)
            dst[i] = u8[i];
        break;
    case VRT_DTYPE_U16:
        for (size_t i = 0; i < n; i++)
            dst[i] = u16[i];
        break;
    default:
        memcpy(dst, src, n * sizeof(float));
    }
}

void vrt_cpu_store(enum vrt_dtype dtype, const float *restrict src, void *restrict dst, size_t n)
{
    uint16_t *u16 = dst;
    uint8_t *u8 = dst;

    switch (dtype) {
    case VRT_DTYPE_BF16:
        for (size_t i = 0; i < n; i++)
            u16[i] = vrt_bf16_from_f32(src[i]);
        break;
    case VRT_DTYPE_U8:
        for (size_t i = 0; i < n; i++)
            u8[i] = (uint8_t)clamp_integer(src[i], 255);
        break;
    case VRT_DTYPE_U16:
        for (size_t i = 0; i < n; i++)
            u16[i] = (uint16_t)clamp_integer(src[i], 65535);
        break;
    default:
        memcpy(dst, src, n * sizeof(float));
    }
}

/* n times c floats that lie apart by so many; inline, so that a few are no call of memcpy(). */
static inline void move_channels(const float *restrict src, int64_t src_stride,
                                 float *restrict dst, int64_t dst_stride, int n, size_t c)
{
    for (int i = 0; i < n; i++)
        memcpy(dst + i * dst_stride, src + i * src_stride, c * sizeof(float));
}

static void move_f32(const float *restrict src, int64_t src_stride, float *restrict dst,
                     int64_t dst_stride, int n, size_t c)
{
    switch (c) {
    case 1:
        move_channels(src, src_stride, dst, dst_stride, n, 1);
        break;
    case 2:
        move_channels(src, src_stride, dst, dst_stride, n, 2);
        break;
    case 3:
        move_channels(src, src_stride, dst, dst_stride, n, 3);
        break;
    case 4:
        move_channels(src, src_stride, dst, dst_stride, n, 4);
        break;
    default:
        move_channels(src, src_stride, dst, dst_stride, n, c);
    }
}

const float *vrt_cpu_row_get(const struct vrt_tensor *t, const void *base, const int at[3], int n,
                             float *scratch)
{
    const char *src = vrt_cpu_at(t, base, at[0], at[1], at[2]);
    const size_t c = (size_t)t->shape.c;
    const size_t stride_bytes = (size_t)t->stride_w * vrt_dtype_size(t->dtype);

    if (t->stride_w == t->shape.c && t->dtype == VRT_DTYPE_F32)
        return (const float *)(const void *)src;

    if (t->stride_w == t->shape.c) {
        vrt_cpu_load(t->dtype, src, scratch, (size_t)n * c);
        return scratch;
    }
    if (t->dtype == VRT_DTYPE_F32) {
        move_f32((const float *)(const void *)src, t->stride_w, scratch, t->shape.c, n, c);
        return scratch;
    }
    for (int i = 0; i < n; i++)
        vrt_cpu_load(t->dtype, src + (size_t)i * stride_bytes, scratch + (size_t)i * c, c);
    return scratch;
}

void vrt_cpu_row_put(const struct vrt_tensor *t, void *base, const int at[3], int n,
                     const float *src)
{
    char *dst = vrt_cpu_at(t, base, at[0], at[1], at[2]);
    const size_t c = (size_t)t->shape.c;
    const size_t stride_bytes = (size_t)t->stride_w * vrt_dtype_size(t->dtype);

    if ((const void *)dst == (const void *)src)
        return;
    if (t->stride_w == t->shape.c) {
        vrt_cpu_store(t->dtype, src, dst, (size_t)n * c);
        return;
    }
    if (t->dtype == VRT_DTYPE_F32) {
        move_f32(src, t->shape.c, (float *)(void *)dst, t->stride_w, n, c);
        return;
    }
    for (int i = 0; i < n; i++)
        vrt_cpu_store(t->dtype, src + (size_t)i * c, dst + (size_t)i * stride_bytes, c);
}
