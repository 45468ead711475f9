/* SPDX-License-Identifier: MIT */
#pragma once

/* What tests of the simulated machine begin with: launching a kernel, memory of the device. */

#include "tests/unit/test.h"

#include "tests/simulators/cuda/include/cuda_runtime.h"

#include <vector>

/* Enqueues a kernel. */
template <class... P, class... A>
static inline cudaError_t launch_on(cudaStream_t stream, void (*kernel)(P...), dim3 grid,
                                    dim3 block, size_t shared, A... args)
{
    cudaLaunchConfig_t config = {};

    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared;
    config.stream = stream;
    return cudaLaunchKernelEx(&config, kernel, P(args)...);
}

/* The same on the default stream: it has run when this returns. */
template <class... P, class... A>
static inline cudaError_t launch(void (*kernel)(P...), dim3 grid, dim3 block, size_t shared,
                                 A... args)
{
    const cudaError_t r = launch_on(nullptr, kernel, grid, block, shared, args...);

    return r ? r : cudaDeviceSynchronize();
}

/* An array in the device's memory, freed at the end. */
template <class T> struct device_array {
    T *data = nullptr;
    size_t n;

    explicit device_array(size_t n_) : n(n_)
    {
        expect_int(cudaMalloc(reinterpret_cast<void **>(&data), n * sizeof(T)), cudaSuccess);
    }
    explicit device_array(const std::vector<T> &values) : device_array(values.size())
    {
        expect_int(cudaMemcpy(data, values.data(), n * sizeof(T), cudaMemcpyHostToDevice),
                   cudaSuccess);
    }
    device_array(const device_array &) = delete;
    ~device_array() { cudaFree(data); }

    std::vector<T> read() const
    {
        std::vector<T> values(n);

        expect_int(cudaMemcpy(values.data(), data, n * sizeof(T), cudaMemcpyDeviceToHost),
                   cudaSuccess);
        return values;
    }
};
