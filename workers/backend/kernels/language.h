/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What OpenCL C and Metal's language have different words for
 *
 * A kernel that is written with these is both: for XPU devices it is compiled to SPIR-V, for MPS
 * devices its text, preprocessed, is part of the program. It reads
 *
 *     KERNEL(name)(ARGS(struct vrt_kernel_..., e), OUTPUT(1, out), INPUT(2, x) WORK_ITEM)
 *
 * where 1 and 2 are places in struct vrt_kernel_launch's data, counted from 1. Ids are those of the
 * whole launch, of which a device may run a part at a time.
 *
 * Sums of products keep their roundings in both, unless fma() says otherwise: positions between
 * samples depend on it.
 */

#ifdef VRT_METAL

#pragma STDC FP_CONTRACT OFF

/* Address spaces: ARG is that of a kernel's struct, PRIVATE that of its variables. */
#define GLOBAL device
#define LOCAL threadgroup
#define ARG constant
#define PRIVATE thread

#define KERNEL(name) kernel void name
/* The same, in groups of at most so many items. */
#define KERNEL_OF(items, name) [[max_total_threads_per_threadgroup(items)]] kernel void name
#define ARGS(type, name) const constant type &name [[buffer(0)]]
#define INPUT(i, name) const device char *name [[buffer(i)]]
#define OUTPUT(i, name) device char *name [[buffer(i)]]
#define WORK_ITEM                                                                 \
    , const constant uint3 &first_group [[buffer(30)]],                           \
    uint3 group_of_part [[threadgroup_position_in_grid]],                         \
    uint3 item_of_group [[thread_position_in_threadgroup]],                       \
    uint3 items_of_group [[threads_per_threadgroup]]

/* Those of an item, in a kernel itself. */
#define GROUP_ID(dimension) ((int)(first_group[dimension] + group_of_part[dimension]))
#define LOCAL_ID(dimension) ((int)item_of_group[dimension])
#define LOCAL_SIZE(dimension) ((int)items_of_group[dimension])

/* Elements of a view's data before its first one: see struct vrt_kernel_target. */
#define VIEW_FIRST_PLUS(v) (v)->first +

/* Waits for the group's other items, and for what they wrote to local memory. */
#define BARRIER() threadgroup_barrier(mem_flags::mem_threadgroup)

#define as_float(x) as_type<float>(x)
#define as_uint(x) as_type<uint>(x)

/* x as a whole number in [0, most], what is no number as 0. */
static inline float whole(float x, float most)
{
    return x >= most ? most : x > 0 ? rint(x) : 0;
}

static inline float load_half(const device char *data, long at)
{
    return (float)((const device half *)data)[at];
}

static inline void store_half(device char *data, long at, float x)
{
    ((device half *)data)[at] = (half)x;
}

/* x rounded to f16. */
static inline float half_rounded(float x)
{
    return (float)(half)x;
}

/* x as a whole number, to nearest, ties to even; clamped, and 0 where it is none. */
static inline uchar uchar_of(float x)
{
    return (uchar)whole(x, 255);
}

static inline ushort ushort_of(float x)
{
    return (ushort)whole(x, 65535);
}

/* Elements at .. at + 3 of one type, all as f32; of bf16 the bits. */
static inline float4 load4_f32(const device char *data, long at)
{
    return float4(*(const device packed_float4 *)(data + 4 * at));
}

static inline float4 load4_half(const device char *data, long at)
{
    return float4(half4(*(const device packed_half4 *)(data + 2 * at)));
}

static inline uint4 load4_ushort(const device char *data, long at)
{
    return uint4(ushort4(*(const device packed_ushort4 *)(data + 2 * at)));
}

#define as_float4(x) as_type<float4>(x)
#define native_recip(x) (1.0f / (x))

#else

#pragma OPENCL FP_CONTRACT OFF

#define GLOBAL __global
#define LOCAL __local
#define ARG
#define PRIVATE

#define KERNEL(name) __kernel void name
#define KERNEL_OF(items, name) \
    __kernel __attribute__((reqd_work_group_size(items, 1, 1))) void name
#define ARGS(type, name) type name
#define INPUT(i, name) const __global char *name
#define OUTPUT(i, name) __global char *name
#define WORK_ITEM

#define GROUP_ID(dimension) ((int)get_group_id(dimension))
#define LOCAL_ID(dimension) ((int)get_local_id(dimension))
#define LOCAL_SIZE(dimension) ((int)get_local_size(dimension))

/* Addresses are those of first elements. */
#define VIEW_FIRST_PLUS(v)

#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)

static inline float whole(float x, float most)
{
    return x >= most ? most : x > 0 ? rint(x) : 0;
}

/* (No functions: a compiler that inlines one more of them may run out of registers.) */
#define uchar_of(x) convert_uchar_sat_rte(x)
#define ushort_of(x) convert_ushort_sat_rte(x)
#define load_half(data, at) vload_half(at, (const __global half *)(data))
#define store_half(data, at, x) vstore_half_rte(x, at, (__global half *)(data))

static inline float half_rounded(float x)
{
    ushort bits;

    vstore_half_rte(x, 0, (half *)&bits);
    return vload_half(0, (const half *)&bits);
}

static inline float4 load4_f32(const __global char *data, long at)
{
    return vload4(0, (const __global float *)data + at);
}

static inline float4 load4_half(const __global char *data, long at)
{
    return vload_half4(0, (const __global half *)data + at);
}

static inline uint4 load4_ushort(const __global char *data, long at)
{
    return convert_uint4(vload4(0, (const __global ushort *)data + at));
}

#endif

#define GLOBAL_ID(dimension) (GROUP_ID(dimension) * LOCAL_SIZE(dimension) + LOCAL_ID(dimension))
