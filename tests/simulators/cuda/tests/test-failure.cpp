/* SPDX-License-Identifier: MIT */
/*
 * What a machine is by its environment: how many devices, how much memory, which failures
 *
 * The environment is read once, so that each case is a process of its own.
 */

#include "tests/simulators/cuda/tests/test-kernel.h"

#include "tests/simulators/cuda/include/mma.cuh"

#include <sys/wait.h>
#include <unistd.h>

namespace {

struct setting {
    const char *name, *value;
};

/* Runs `check` in a child with these settings; it must come to its end. */
void with(std::vector<setting> settings, void (*check)())
{
    const pid_t child = fork();
    int status = -1;

    expect_true(child >= 0);
    if (child == 0) {
        for (const setting &s : settings)
            setenv(s.name, s.value, 1);
        check();
        exit(0);
    }
    expect_int(waitpid(child, &status, 0), child);
    expect_int(status, 0);
}

void set(int *out, int value)
{
    *out = value;
}

void *allocated(size_t n_bytes, cudaError_t wanted)
{
    void *data = nullptr;

    expect_int(cudaMalloc(&data, n_bytes), wanted);
    expect_true((data != nullptr) == (wanted == cudaSuccess));
    return data;
}

void test_capacity()
{
    with({{"VRT_CUDA_SIM_MEMORY", "1000"}}, [] {
        size_t n_free, n_total;
        void *first = allocated(600, cudaSuccess);

        allocated(401, cudaErrorMemoryAllocation);
        expect_int(cudaMemGetInfo(&n_free, &n_total), cudaSuccess);
        expect_int(n_free, 400);
        expect_int(n_total, 1000);
        expect_int(cudaFree(first), cudaSuccess);
        allocated(1000, cudaSuccess);
        allocated(SIZE_MAX, cudaErrorMemoryAllocation);
    });
}

void test_devices()
{
    with({{"VRT_CUDA_SIM_DEVICES", "4"}, {"CUDA_VISIBLE_DEVICES", "3,1,9,0"}}, [] {
        int n;
        char bus[16];
        cudaDeviceProp a, b;

        expect_int(cudaGetDeviceCount(&n), cudaSuccess);
        expect_int(n, 2);
        expect_int(cudaDeviceGetPCIBusId(bus, sizeof(bus), 0), cudaSuccess);
        expect_str(bus, "0000:04:00.0");
        expect_int(cudaDeviceGetPCIBusId(bus, sizeof(bus), 1), cudaSuccess);
        expect_str(bus, "0000:02:00.0");
        expect_int(cudaSetDevice(2), cudaErrorInvalidDevice);
        expect_int(cudaGetDeviceProperties(&a, 0), cudaSuccess);
        expect_int(cudaGetDeviceProperties(&b, 1), cudaSuccess);
        expect_true(memcmp(&a.uuid, &b.uuid, sizeof(a.uuid)) != 0);
    });
    with({{"CUDA_VISIBLE_DEVICES", ""}}, [] {
        int n = 7;

        expect_int(cudaGetDeviceCount(&n), cudaErrorNoDevice);
        expect_int(n, 0);
        allocated(1, cudaErrorNoDevice);
    });
    with({{"VRT_CUDA_SIM_FAIL", "init"}}, [] {
        int n;

        expect_int(cudaGetDeviceCount(&n), cudaErrorInitializationError);
    });
}

/* Copies go from one device to the other, and a broken one leaves the other be. */
void test_two_devices()
{
    with({{"VRT_CUDA_SIM_DEVICES", "2"}, {"VRT_CUDA_SIM_FAIL", "illegal@2"}}, [] {
        void *mine = allocated(4, cudaSuccess), *there;
        int value = 0;

        expect_int(launch(set, 1, 1, 0, static_cast<int *>(mine), 42), cudaSuccess);
        expect_int(cudaSetDevice(1), cudaSuccess);
        there = allocated(4, cudaSuccess);
        expect_int(cudaMemcpyPeerAsync(there, 0, mine, 1, 4), cudaErrorInvalidValue);
        expect_int(cudaMemcpyPeerAsync(there, 1, mine, 0, 4), cudaSuccess);
        expect_int(cudaMemcpy(&value, there, 4, cudaMemcpyDeviceToHost), cudaSuccess);
        expect_int(value, 42);
        expect_int(launch(set, 1, 1, 0, static_cast<int *>(there), 1), cudaErrorIllegalAddress);
        allocated(1, cudaErrorIllegalAddress);
        expect_int(cudaSetDevice(0), cudaSuccess);
        allocated(1, cudaSuccess);
    });
}

void test_calls_that_fail_once()
{
    with({{"VRT_CUDA_SIM_FAIL", "malloc@2,launch@2,memcpy@3,sync@1"}}, [] {
        int *data = static_cast<int *>(allocated(4, cudaSuccess)), value = 0;

        allocated(4, cudaErrorMemoryAllocation);
        allocated(4, cudaSuccess);
        expect_int(launch(set, 1, 1, 0, data, 1), cudaSuccess);
        expect_int(launch(set, 1, 1, 0, data, 2), cudaErrorLaunchOutOfResources);
        for (int i = 1; i <= 4; i++)
            expect_int(cudaMemcpy(&value, data, 4, cudaMemcpyDeviceToHost),
                       i == 3 ? cudaErrorUnknown : cudaSuccess);
        expect_int(value, 1);
        expect_int(cudaStreamSynchronize(nullptr), cudaErrorUnknown);
        expect_int(cudaStreamSynchronize(nullptr), cudaSuccess);
    });
}

/* Errors that stay: told where the work is waited for, then by every call. */
void test_broken_devices()
{
    with({{"VRT_CUDA_SIM_FAIL", "ecc@2"}}, [] {
        int *data = static_cast<int *>(allocated(4, cudaSuccess));
        cudaStream_t stream;

        expect_int(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
        for (int i = 0; i < 3; i++)
            expect_int(launch_on(stream, set, 1, 1, 0, data, i), cudaSuccess);
        expect_int(cudaStreamSynchronize(stream), cudaErrorECCUncorrectable);
        expect_int(cudaGetLastError(), cudaErrorECCUncorrectable);
        expect_int(launch_on(stream, set, 1, 1, 0, data, 3), cudaErrorECCUncorrectable);
        expect_int(cudaStreamDestroy(stream), cudaSuccess);
        expect_int(cudaDeviceReset(), cudaSuccess);
        data = static_cast<int *>(allocated(4, cudaSuccess));
        expect_int(launch(set, 1, 1, 0, data, 5), cudaSuccess);
    });
    with({{"VRT_CUDA_SIM_FAIL", "lost@1"}}, [] {
        int *data = static_cast<int *>(allocated(4, cudaSuccess));

        expect_int(launch(set, 1, 1, 0, data, 1), cudaErrorUnknown);
        expect_int(cudaDeviceReset(), cudaErrorDevicesUnavailable);
        expect_int(cudaSetDevice(0), cudaErrorDevicesUnavailable);
        allocated(4, cudaErrorDevicesUnavailable);
    });
}

template <class T> void multiply()
{
    const uint32_t a[4] = {}, b[2] = {};
    float d[4] = {};

    vrt::mma_16x8x16<T>(d, a, b);
}

void test_architectures()
{
    with({{"VRT_CUDA_SIM_ARCH", "75"}}, [] {
        cudaDeviceProp p;

        expect_int(cudaGetDeviceProperties(&p, 0), cudaSuccess);
        expect_int(p.major, 7);
        expect_int(p.sharedMemPerBlockOptin, 65536);
        expect_int(launch(multiply<__half>, 1, 32, 0), cudaSuccess);
        expect_int(launch(multiply<__nv_bfloat16>, 1, 32, 0), cudaErrorIllegalInstruction);
    });
    with({{"VRT_CUDA_SIM_ARCH", "80"}}, [] {
        expect_int(launch(multiply<__nv_bfloat16>, 1, 32, 0), cudaSuccess);
    });
}

/* Without a sanitizer, which would report them: both end the process. */
void expect_killed(void (*mistake)())
{
    const pid_t child = fork();
    int status = 0;

    expect_true(child >= 0);
    if (child == 0) {
        mistake();
        _exit(0);
    }
    expect_int(waitpid(child, &status, 0), child);
    expect_true(status != 0);
}

void test_memory_is_guarded()
{
    expect_killed([] { launch(set, 1, 1, 0, static_cast<int *>(allocated(256, cudaSuccess)) + 64,
                              1); });
    expect_killed([] { launch(set, 1, 1, 0, static_cast<int *>(nullptr), 1); });
}

}

TEST_MAIN(
    {"capacity", test_capacity},
    {"devices", test_devices},
    {"two devices", test_two_devices},
    {"calls that fail once", test_calls_that_fail_once},
    {"broken devices", test_broken_devices},
    {"architectures", test_architectures},
    {"memory is guarded", test_memory_is_guarded},
)
