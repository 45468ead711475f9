/* SPDX-License-Identifier: MIT */
#pragma once

/* Launching, by the runtime's own function: the C++ syntax for it says nothing of failures. */

#include <cuda_runtime.h>

/*
 * Enqueues `kernel` with `shared_bytes` of dynamic shared memory, for which it asks where that is
 * more than every kernel may have. Return: 0, cudaError_t.
 */
template <class... Wanted, class... Given>
static inline int vrt_launch(void (*kernel)(Wanted...), dim3 grid, dim3 block,
                             size_t shared_bytes, cudaStream_t stream, const Given &...args)
{
    cudaLaunchConfig_t config = {};

    if (shared_bytes > 48 * 1024) {
        cudaError_t r = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             (int)shared_bytes);
        if (r != cudaSuccess)
            return (int)r;
    }
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared_bytes;
    config.stream = stream;
    return (int)cudaLaunchKernelEx(&config, kernel, Wanted(args)...);
}
