/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Products of f32 by tensor cores: a factor is split in two of TF32, a product made of three
 *
 *     a = a_high + a_low,  a * b ~ a_low * b_high + a_high * b_low + a_high * b_high
 *
 * A high part is the factor rounded to TF32's 11 bits; the rest has 12 at most, of which tensor
 * cores read 11. What is lost, a_low * b_low included, is 2^-21 of the product at most, so that it
 * stands in for f32 as FMA computes it. So do Ootomo and Yokota, "Recovering single precision
 * accuracy from Tensor Cores while surpassing the FP32 theoretical peak performance" (2022), from
 * whom the next is, too.
 *
 * Tensor cores don't round a sum to nearest, but cut it off, and a long sum of one sign drifts.
 * Hence each 8 of k are summed from zero and added outside. Largest errors over the largest sum,
 * 400 sums of numbers between 0 and 1, tensor cores as mma.cpp in tests/simulators/cuda/ has them:
 *
 *     k                            64        256       1152      4608
 *     by FMA                       3.3e-7    6.6e-7    1.4e-6    2.8e-6
 *     all in the tensor cores      1.6e-6    5.9e-6    2.8e-5    1.0e-4
 *     each 8 of k added outside    1.7e-7    2.4e-7    6.3e-7    1.1e-6
 *     each 16                      2.9e-7    2.7e-7    4.8e-7    9.3e-7
 *
 * 16 would take half of the additions, and twice the registers for the split factors.
 *
 * Where a factor is infinite or no number, the product is either, too. Parts below 2^-136 are lost,
 * and a product within 2^-10 of the largest f32 may come out as infinite.
 */

#include "backend/cuda/kernels/products/product.h"
#include "mma.cuh"

namespace vrt {

/* Whether a kernel that multiplies this type is wanted on the architecture that is compiled for. */
template <class T>
static __device__ constexpr bool is_wanted()
{
    return true;
}

template <>
__device__ constexpr bool is_wanted<split_tf32>()
{
    return has_fast_tf32();
}

/* How many blocks of 128 threads a multiprocessor's registers shall hold, of so many sums each: the
 * parts of factors take registers, too. */
static constexpr int split_at_once(int sums)
{
    return sums >= 128 * 64 ? 2 : 4;
}

/* The largest magnitude that isn't rounded to infinity. */
#define VRT_SPLIT_LARGEST 0x7f7fefff

/*
 * x = *ret_high + *ret_low, as bits. What is too large for rounding is cut off instead: of finite
 * numbers both parts are finite, and of infinity the low one is infinite, so that no part of such a
 * product is the difference of two infinities.
 */
static __device__ __forceinline__ void split(uint32_t x, uint32_t *ret_high, uint32_t *ret_low)
{
    const float largest = __uint_as_float(VRT_SPLIT_LARGEST), value = __uint_as_float(x);
    const float held = fminf(fmaxf(value, -largest), largest);

    *ret_high = (__float_as_uint(held) + 0x1000) & 0xffffe000;
    *ret_low = __float_as_uint(value - __uint_as_float(*ret_high));
}

/* N fragments' parts: of a, or two and two of b. */
template <int N>
struct split_fragments {
    uint32_t high[N][4], low[N][4];
};

/* Fragment i. */
template <int N>
static __device__ __forceinline__ void split_put(split_fragments<N> *f, int i, const uint32_t x[4])
{
#pragma unroll
    for (int k = 0; k < 4; k++)
        split(x[k], &f->high[i][k], &f->low[i][k]);
}

/* The same from this lane's row in shared memory. */
template <int N>
static __device__ __forceinline__ void split_load(split_fragments<N> *f, int i, const void *row)
{
    uint32_t x[4];

    ldmatrix_x4(x, row);
    split_put(f, i, x);
}

/* d [M][from `first` on, N] += a * b of 8 numbers of k. */
template <int M, int N, int COLUMNS>
static __device__ __forceinline__ void split_add(float (*d)[COLUMNS][4], int first,
                                                 const split_fragments<M> &a,
                                                 const split_fragments<(N + 1) / 2> &b)
{
    float sums[M][N][4] = {};

#pragma unroll
    for (int i = 0; i < M; i++)
        mma_16x8x8_tf32<N>(sums[i], a.low[i], b.high);
#pragma unroll
    for (int i = 0; i < M; i++)
        mma_16x8x8_tf32<N>(sums[i], a.high[i], b.low);
#pragma unroll
    for (int i = 0; i < M; i++)
        mma_16x8x8_tf32<N>(sums[i], a.high[i], b.high);
#pragma unroll
    for (int i = 0; i < M; i++)
#pragma unroll
        for (int j = 0; j < N; j++)
#pragma unroll
            for (int k = 0; k < 4; k++)
                d[i][first + j][k] += sums[i][j][k];
}

/*
 * d += a * b of 8 numbers of k: M fragments of a, `a_bytes` from one to the next in shared memory,
 * and N / 2 pairs of fragments of b, b_bytes apart.
 */
template <int M, int N>
static __device__ __forceinline__ void split_multiply(float d[M][N][4], const unsigned char *a,
                                                      int a_bytes, const unsigned char *b,
                                                      int b_bytes)
{
    split_fragments<N / 2> fb;

#pragma unroll
    for (int j = 0; j < N / 2; j++)
        split_load(&fb, j, b + j * b_bytes);
#pragma unroll
    for (int i = 0; i < M; i++) {
        split_fragments<1> fa;

        split_load(&fa, 0, a + i * a_bytes);
        split_add<1, N>(&d[i], 0, fa, fb);
    }
}

}
