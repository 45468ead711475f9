/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The instructions that C++ has no words for: products of a warp, copies that don't wait, and
 * shared memory whose size the launch decides
 *
 * Fragments are laid out as the PTX ISA has them ("Matrix Fragments for mma.m16n8k16", "...
 * m16n8k8"): g = lane / 4, t = lane % 4;
 *     d[0..3]: (g, 2t), (g, 2t+1), (g+8, 2t), (g+8, 2t+1)
 *     a[0..3]: rows g, g+8, g, g+8; columns 2t and 2t+1 of the first 8, the first 8, the second 8,
 *              the second 8 (two halves each); tf32: columns t, t, t+4, t+4, one value each
 *     b[0..1]: column g; rows 2t and 2t+1 of the first 8, of the second 8; tf32: rows t, t+4
 * Whole warps call these together.
 */

#include <stdint.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

/* Declares `unsigned char *name`: the launch's dynamic shared memory. */
#define VRT_DYNAMIC_SHARED(name) extern __shared__ __align__(128) unsigned char name[]

namespace vrt {

/* Whether this is compiled for devices where vrt_cuda_f32_products() finds splitting worth it. */
static __device__ constexpr bool has_fast_tf32()
{
#if __CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900 || __CUDA_ARCH__ == 1000 || __CUDA_ARCH__ == 1030
    return true;
#else
    return false;
#endif
}

/* Whether a product of 16 numbers of k is one instruction. */
static __device__ constexpr bool has_mma_16x8x16()
{
#if __CUDA_ARCH__ >= 800
    return true;
#else
    return false;
#endif
}

/* d += a * b, for T = __half or __nv_bfloat16 (from sm_80 on). */
template <class T>
static __device__ __forceinline__ void mma_16x8x16(float d[4], const uint32_t a[4],
                                                   const uint32_t b[2]);

template <>
__device__ __forceinline__ void mma_16x8x16<__half>(float d[4], const uint32_t a[4],
                                                    const uint32_t b[2])
{
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
                 "{%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(b[0]));
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
                 "{%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[2]), "r"(a[3]), "r"(b[1]));
#endif
}

template <>
__device__ __forceinline__ void mma_16x8x16<__nv_bfloat16>(float d[4], const uint32_t a[4],
                                                           const uint32_t b[2])
{
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    __trap();       /* the backend supports no bf16 there */
#endif
}

/* The same of 8 numbers of k: a's first two registers, and b's first. */
template <class T>
static __device__ __forceinline__ void mma_16x8x8(float d[4], const uint32_t a[2], uint32_t b);

template <>
__device__ __forceinline__ void mma_16x8x8<__half>(float d[4], const uint32_t a[2], uint32_t b)
{
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
                 "{%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(b));
}

template <>
__device__ __forceinline__ void mma_16x8x8<__nv_bfloat16>(float d[4], const uint32_t a[2],
                                                          uint32_t b)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 "
                 "{%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(b));
#else
    __trap();
#endif
}

/* d += a * b of f32 whose low 13 bits don't count. From sm_80 on. */
static __device__ __forceinline__ void mma_16x8x8_tf32(float d[4], const uint32_t a[4],
                                                       const uint32_t b[2])
{
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    __trap();
#endif
}

/* The same of N fragments of b, two and two as ldmatrix_x4() loads them: d[j] += a * b[j]. */
template <int N>
static __device__ __forceinline__ void mma_16x8x8_tf32(float d[N][4], const uint32_t a[4],
                                                       const uint32_t (*b)[4])
{
#pragma unroll
    for (int j = 0; j < N; j++)
        mma_16x8x8_tf32(d[j], a, &b[j / 2][j % 2 * 2]);
}

/* Two halves as fragments have them, `low` in the low 16 bits, rounded to nearest, ties to even. */
template <class T>
static __device__ __forceinline__ uint32_t pack_halves(float low, float high);

template <>
__device__ __forceinline__ uint32_t pack_halves<__half>(float low, float high)
{
#if __CUDA_ARCH__ >= 800
    uint32_t both;

    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
#else
    return __half_as_ushort(__float2half_rn(low)) |
           (uint32_t)__half_as_ushort(__float2half_rn(high)) << 16;
#endif
}

template <>
__device__ __forceinline__ uint32_t pack_halves<__nv_bfloat16>(float low, float high)
{
#if __CUDA_ARCH__ >= 800
    uint32_t both;

    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
#else
    return __bfloat16_as_ushort(__float2bfloat16_rn(low)) |
           (uint32_t)__bfloat16_as_ushort(__float2bfloat16_rn(high)) << 16;
#endif
}

/* 2^x, off by 2^-22 of itself at most; 0 where that is no normal number. */
static __device__ __forceinline__ float exp2_approximate(float x)
{
    float y;

    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/* 1 / x, off by 2^-23 of itself at most; 0 where that is no normal number. */
static __device__ __forceinline__ float reciprocal_approximate(float x)
{
    float y;

    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/* threadIdx.x, read anew each time: what follows from it is then computed where it is needed, and
 * takes no registers in between. */
static __device__ __forceinline__ int thread_anew()
{
    int x;

    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(x));
    return x;
}

/* p, of which the compiler then knows that it leads to the device's memory, and nowhere else. */
template <class T>
static __device__ __forceinline__ T *in_global(T *p)
{
    __builtin_assume(__isGlobal(p));
    return p;
}

/* A shared address as the instructions below want it. */
static __device__ __forceinline__ uint32_t shared_address(const void *shared)
{
    return (uint32_t)__cvta_generic_to_shared(shared);
}

/*
 * Loads four 8x8 matrices of halves: lanes 8i to 8i+7 give the rows of matrix i, 16 bytes each, and
 * r[i] is columns 2t and 2t+1 of row g. With _trans: of its transpose. _x2: lanes 0 to 15 give.
 */
static __device__ __forceinline__ void ldmatrix_x4(uint32_t r[4], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row)) : "memory");
}

static __device__ __forceinline__ void ldmatrix_x4_trans(uint32_t r[4], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row)) : "memory");
}

static __device__ __forceinline__ void ldmatrix_x2(uint32_t r[2], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1]) : "r"(shared_address(row)) : "memory");
}

static __device__ __forceinline__ void ldmatrix_x2_trans(uint32_t r[2], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1]) : "r"(shared_address(row)) : "memory");
}

/* Copies 16 bytes to shared memory, both places aligned to that, without waiting; zeros, and
 * nothing is read, where !valid. */
static __device__ __forceinline__ void cp_async_16(void *shared, const void *global, bool valid)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :: "r"(shared_address(shared)), "l"(global), "r"(valid ? 16 : 0) : "memory");
#else
    *(uint4 *)shared = valid ? *(const uint4 *)global : make_uint4(0, 0, 0, 0);
#endif
}

/* The same with 4 bytes. */
static __device__ __forceinline__ void cp_async_4(void *shared, const void *global, bool valid)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
                 :: "r"(shared_address(shared)), "l"(global), "r"(valid ? 4 : 0) : "memory");
#else
    *(uint32_t *)shared = valid ? *(const uint32_t *)global : 0;
#endif
}

/* Ends a group of copies. */
static __device__ __forceinline__ void cp_async_commit()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/* Waits until at most N of this thread's groups are under way. Others see them after a barrier. */
template <int N>
static __device__ __forceinline__ void cp_async_wait()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" :: "n"(N) : "memory");
#endif
}

}
