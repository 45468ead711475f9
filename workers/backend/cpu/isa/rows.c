/* SPDX-License-Identifier: MIT */

/* Conversions between f32 and the types that tensors are stored in, and runs of rows. */

#include "backend/cpu/isa/rows.h"

#include <string.h>

#include "backend/op/half.h"
#include "base/macro.h"

#define TOGETHER 256                /* elements */

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

/* n times `size` bytes that lie apart by so many; inline, so that a few are no call of memcpy(). */
static inline void move_each(const char *restrict src, size_t src_stride, char *restrict dst,
                             size_t dst_stride, int n, size_t size)
{
    for (int i = 0; i < n; i++)
        memcpy(dst + (size_t)i * dst_stride, src + (size_t)i * src_stride, size);
}

/* Of channels: what pictures, flows and masks have of them is known to the compiler. */
static void move_channels(const char *src, size_t src_stride, char *dst, size_t dst_stride, int n,
                          size_t size)
{
    switch (size) {
    case 2:
        move_each(src, src_stride, dst, dst_stride, n, 2);
        break;
    case 4:
        move_each(src, src_stride, dst, dst_stride, n, 4);
        break;
    case 6:
        move_each(src, src_stride, dst, dst_stride, n, 6);
        break;
    case 8:
        move_each(src, src_stride, dst, dst_stride, n, 8);
        break;
    case 12:
        move_each(src, src_stride, dst, dst_stride, n, 12);
        break;
    case 16:
        move_each(src, src_stride, dst, dst_stride, n, 16);
        break;
    default:
        move_each(src, src_stride, dst, dst_stride, n, size);
    }
}

/* How many columns of c channels are brought together, to be converted at once. */
static int n_together(size_t c)
{
    return c < TOGETHER / 4 ? (int)(TOGETHER / c) : 1;
}

const float *vrt_cpu_row_get(const struct vrt_tensor *t, const void *base, const int at[3], int n,
                             float *scratch)
{
    const char *src = vrt_cpu_at(t, base, at[0], at[1], at[2]);
    const size_t c = (size_t)t->shape.c, size = vrt_dtype_size(t->dtype);
    const size_t stride = (size_t)t->stride_w * size;
    const int together = n_together(c);
    uint16_t dense[TOGETHER];       /* of any type that is smaller than f32 */

    if (t->stride_w == t->shape.c && t->dtype == VRT_DTYPE_F32)
        return (const float *)(const void *)src;

    if (t->stride_w == t->shape.c) {
        vrt_cpu_load(t->dtype, src, scratch, (size_t)n * c);
        return scratch;
    }
    if (t->dtype == VRT_DTYPE_F32) {
        move_channels(src, stride, (char *)scratch, c * size, n, c * size);
        return scratch;
    }
    for (int i = 0; i < n; i += together) {
        const int m = VRT_MIN(together, n - i);
        const char *from = src + (size_t)i * stride;

        if (m > 1) {
            move_channels(from, stride, (char *)dense, c * size, m, c * size);
            from = (const char *)dense;
        }
        vrt_cpu_load(t->dtype, from, scratch + (size_t)i * c, (size_t)m * c);
    }
    return scratch;
}

void vrt_cpu_row_put(const struct vrt_tensor *t, void *base, const int at[3], int n,
                     const float *src)
{
    char *dst = vrt_cpu_at(t, base, at[0], at[1], at[2]);
    const size_t c = (size_t)t->shape.c, size = vrt_dtype_size(t->dtype);
    const size_t stride = (size_t)t->stride_w * size;
    const int together = n_together(c);
    uint16_t dense[TOGETHER];       /* of any type that is smaller than f32 */

    if ((const void *)dst == (const void *)src)
        return;
    if (t->stride_w == t->shape.c) {
        vrt_cpu_store(t->dtype, src, dst, (size_t)n * c);
        return;
    }
    if (t->dtype == VRT_DTYPE_F32) {
        move_channels((const char *)src, c * size, dst, stride, n, c * size);
        return;
    }
    for (int i = 0; i < n; i += together) {
        const int m = VRT_MIN(together, n - i);
        char *to = dst + (size_t)i * stride;

        vrt_cpu_store(t->dtype, src + (size_t)i * c, m > 1 ? (char *)dense : to, (size_t)m * c);
        if (m > 1)
            move_channels((const char *)dense, c * size, to, stride, m, c * size);
    }
}
