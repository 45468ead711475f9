/* SPDX-License-Identifier: MIT */
/* Launching: barriers, shared memory, what is refused. */

#include "tests/simulators/cuda/tests/test-kernel.h"

#include "tests/simulators/cuda/include/mma.cuh"
#include "tests/simulators/cuda/tests/static-shared.h"

namespace {

/* Reverses a block's numbers; without the barrier that is wrong in whatever order. */
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
    std::vector<float> numbers(n * n_blocks);
    int n_wrong = 0;

    for (size_t i = 0; i < numbers.size(); i++)
        numbers[i] = float(i);
    const device_array<float> in(numbers), out(numbers.size());

    expect_int(launch(reverse, n_blocks, n, n * sizeof(float), in.data, out.data, with_barrier),
               cudaSuccess);
    numbers = out.read();
    for (int i = 0; i < n * n_blocks; i++)
        n_wrong += numbers[size_t(i)] != float(i / n * n + n - 1 - i % n);
    return n_wrong;
}

void test_barrier()
{
    expect_int(n_wrong_of_reverse(true), 0);
    expect_true(n_wrong_of_reverse(false) > 0);
}

/* Some threads end before the others' barrier: they are not waited for. */
void leave_early(int *out)
{
    if (threadIdx.x % 3 == 0)
        return;
    __syncthreads();
    out[threadIdx.x] = 1;
}

void test_ended_threads()
{
    const device_array<int> out(std::vector<int>(100));

    expect_int(launch(leave_early, 1, 100, 0, out.data), cudaSuccess);
    for (int i = 0; i < 100; i++)
        expect_int(out.read()[size_t(i)], i % 3 != 0);
}

/* What nobody wrote is NaN, in each block anew. */
void count_nan(int *out, int n)
{
    VRT_DYNAMIC_SHARED(bytes);
    float *all = reinterpret_cast<float *>(bytes);
    int n_nan = 0;

    for (int i = 0; i < n; i++) {
        n_nan += isnan(all[i]);
        all[i] = 1.0f;
    }
    out[blockIdx.x] = n_nan;
}

void test_poison()
{
    const device_array<int> out(3), fresh(1000);

    expect_int(launch(count_nan, 3, 1, 400, out.data, 100), cudaSuccess);
    for (int n : out.read())
        expect_int(n, 100);
    expect_int(static_shared_count_nan(3, out.data), cudaSuccess);
    for (int n : out.read())
        expect_int(n, 256);
    for (int bits : fresh.read())
        expect_int(bits, -1);
}

void nothing()
{
}

void test_refused()
{
    expect_int(launch(nothing, 0, 1, 0), cudaErrorInvalidConfiguration);
    expect_int(cudaGetLastError(), cudaErrorInvalidConfiguration);
    expect_int(cudaGetLastError(), cudaSuccess);
    expect_int(launch(nothing, 1, 1025, 0), cudaErrorInvalidConfiguration);
    expect_int(launch(nothing, 1, dim3(32, 33), 0), cudaErrorInvalidConfiguration);
    expect_int(launch(nothing, dim3(1, 65536), 1, 0), cudaErrorInvalidConfiguration);
    expect_int(launch(nothing, dim3(65536, 65535), dim3(1, 1, 65), 0),
               cudaErrorInvalidConfiguration);
    expect_int(launch(nothing, 1, 1, 48 * 1024), cudaSuccess);
    expect_int(launch(nothing, 1, 1, 48 * 1024 + 1), cudaErrorInvalidValue);
    expect_int(cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    100 * 1024), cudaSuccess);
    expect_int(launch(nothing, 1, 1, 48 * 1024 + 1), cudaSuccess);
    expect_int(cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 232449),
               cudaErrorInvalidValue);
    cudaGetLastError();
}

}

TEST_MAIN(
    {"barrier", test_barrier},
    {"ended threads", test_ended_threads},
    {"poison", test_poison},
    {"refused", test_refused},
)
