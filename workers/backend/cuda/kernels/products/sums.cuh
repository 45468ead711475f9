/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A block's sums, in registers: by tensor cores, or by fma, a thread each
 *
 * Both take their factors from shared memory in the same shape. A tile's rows of A come in runs of
 * 16, `run_bytes` from one run to the next (patches have others' neighbours between), all else in
 * rows of VRT_CUDA_ROW_BYTES; a step adds n_chunks chunks of k, and what is in the chunk after an
 * odd number of them must be zeros.
 */

#include "backend/cuda/kernels/products/copy.cuh"
#include "backend/cuda/kernels/products/epilogue.cuh"
#include "backend/cuda/kernels/products/split.cuh"

namespace vrt {

/* d += a * b, of two chunks of k. */
template <class T>
static __device__ __forceinline__ void multiply(float d[4], const uint32_t a[4],
                                                const uint32_t b[2])
{
    mma_16x8x16<T>(d, a, b);
}

template <>
__device__ __forceinline__ void multiply<tf32>(float d[4], const uint32_t a[4],
                                               const uint32_t b[2])
{
    mma_16x8x8_tf32(d, a, b);
}

/* What a fragment needs before it is multiplied. tf32: rounds to nearest, for tensor cores cut off;
 * what is not finite stays so. */
template <class T>
static __device__ __forceinline__ void prepare(uint32_t r[4])
{
}

template <>
__device__ __forceinline__ void prepare<tf32>(uint32_t r[4])
{
#pragma unroll
    for (int i = 0; i < 4; i++)
        if ((r[i] & 0x7f800000) != 0x7f800000)
            r[i] += 0x1000;
}

/* d += a * b, of two chunks of k, from this lane's rows on: M fragments of a, a_bytes from one to
 * the next, and N / 2 pairs of fragments of b, b_bytes apart. UNROLL: of two such in a row. */
template <class T>
struct multiply_2 {
    static constexpr int UNROLL = 2;

    template <int M, int N>
    static __device__ __forceinline__ void add(float d[M][N][4], const unsigned char *a,
                                               int a_bytes, const unsigned char *b, int b_bytes)
    {
        uint32_t fa[M][4], fb[N / 2][4];

#pragma unroll
        for (int i = 0; i < M; i++) {
            ldmatrix_x4(fa[i], a + i * a_bytes);
            prepare<T>(fa[i]);
        }
#pragma unroll
        for (int j = 0; j < N / 2; j++) {
            ldmatrix_x4(fb[j], b + j * b_bytes);
            prepare<T>(fb[j]);
        }
#pragma unroll
        for (int i = 0; i < M; i++)
#pragma unroll
            for (int j = 0; j < N; j++)
                multiply<T>(d[i][j], fa[i], &fb[j / 2][j % 2 * 2]);
    }
};

template <>
struct multiply_2<split_tf32> {
    static constexpr int UNROLL = 1;            /* for want of registers */

    template <int M, int N>
    static __device__ __forceinline__ void add(float d[M][N][4], const unsigned char *a,
                                               int a_bytes, const unsigned char *b, int b_bytes)
    {
        split_multiply<M, N>(d, a, a_bytes, b, b_bytes);
    }
};

/* M x N sums by MW x NW warps; fragments are 16 x 8. */
template <class T, int M, int N, int MW, int NW>
struct mma_sums {
    static constexpr int ROWS = M, COLUMNS = N, THREADS = MW * NW * 32;
    static constexpr int WARP_M = M / MW, WARP_N = N / NW;
    using element_type = T;

    float d[WARP_M / 16][WARP_N / 8][4];

    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for (int i = 0; i < WARP_M / 16; i++)
#pragma unroll
            for (int j = 0; j < WARP_N / 8; j++)
#pragma unroll
                for (int k = 0; k < 4; k++)
                    d[i][j][k] = 0;
    }

    __device__ __forceinline__ void add(const unsigned char *a, int run_bytes,
                                        const unsigned char *b, int n_chunks)
    {
        const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
        const int row = warp % NW * WARP_N + lane % 8 + lane / 16 * 8;

        a += warp / NW * (WARP_M / 16) * run_bytes + lane % 16 * VRT_CUDA_ROW_BYTES +
             lane / 16 * VRT_CUDA_CHUNK_BYTES;
        b += row * VRT_CUDA_ROW_BYTES + lane / 8 % 2 * VRT_CUDA_CHUNK_BYTES;
#pragma unroll multiply_2<T>::UNROLL
        for (int c = 0; c < VRT_CUDA_SLAB_CHUNKS; c += 2) {
            if (c > 0 && c >= n_chunks)
                break;
            multiply_2<T>::template add<WARP_M / 16, WARP_N / 8>(
                d, a + c * VRT_CUDA_CHUNK_BYTES, run_bytes, b + c * VRT_CUDA_CHUNK_BYTES,
                16 * VRT_CUDA_ROW_BYTES);
        }
    }

    /* Fragments 2*half and 2*half + 1 to the warp's slab. */
    __device__ __forceinline__ void stash(float *slab, int half)
    {
        constexpr int STRIDE = WARP_N + VRT_CUDA_FINISH_GAP;
        const int lane = (int)threadIdx.x % 32;

        slab += lane / 4 * STRIDE + lane % 4 * 2;
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < WARP_N / 8; j++) {
                const float *sums = d[2 * half + i / 2][j] + i % 2 * 2;
                *(float2 *)(slab + i * 8 * STRIDE + j * 8) = make_float2(sums[0], sums[1]);
            }
    }

    /* All to the output; `slabs` is memory of the block that nobody uses any more. */
    __device__ __forceinline__ void finish(const epilogue &e, float *slabs, int column)
    {
        const int warp = (int)threadIdx.x / 32;
        float *slab = slabs + warp * VRT_CUDA_FINISH_ROWS * (WARP_N + VRT_CUDA_FINISH_GAP);

#pragma unroll
        for (int half = 0; half < WARP_M / 32; half++) {
            const slab_rows rows = { warp / NW * WARP_M + half * 32, 4, 32 };
            __syncwarp();
            stash(slab, half);
            __syncwarp();
            finish_slab<WARP_N>(e, slab, rows, column + warp % NW * WARP_N);
        }
    }
};

/* 16*TM x 8*TN sums by 128 threads: TM rows 16 apart and TN columns 8 apart each. */
template <int TM, int TN>
struct fma_sums {
    static constexpr int ROWS = 16 * TM, COLUMNS = 8 * TN, THREADS = 128;
    using element_type = float;

    float d[TM][TN];

    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for (int i = 0; i < TM; i++)
#pragma unroll
            for (int j = 0; j < TN; j++)
                d[i][j] = 0;
    }

    __device__ __forceinline__ void add(const unsigned char *a, int run_bytes,
                                        const unsigned char *b, int n_chunks)
    {
        a += threadIdx.x / 8 * VRT_CUDA_ROW_BYTES;
        b += threadIdx.x % 8 * VRT_CUDA_ROW_BYTES;
#pragma unroll 1
        for (int c = 0; c < n_chunks; c++, a += VRT_CUDA_CHUNK_BYTES, b += VRT_CUDA_CHUNK_BYTES) {
            float4 fb[TN];
#pragma unroll
            for (int j = 0; j < TN; j++)
                fb[j] = *(const float4 *)(b + j * 8 * VRT_CUDA_ROW_BYTES);
#pragma unroll
            for (int i = 0; i < TM; i++) {
                const float4 fa = *(const float4 *)(a + i * run_bytes);
#pragma unroll
                for (int j = 0; j < TN; j++) {
                    d[i][j] = fmaf(fa.x, fb[j].x, d[i][j]);
                    d[i][j] = fmaf(fa.y, fb[j].y, d[i][j]);
                    d[i][j] = fmaf(fa.z, fb[j].z, d[i][j]);
                    d[i][j] = fmaf(fa.w, fb[j].w, d[i][j]);
                }
            }
        }
    }

    __device__ __forceinline__ void finish(const epilogue &e, float *slabs, int column)
    {
        constexpr int STRIDE = COLUMNS + VRT_CUDA_FINISH_GAP;
        const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
        float *slab = slabs + warp * VRT_CUDA_FINISH_ROWS * STRIDE;
        const slab_rows rows = { warp * 4, 16, TM * 4 };

#pragma unroll
        for (int i = 0; i < TM; i++)
#pragma unroll
            for (int j = 0; j < TN; j++)
                slab[(i * 4 + lane / 8) * STRIDE + j * 8 + lane % 8] = d[i][j];
        __syncwarp();
        finish_slab<COLUMNS>(e, slab, rows, column);
    }
};

}
