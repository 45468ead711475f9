/* SPDX-License-Identifier: MIT */
/*
 * Mistakes in kernels end the launch with a sentence that says where, and break the device until it
 * is reset
 */

#include "tests/simulators/cuda/tests/test-kernel.h"

#include <sys/wait.h>
#include <unistd.h>

#include "tests/simulators/cuda/include/mma.cuh"
#include "tests/simulators/cuda/machine/machine.h"

namespace {

/* The device is broken, says `part`, and works again after a reset. */
template <class... P, class... A>
void expect_mistake(cudaError_t error, const char *part, void (*kernel)(P...), dim3 block,
                    A... args)
{
    void *data;

    expect_int(launch(kernel, 3, block, 64, args...), error);
    const std::string why = sim::last_failure();

    expect_contains(why.c_str(), part);
    expect_int(cudaMalloc(&data, 1), error);
    expect_int(cudaStreamSynchronize(nullptr), error);
    expect_int(cudaDeviceReset(), cudaSuccess);
    cudaGetLastError();
    expect_int(cudaMalloc(&data, 1), cudaSuccess);
    expect_int(cudaFree(data), cudaSuccess);
}

void diverge()
{
    if (threadIdx.x == 70) {
        __shfl_sync(0x100, 0, 0);               /* others of the mask never come */
        return;
    }
    __syncthreads();
}

void wait_for_missing_lane()
{
    if (threadIdx.x % 32 != 5)
        __syncwarp();
}

void half_at_barrier()
{
    if (threadIdx.x < 64)
        __syncthreads();
    else
        __syncwarp(threadIdx.x == 64 ? 3u : 2u);
}

void at_different_collectives()
{
    if (threadIdx.x % 2)
        __shfl_sync(~0u, 1, 0);
    else
        __syncwarp();
}

void outside_of_mask()
{
    __syncwarp(1);
}

void partial_warp()
{
    __syncwarp();
}

void give_up()
{
    if (blockIdx.x == 1 && threadIdx.x == 3)
        __trap();
}

void misaligned(int)
{
    VRT_DYNAMIC_SHARED(bytes);
    uint32_t r[4];

    vrt::ldmatrix_x4(r, bytes + threadIdx.x);
}

void test_deadlocks()
{
    expect_mistake(cudaErrorLaunchFailure, "diverge", diverge, 128);
    expect_mistake(cudaErrorLaunchFailure, "a lane outside of its own mask", diverge, 128);
    expect_mistake(cudaErrorLaunchFailure, "which 0x00000020 do not come (0x00000020 ended",
                   wait_for_missing_lane, 128);
    expect_mistake(cudaErrorLaunchFailure, "__syncwarp() of lanes 0x00000003, of which",
                   half_at_barrier, 66);
    expect_mistake(cudaErrorLaunchFailure, "others of which are at another",
                   at_different_collectives, 64);
    expect_mistake(cudaErrorLaunchFailure, "which 0xffff0000 do not come", partial_warp, 16);
    expect_mistake(cudaErrorLaunchFailure, "outside of its own mask", outside_of_mask, 32);
}

void test_traps()
{
    expect_mistake(cudaErrorLaunchFailure, "block (1, 0, 0): thread (3, 0, 0): __trap()", give_up,
                   64);
    expect_mistake(cudaErrorMisalignedAddress, "ldmatrix.x4", misaligned, 32, 0);
}

/* Stacks that were given up serve again. */
void test_goes_on()
{
    for (int i = 0; i < 20; i++) {
        expect_mistake(cudaErrorLaunchFailure, "0x00000020", wait_for_missing_lane, 1024);
        expect_int(launch(partial_warp, 2, 1024, 0), cudaSuccess);
    }
}

void set(int *out, int value)
{
    *out = value;
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
    expect_killed([] { launch(set, 1, 1, 0, device_array<int>(64).data + 64, 1); });
    expect_killed([] { launch(set, 1, 1, 0, static_cast<int *>(nullptr), 1); });
}

}

TEST_MAIN(
    {"memory is guarded", test_memory_is_guarded},
    {"deadlocks", test_deadlocks},
    {"traps", test_traps},
    {"goes on", test_goes_on},
)
