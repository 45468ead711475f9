/* SPDX-License-Identifier: MIT */

/* The checksum of weights: what "backend/checksum.h" defines, a part of it by each block. */

#include "backend/checksum.h"
#include "backend/cuda/kernels/kernels.h"
#include "backend/cuda/kernels/launch.cuh"

#define THREADS 256

static __global__ void __launch_bounds__(THREADS) checksum(const uint64_t *words, uint64_t n,
                                                           uint64_t *sums)
{
    __shared__ uint64_t parts[THREADS];
    const uint64_t step = (uint64_t)gridDim.x * THREADS;
    uint64_t sum = 0;

    for (uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x; i < n; i += step)
        sum += vrt_checksum_mix(words[i], i);
    parts[threadIdx.x] = sum;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if ((int)threadIdx.x < half)
            parts[threadIdx.x] += parts[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        sums[blockIdx.x] = parts[0];
}

int vrt_cuda_checksum(cudaStream_t stream, const void *data, size_t size_bytes, uint64_t *sums)
{
    return vrt_launch(checksum, dim3(VRT_CUDA_CHECKSUM_BLOCKS), THREADS, 0, stream, data,
                      size_bytes / 8, sums);
}
