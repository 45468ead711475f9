/* SPDX-License-Identifier: MIT */

/*
 * A library in NCCL's place, for the simulated CUDA machine: the few functions that are used, with
 * communicators that don't block, as its documentation describes them
 *
 * Rank 0's bytes are there when it broadcasts them, because the work of its stream is waited for;
 * the other ranks copy them in their own streams, when they are.
 */

#include "tests/simulators/cuda/libraries/fake-nccl/fake-nccl.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime_api.h>

enum { SUCCESS = 0, UNHANDLED_CUDA = 1, INVALID = 4, REMOTE = 6, IN_PROGRESS = 7 };

#define MAX_WORLDS 16
#define MAX_CHUNKS 256

#define EXPORT __attribute__((visibility("default")))

struct unique_id {
    char bytes[128];
};

/* As NCCL's, so far as it is looked at. */
struct config {
    size_t size;
    unsigned magic, version;
    int blocking;
};

/* All ranks of one key. */
struct world {
    int number;
    int n_ranks, n_here, n_finalized;
    bool broken;
    int device;                     /* rank 0's */
    struct {
        const char *from;
        size_t n;
    } chunks[MAX_CHUNKS];
    int n_chunks;
};

struct comm {
    struct world *world;
    int rank, device, n_done;
    bool finalized, waits;          /* for a chunk, to be copied there: */
    char *to;
    cudaStream_t stream;
};

EXPORT struct vrt_fake_nccl vrt_fake_nccl;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct world worlds[MAX_WORLDS];
static int n_worlds;

EXPORT int ncclGetUniqueId(struct unique_id *ret_id);
EXPORT int ncclCommInitRankConfig(struct comm **ret_comm, int n_ranks, struct unique_id id,
                                  int rank, const struct config *config);
EXPORT int ncclCommGetAsyncError(struct comm *comm, int *ret_state);
EXPORT int ncclBroadcast(const void *from, void *to, size_t n, int type, int root,
                         struct comm *comm, cudaStream_t stream);
EXPORT int ncclCommFinalize(struct comm *comm);
EXPORT int ncclCommDestroy(struct comm *comm);
EXPORT int ncclCommAbort(struct comm *comm);
EXPORT const char *ncclGetErrorString(int error);

int ncclGetUniqueId(struct unique_id *ret_id)
{
    pthread_mutex_lock(&lock);
    memset(ret_id, 0, sizeof(*ret_id));
    memset(&worlds[++n_worlds % MAX_WORLDS], 0, sizeof(worlds[0]));
    memcpy(ret_id->bytes, &n_worlds, sizeof(n_worlds));
    pthread_mutex_unlock(&lock);
    return SUCCESS;
}

int ncclCommInitRankConfig(struct comm **ret_comm, int n_ranks, struct unique_id id, int rank,
                           const struct config *config)
{
    struct comm *comm = calloc(1, sizeof(*comm));
    int number;

    if (!comm || config->magic != 0xcafebeef || config->blocking != 0) {
        free(comm);
        return INVALID;
    }
    if (rank && rank == vrt_fake_nccl.fail_init) {
        free(comm);
        return UNHANDLED_CUDA;
    }
    memcpy(&number, id.bytes, sizeof(number));
    comm->world = &worlds[number % MAX_WORLDS];
    comm->rank = rank;
    cudaGetDevice(&comm->device);
    pthread_mutex_lock(&lock);
    comm->world->n_ranks = n_ranks;
    if (!rank || rank != vrt_fake_nccl.silent_rank)
        comm->world->n_here++;
    pthread_mutex_unlock(&lock);
    atomic_fetch_add(&vrt_fake_nccl.n_communicators, 1);
    *ret_comm = comm;
    return IN_PROGRESS;
}

/* Copies the chunk that is waited for, once it is there; the lock is held. */
static int go_on(struct comm *comm)
{
    struct world *world = comm->world;
    int r = SUCCESS;

    if (!comm->waits)
        return SUCCESS;
    if (world->n_chunks <= comm->n_done)
        return IN_PROGRESS;
    comm->waits = false;
    const size_t n = world->chunks[comm->n_done].n;
    if (cudaMemcpyPeerAsync(comm->to, comm->device, world->chunks[comm->n_done].from,
                            world->device, n, comm->stream) != cudaSuccess)
        r = UNHANDLED_CUDA;
    if (comm->rank == vrt_fake_nccl.wrong_rank && comm->n_done == 1 &&
        cudaMemsetAsync(comm->to, 0x55, n, comm->stream) != cudaSuccess)
        r = UNHANDLED_CUDA;
    comm->n_done++;
    atomic_fetch_add(&vrt_fake_nccl.n_broadcasts, 1);
    return r;
}

int ncclCommGetAsyncError(struct comm *comm, int *ret_state)
{
    struct world *world = comm->world;

    pthread_mutex_lock(&lock);
    if (world->broken)
        *ret_state = REMOTE;
    else if (world->n_here < world->n_ranks)
        *ret_state = IN_PROGRESS;
    else if (comm->finalized)
        *ret_state = world->n_finalized < world->n_ranks ? IN_PROGRESS : SUCCESS;
    else
        *ret_state = go_on(comm);
    pthread_mutex_unlock(&lock);
    return SUCCESS;
}

int ncclBroadcast(const void *from, void *to, size_t n, int type, int root, struct comm *comm,
                  cudaStream_t stream)
{
    struct world *world = comm->world;
    int r = SUCCESS;

    if (type != 1 || root != 0 || comm->waits)
        return INVALID;
    if (comm->rank == vrt_fake_nccl.fail_rank && comm->n_done + 1 == vrt_fake_nccl.fail_chunk)
        return UNHANDLED_CUDA;
    if (comm->rank == 0 && cudaStreamSynchronize(stream) != cudaSuccess)
        return UNHANDLED_CUDA;
    pthread_mutex_lock(&lock);
    if (comm->rank == 0 && world->n_chunks == MAX_CHUNKS) {
        r = INVALID;
    } else if (comm->rank == 0) {
        world->device = comm->device;
        world->chunks[world->n_chunks].from = from;
        world->chunks[world->n_chunks++].n = n;
        comm->n_done++;
        atomic_fetch_add(&vrt_fake_nccl.n_broadcasts, 1);
    } else {
        comm->waits = true;
        comm->to = to;
        comm->stream = stream;
        r = go_on(comm);
    }
    pthread_mutex_unlock(&lock);
    return r;
}

int ncclCommFinalize(struct comm *comm)
{
    pthread_mutex_lock(&lock);
    comm->finalized = true;
    comm->world->n_finalized++;
    pthread_mutex_unlock(&lock);
    return IN_PROGRESS;
}

int ncclCommDestroy(struct comm *comm)
{
    free(comm);
    atomic_fetch_sub(&vrt_fake_nccl.n_communicators, 1);
    return SUCCESS;
}

int ncclCommAbort(struct comm *comm)
{
    pthread_mutex_lock(&lock);
    comm->world->broken = true;
    pthread_mutex_unlock(&lock);
    return ncclCommDestroy(comm);
}

const char *ncclGetErrorString(int error)
{
    static const char *const names[] = {
        [SUCCESS] = "no error", [UNHANDLED_CUDA] = "unhandled cuda error",
        [INVALID] = "invalid argument", [REMOTE] = "remote process exited",
        [IN_PROGRESS] = "operation in progress",
    };

    return error >= 0 && error <= IN_PROGRESS && names[error] ? names[error] : "unknown";
}
