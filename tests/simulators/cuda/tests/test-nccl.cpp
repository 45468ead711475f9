/* SPDX-License-Identifier: MIT */
/* Broadcasts among simulated devices: in a group, from several threads, with one that fails. */

#include "tests/simulators/cuda/tests/test-kernel.h"

#include "tests/simulators/cuda/include/nccl.h"

#include <thread>

namespace {

constexpr int n_ranks = 3;
constexpr size_t n_bytes = 1000;

/* A device each, with what it sends or gets. */
struct ranks {
    cudaStream_t streams[n_ranks];
    unsigned char *data[n_ranks];

    ranks()
    {
        for (int i = 0; i < n_ranks; i++) {
            expect_int(cudaSetDevice(i), cudaSuccess);
            expect_int(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking), cudaSuccess);
            expect_int(cudaMalloc(reinterpret_cast<void **>(&data[i]), n_bytes), cudaSuccess);
            expect_int(cudaMemsetAsync(data[i], 100 + i, n_bytes, streams[i]), cudaSuccess);
        }
    }
    ranks(const ranks &) = delete;
    ~ranks()
    {
        for (int i = 0; i < n_ranks; i++) {
            cudaFree(data[i]);
            cudaStreamDestroy(streams[i]);
        }
    }
    int byte(int rank, size_t at) const
    {
        unsigned char b;

        expect_int(cudaSetDevice(rank), cudaSuccess);
        expect_int(cudaStreamSynchronize(streams[rank]), cudaSuccess);
        expect_int(cudaMemcpy(&b, data[rank] + at, 1, cudaMemcpyDeviceToHost), cudaSuccess);
        return b;
    }
    ncclResult_t broadcast(ncclComm_t *comms, int root) const
    {
        expect_int(ncclGroupStart(), ncclSuccess);
        for (int i = 0; i < n_ranks; i++)
            expect_int(ncclBroadcast(data[i], data[i], n_bytes, ncclUint8, root, comms[i],
                                     streams[i]), ncclSuccess);
        return ncclGroupEnd();
    }
};

void test_group()
{
    const ranks all;
    ncclComm_t comms[n_ranks];

    expect_int(ncclCommInitAll(comms, n_ranks, nullptr), ncclSuccess);
    expect_int(all.broadcast(comms, 1), ncclSuccess);
    for (int i = 0; i < n_ranks; i++)
        expect_int(all.byte(i, n_bytes - 1), 101);
    expect_int(cudaSetDevice(2), cudaSuccess);
    expect_int(cudaMemsetAsync(all.data[2], 7, n_bytes, all.streams[2]), cudaSuccess);
    expect_int(all.broadcast(comms, 2), ncclSuccess);
    expect_int(all.byte(0, 0), 7);
    for (int i = 0; i < n_ranks; i++)
        expect_int(ncclCommDestroy(comms[i]), ncclSuccess);
}

/* Each rank from a thread of its own: none waits for good, whoever comes first. */
void test_threads()
{
    const ranks all;
    ncclUniqueId id;
    std::vector<std::thread> threads;

    expect_int(ncclGetUniqueId(&id), ncclSuccess);
    for (int i = 0; i < n_ranks; i++) {
        threads.emplace_back([&all, id, i] {
            ncclComm_t comm;

            expect_int(cudaSetDevice(i), cudaSuccess);
            expect_int(ncclCommInitRank(&comm, n_ranks, id, i), ncclSuccess);
            expect_int(ncclBroadcast(all.data[0], all.data[i], n_bytes / 4, ncclFloat, 0, comm,
                                     all.streams[i]), ncclSuccess);
            expect_int(cudaStreamSynchronize(all.streams[i]), cudaSuccess);
            expect_int(ncclCommDestroy(comm), ncclSuccess);
        });
    }
    for (auto &t : threads)
        t.join();
    for (int i = 0; i < n_ranks; i++)
        expect_int(all.byte(i, n_bytes - 1), 100);
}

/* A rank that never comes: the others wait until somebody gives up. */
void test_abort()
{
    const ranks all;
    ncclComm_t comms[n_ranks];
    ncclResult_t error;

    expect_int(ncclCommInitAll(comms, n_ranks, nullptr), ncclSuccess);
    for (int i = 0; i < 2; i++)
        expect_int(ncclBroadcast(all.data[0], all.data[i], n_bytes, ncclUint8, 0, comms[i],
                                 all.streams[i]), ncclSuccess);
    expect_int(cudaStreamQuery(all.streams[1]), cudaErrorNotReady);
    for (int i = 0; i < 10; i++)
        expect_int(cudaStreamQuery(all.streams[1]), cudaErrorNotReady);
    std::thread waiting([&all] { cudaStreamSynchronize(all.streams[1]); });

    expect_int(ncclCommAbort(comms[2]), ncclSuccess);
    waiting.join();
    expect_int(ncclCommGetAsyncError(comms[0], &error), ncclSuccess);
    expect_int(error, ncclRemoteError);
    expect_int(all.byte(1, 0), 101);
    expect_int(ncclCommAbort(comms[0]), ncclSuccess);
    expect_int(ncclCommAbort(comms[1]), ncclSuccess);
}

void test_failures()
{
    const ranks all;
    ncclComm_t comms[n_ranks];
    ncclResult_t error;

    setenv("VRT_NCCL_SIM_FAIL", "init@2", 1);
    expect_int(ncclCommInitAll(comms, n_ranks, nullptr), ncclSystemError);
    setenv("VRT_NCCL_SIM_FAIL", "broadcast@1", 1);
    expect_int(ncclCommInitAll(comms, n_ranks, nullptr), ncclSuccess);
    expect_int(all.broadcast(comms, 0), ncclInternalError);
    for (ncclComm_t comm : comms)
        expect_int(ncclCommAbort(comm), ncclSuccess);
    setenv("VRT_NCCL_SIM_FAIL", "remote@1", 1);
    expect_int(ncclCommInitAll(comms, n_ranks, nullptr), ncclSuccess);
    expect_int(all.broadcast(comms, 0), ncclSuccess);
    expect_int(all.byte(2, 0), 100);
    expect_int(all.byte(1, 0), 101);
    expect_int(ncclCommGetAsyncError(comms[0], &error), ncclSuccess);
    expect_int(error, ncclRemoteError);
    setenv("VRT_NCCL_SIM_FAIL", "corrupt@1", 1);
    expect_int(all.broadcast(comms, 0), ncclSuccess);
    expect_int(all.byte(1, n_bytes / 2), 100 ^ 0x10);
    expect_int(all.byte(1, 0), 100);
    unsetenv("VRT_NCCL_SIM_FAIL");
    for (ncclComm_t comm : comms)
        expect_int(ncclCommDestroy(comm), ncclSuccess);
}

}

TEST_MAIN_AFTER(setenv("VRT_CUDA_SIM_DEVICES", "3", 1),
    {"group", test_group},
    {"threads", test_threads},
    {"abort", test_abort},
    {"failures", test_failures},
)
