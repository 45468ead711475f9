/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Rows of tensors as dense f32: how ops read and write any type and any view
 *
 * An op works through a row in runs of n columns, small enough that the runs of its inputs and
 * output stay in the first-level cache. A dense run of f32 is used in place.
 */

#include "backend/cpu/isa/isa.h"

#define VRT_CPU_RUN_FLOATS 2048    /* 8 KiB: a quarter of a level 1 cache */

#define vrt_cpu_row_get VRT_CPU_NAME(row_get)
#define vrt_cpu_row_put VRT_CPU_NAME(row_put)
#define vrt_cpu_load VRT_CPU_NAME(load)
#define vrt_cpu_store VRT_CPU_NAME(store)

/* n elements of `dtype` as f32. */
void vrt_cpu_load(enum vrt_dtype dtype, const void *restrict src, float *restrict dst, size_t n);

/* n elements of f32 as `dtype`, rounded to nearest; integers are clamped to their range. */
void vrt_cpu_store(enum vrt_dtype dtype, const float *restrict src, void *restrict dst, size_t n);

/*
 * Columns [x, x + n) of row y of frame d, [n,C] dense: in place, or copied to `scratch` (n * C
 * floats). Return: where they are.
 */
const float *vrt_cpu_row_get(const struct vrt_tensor *t, const void *base, const int at[3], int n,
                             float *scratch);

/* Writes columns [x, x + n) of row y of frame d from src, [n,C] dense, unless it is in place. */
void vrt_cpu_row_put(const struct vrt_tensor *t, void *base, const int at[3], int n,
                     const float *src);

/* The next part of a thread's scratch memory at `base`, which isn't touched, behind the *size_bytes
 * that are given out. Parts begin at multiples of 64 bytes. */
static inline void *vrt_cpu_part(char *base, size_t *size_bytes, size_t part_bytes)
{
    void *part = base + *size_bytes;

    *size_bytes += (part_bytes + 63) / 64 * 64;
    return part;
}

/* The address of element (d,y,x,0). */
static inline char *vrt_cpu_at(const struct vrt_tensor *t, const void *base, int d, int y, int x)
{
    return (char *)base + (size_t)(d * t->stride_d + y * t->stride_h + x * t->stride_w) *
                              vrt_dtype_size(t->dtype);
}

/* Where a run of the output may be computed: in place if that is possible, else in `scratch`. */
static inline float *vrt_cpu_row_target(const struct vrt_tensor *t, void *base, const int at[3],
                                        float *scratch)
{
    if (t->dtype == VRT_DTYPE_F32 && t->stride_w == t->shape.c)
        return (float *)vrt_cpu_at(t, base, at[0], at[1], at[2]);
    return scratch;
}

/* How many columns of `c` channels make a run. */
static inline int vrt_cpu_run_columns(int c)
{
    return c >= VRT_CPU_RUN_FLOATS ? 1 : VRT_CPU_RUN_FLOATS / c;
}

/* Bytes of `n` runs of `c` channels. */
static inline size_t vrt_cpu_run_bytes(int n, int c)
{
    size_t one = sizeof(float) * (size_t)vrt_cpu_run_columns(c) * (size_t)c;

    return (size_t)n * ((one + 63) / 64 * 64);
}
