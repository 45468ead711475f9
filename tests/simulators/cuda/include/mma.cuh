/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What workers/backend/cuda/kernels/isa/mma.cuh has, computed in the open
 *
 * Fragments are laid out as the PTX ISA documents them; see there. What is copied without waiting
 * arrives when it is waited for, and not before.
 */

#include <stdint.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define VRT_DYNAMIC_SHARED(name) unsigned char *const name = vrt_sim_dynamic_shared

/* One lane's part of a product, m16n8k16 of halves, m16n8k8 of tf32; or of n of them, whose d and
 * b follow each other. */
struct vrt_sim_mma_arg {
    float *d;
    const uint32_t *a, *b;
};

struct vrt_sim_ldmatrix_arg {
    uint32_t *r;
    const void *row;
};

extern const vrt_sim_collective vrt_sim_mma_f16, vrt_sim_mma_f16_8;     /* m16n8k16, m16n8k8 */
extern const vrt_sim_collective vrt_sim_mma_bf16, vrt_sim_mma_bf16_8, vrt_sim_mma_tf32;
extern const vrt_sim_collective vrt_sim_mma_tf32_2, vrt_sim_mma_tf32_3, vrt_sim_mma_tf32_4;
extern const vrt_sim_collective vrt_sim_ldmatrix_x4, vrt_sim_ldmatrix_x4_trans;
extern const vrt_sim_collective vrt_sim_ldmatrix_x2, vrt_sim_ldmatrix_x2_trans;

void vrt_sim_meet_mma(const vrt_sim_collective *product, int least_capability, float *d,
                      const uint32_t *a, const uint32_t *b);
void vrt_sim_meet_ldmatrix(const vrt_sim_collective *load, uint32_t *r, const void *row);

/* This thread's copies. */
void vrt_sim_cp_async(void *shared, const void *global, unsigned n_bytes, bool valid);
/* The same where both places are known to be aligned: n_source bytes are read, then zeros. */
void vrt_sim_cp_async_of(void *shared, const void *global, unsigned n_bytes, unsigned n_source);
void vrt_sim_cp_async_commit(void);
void vrt_sim_cp_async_wait(unsigned n_groups);

namespace vrt {

constexpr bool has_fast_tf32()
{
    return true;
}

constexpr bool has_mma_16x8x16()
{
    return true;
}

template <class T> void mma_16x8x16(float d[4], const uint32_t a[4], const uint32_t b[2]);

template <> inline void mma_16x8x16<__half>(float d[4], const uint32_t a[4], const uint32_t b[2])
{
    vrt_sim_meet_mma(&vrt_sim_mma_f16, 75, d, a, b);
}

template <>
inline void mma_16x8x16<__nv_bfloat16>(float d[4], const uint32_t a[4], const uint32_t b[2])
{
    vrt_sim_meet_mma(&vrt_sim_mma_bf16, 80, d, a, b);
}

template <class T> void mma_16x8x8(float d[4], const uint32_t a[2], uint32_t b);

template <> inline void mma_16x8x8<__half>(float d[4], const uint32_t a[2], uint32_t b)
{
    vrt_sim_meet_mma(&vrt_sim_mma_f16_8, 75, d, a, &b);
}

template <> inline void mma_16x8x8<__nv_bfloat16>(float d[4], const uint32_t a[2], uint32_t b)
{
    vrt_sim_meet_mma(&vrt_sim_mma_bf16_8, 80, d, a, &b);
}

inline void mma_16x8x8_tf32(float d[4], const uint32_t a[4], const uint32_t b[2])
{
    vrt_sim_meet_mma(&vrt_sim_mma_tf32, 80, d, a, b);
}

template <int N> void mma_16x8x8_tf32(float d[N][4], const uint32_t a[4], const uint32_t (*b)[4])
{
    static_assert(N >= 2 && N <= 4, "as many as there are collectives for");
    vrt_sim_meet_mma(N == 2   ? &vrt_sim_mma_tf32_2
                     : N == 3 ? &vrt_sim_mma_tf32_3
                              : &vrt_sim_mma_tf32_4,
                     80, d[0], a, b[0]);
}

template <class T> uint32_t pack_halves(float low, float high);

template <> inline uint32_t pack_halves<__half>(float low, float high)
{
    return __half_as_ushort(__float2half_rn(low)) |
           (uint32_t)__half_as_ushort(__float2half_rn(high)) << 16;
}

template <> inline uint32_t pack_halves<__nv_bfloat16>(float low, float high)
{
    return __bfloat16_as_ushort(__float2bfloat16_rn(low)) |
           (uint32_t)__bfloat16_as_ushort(__float2bfloat16_rn(high)) << 16;
}

inline float exp2_approximate(float x)
{
    const float y = exp2f(x);

    return y < 1.17549435e-38f ? 0.0f : y;
}

inline float reciprocal_approximate(float x)
{
    const float y = 1 / x;

    return fabsf(y) < 1.17549435e-38f ? 0.0f : y;
}

inline int thread_anew()
{
    return (int)threadIdx.x;
}

template <class T> inline T *in_global(T *p)
{
    return p;
}

inline void ldmatrix_x4(uint32_t r[4], const void *row)
{
    vrt_sim_meet_ldmatrix(&vrt_sim_ldmatrix_x4, r, row);
}

inline void ldmatrix_x4_trans(uint32_t r[4], const void *row)
{
    vrt_sim_meet_ldmatrix(&vrt_sim_ldmatrix_x4_trans, r, row);
}

inline void ldmatrix_x2(uint32_t r[2], const void *row)
{
    vrt_sim_meet_ldmatrix(&vrt_sim_ldmatrix_x2, r, row);
}

inline void ldmatrix_x2_trans(uint32_t r[2], const void *row)
{
    vrt_sim_meet_ldmatrix(&vrt_sim_ldmatrix_x2_trans, r, row);
}

inline void cp_async_16(void *shared, const void *global, bool valid)
{
    vrt_sim_cp_async(shared, global, 16, valid);
}

inline void cp_async_4(void *shared, const void *global, bool valid)
{
    vrt_sim_cp_async(shared, global, 4, valid);
}

inline void cp_async_commit()
{
    vrt_sim_cp_async_commit();
}

template <int N> void cp_async_wait()
{
    vrt_sim_cp_async_wait(N);
}

}
