/* SPDX-License-Identifier: MIT */
/* Launching: indices, barriers, shared memory, what is refused, what becomes of a mistake. */

#include "../unit/test.h"

#include "include/cuda_runtime.h"
#include "include/mma.cuh"
#include "block.h"
#include "machine.h"

namespace {

template <class... P, class... A>
cudaError_t launch(void (*kernel)(P...), dim3 grid, dim3 block, size_t shared, A... args)
{
    cudaLaunchConfig_t config = {};

    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared;
    return cudaLaunchKernelEx(&config, kernel, P(args)...);
}

template <class T> T *device_array(size_t n)
{
    void *data = nullptr;

    expect_int(cudaMalloc(&data, n * sizeof(T)), cudaSuccess);
    return static_cast<T *>(data);
}

void number(int *out)
{
    const int n = blockDim.x * blockDim.y * blockDim.z;
    const int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    const int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;

    out[block * n + thread] += block * 1000 + thread + 1;
}

void test_indices()
{
    int *out = device_array<int>(2 * 3 * 4 * 5 * 6 * 7), back[2 * 3 * 4 * 5 * 6 * 7];
    const size_t before = sim::n_fibers();

    expect_int(cudaMemset(out, 0, sizeof(back)), cudaSuccess);
    expect_int(launch(number, dim3(2, 3, 4), dim3(5, 6, 7), 0, out), cudaSuccess);
    expect_int(cudaMemcpy(back, out, sizeof(back), cudaMemcpyDeviceToHost), cudaSuccess);
    for (int i = 0; i < 2 * 3 * 4 * 5 * 6 * 7; i++)
        expect_int(back[i], i / 210 * 1000 + i % 210 + 1);
    expect_true(sim::n_fibers() <= before + 1);     /* nobody waited: no stacks were needed */
    expect_int(cudaFree(out), cudaSuccess);
}

/* Reverses a block's numbers; without the barrier that is wrong in some order. */
void reverse(const float *in, float *out, bool with_barrier)
{
    VRT_DYNAMIC_SHARED(bytes);
    float *tile = reinterpret_cast<float *>(bytes);
    const unsigned i = threadIdx.x, n = blockDim.x;

    tile[i] = in[blockIdx.x * n + i];
    if (with_barrier)
        __syncthreads();
    out[blockIdx.x * n + i] = tile[n - 1 - i];
}

int n_wrong_of_reverse(bool with_barrier)
{
    constexpr int n = 1024, n_blocks = 3;
    float *in = device_array<float>(n * n_blocks), *out = device_array<float>(n * n_blocks);
    float numbers[n * n_blocks];
    int n_wrong = 0;

    for (int i = 0; i < n * n_blocks; i++)
        numbers[i] = float(i);
    expect_int(cudaMemcpy(in, numbers, sizeof(numbers), cudaMemcpyHostToDevice), cudaSuccess);
    expect_int(launch(reverse, n_blocks, n, n * sizeof(float), in, out, with_barrier), cudaSuccess);
    expect_int(cudaMemcpy(numbers, out, sizeof(numbers), cudaMemcpyDeviceToHost), cudaSuccess);
    for (int i = 0; i < n * n_blocks; i++)
        n_wrong += numbers[i] != float(i / n * n + n - 1 - i % n);
    expect_int(cudaFree(in), cudaSuccess);
    expect_int(cudaFree(out), cudaSuccess);
    return n_wrong;
}

void test_barrier()
{
    expect_int(n_wrong_of_reverse(true), 0);
}

void test_missing_barrier_shows()
{
    expect_true(n_wrong_of_reverse(false) > 0);
}

const test_case cases[] = {
    {"indices", test_indices},
    {"barrier", test_barrier},
    {"missing barrier shows", test_missing_barrier_shows},
};

}

int main(int argc, char **argv)
{
    return test_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
