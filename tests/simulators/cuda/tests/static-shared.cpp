/* SPDX-License-Identifier: MIT */
/* A kernel in a library of its own, as those of the backend are: see test-launch.cpp. */

#include "tests/simulators/cuda/tests/static-shared.h"

#include "tests/simulators/cuda/include/cuda_runtime.h"

/* How many of the block's numbers were NaN before anybody wrote them. */
static __global__ void count_nan(int *out)
{
    __shared__ float numbers[8][32];
    __shared__ int n_nan;

    for (int i = 0; i < 8; i++) {
        const bool is_nan = std::isnan(numbers[i][threadIdx.x]);

        numbers[i][threadIdx.x] = 1.0f;
        if (threadIdx.x == 0 && i == 0)
            n_nan = 0;
        __syncthreads();
        if (is_nan)
            n_nan++;         /* threads take turns: nothing comes between */
        __syncthreads();
    }
    if (threadIdx.x == 0)
        out[blockIdx.x] = n_nan;
}

cudaError_t static_shared_count_nan(int n_blocks, int *out)
{
    cudaLaunchConfig_t config = {};

    config.gridDim = unsigned(n_blocks);
    config.blockDim = 32;
    return cudaLaunchKernelEx(&config, count_nan, out);
}
