/* SPDX-License-Identifier: MIT */
/*
 * NCCL for the simulated machine: broadcasts among devices of one process
 *
 * As with the real one, each rank's broadcast waits in its stream for those of all others: a rank
 * that never calls leaves the others waiting, until they abort. Ranks may call from one thread, in
 * a group, or each from its own.
 *
 * VRT_NCCL_SIM_FAIL=WHAT@RANK lets that rank fail: init (its communicator can't be made), broadcast
 * (the call is refused), remote (nothing arrives there, and the communicators tell of it), corrupt
 * (one bit of what arrives there is another).
 */

#include "tests/simulators/cuda/include/nccl.h"

#include "tests/simulators/cuda/machine/machine.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

using sim::call;
using sim::marker;

/* One broadcast of all ranks. */
struct exchange {
    size_t n_bytes = 0;
    int root = 0;
    bool begun = false, done = false;
    std::vector<const void *> from;
    std::vector<void *> to;
    std::shared_ptr<sim::rendezvous> meeting = std::make_shared<sim::rendezvous>();
};

struct clique {
    int n;
    int n_joined = 0;
    bool failed = false;            /* a rank could not join */
    ncclResult_t async_error = ncclSuccess;
    std::vector<std::shared_ptr<exchange>> exchanges;   /* by each rank's count of broadcasts */
};

struct cliques {
    std::map<std::string, std::shared_ptr<clique>> by_id;
    unsigned long n_ids = 0;
};

/* What a group has to do at its end. */
struct pending {
    ncclComm_t comm;
    const void *from;
    void *to;
    size_t n_bytes;
    int root;
    cudaStream_t stream;
};

struct group {
    int depth = 0;
    std::vector<pending> calls;
    std::vector<ncclComm_t> joining;
};

cliques &all_cliques()
{
    static cliques *const it = new cliques;

    return *it;
}

group &this_group()
{
    thread_local group it;

    return it;
}

bool shall_fail(const char *what, int rank)
{
    const char *text = getenv("VRT_NCCL_SIM_FAIL");
    const size_t n = strlen(what);

    return text && strncmp(text, what, n) == 0 && text[n] == '@' &&
           strtol(text + n + 1, nullptr, 10) == rank;
}

size_t size_of(ncclDataType_t type)
{
    static const size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};

    return unsigned(type) < sizeof(sizes) / sizeof(sizes[0]) ? sizes[type] : 0;
}

}

struct ncclComm {
    std::shared_ptr<clique> of;
    int rank, ordinal;
    size_t n_calls = 0;
    bool aborted = false;
};

namespace {

/* Waits until all ranks have joined. */
ncclResult_t wait_for_all(call *c, const clique &of)
{
    while (!of.failed && of.n_joined < of.n)
        sim::the_machine().changed.wait(c->held);
    return of.failed ? ncclSystemError : ncclSuccess;
}

/* Moves the bytes once all streams have come. */
void exchange_bytes(clique *of, exchange *it)
{
    if (it->done)
        return;
    it->done = true;
    for (size_t rank = 0; rank < it->to.size(); rank++) {
        if (shall_fail("remote", int(rank))) {
            of->async_error = ncclRemoteError;
            continue;
        }
        if (it->to[rank] != it->from[size_t(it->root)])
            memmove(it->to[rank], it->from[size_t(it->root)], it->n_bytes);
        if (it->n_bytes && shall_fail("corrupt", int(rank)))
            static_cast<unsigned char *>(it->to[rank])[it->n_bytes / 2] ^= 0x10;
    }
}

bool is_on(const sim::device *d, const void *data, size_t n_bytes)
{
    const sim::allocation *a = sim::find(data, n_bytes);

    return !n_bytes || (a && a->owner == d);
}

/* This rank's part of the clique's next broadcast; where ranks disagree of what, of none. */
exchange *take_part(ncclComm *comm, const pending &p)
{
    clique &of = *comm->of;
    const size_t i = comm->n_calls++;

    if (of.exchanges.size() <= i)
        of.exchanges.push_back(std::make_shared<exchange>());
    exchange &it = *of.exchanges[i];
    if (!it.begun) {
        it.begun = true;
        it.n_bytes = p.n_bytes;
        it.root = p.root;
        it.from.resize(size_t(of.n));
        it.to.resize(size_t(of.n));
        it.meeting->n_expected = size_t(of.n);
    }
    it.from[size_t(comm->rank)] = p.from;
    it.to[size_t(comm->rank)] = p.to;
    return it.n_bytes == p.n_bytes && it.root == p.root ? &it : nullptr;
}

ncclResult_t enqueue(call *c, const pending &p)
{
    ncclComm *comm = p.comm;
    sim::device *d = sim::the_machine().devices[size_t(comm->ordinal)].get();
    cudaError_t r;
    CUstream_st *stream = p.stream ? sim::resolve(p.stream, &r) : d->streams.front();

    if (!stream || d->sticky)
        return ncclUnhandledCudaError;
    if (comm->aborted || stream->owner != d || !is_on(d, p.to, p.n_bytes) ||
        (comm->rank == p.root && !is_on(d, p.from, p.n_bytes)))
        return ncclInvalidUsage;
    if (shall_fail("broadcast", comm->rank))
        return ncclInternalError;
    if (!take_part(comm, p))
        return ncclInvalidUsage;
    const std::shared_ptr<clique> of = comm->of;
    const std::shared_ptr<exchange> it = of->exchanges[comm->n_calls - 1];
    auto here = std::make_shared<marker>();

    here->stream = stream;
    sim::submit(c, stream, {nullptr, nullptr, here, nullptr});
    it->meeting->arrived.push_back(here);
    auto run = [of, it](std::string *) {
        if (!it->meeting->cancelled)
            exchange_bytes(of.get(), it.get());
        return cudaSuccess;
    };
    return sim::submit(c, stream, {run, nullptr, nullptr, it->meeting}) ? ncclUnhandledCudaError
                                                                       : ncclSuccess;
}

/* Makes the communicator of one rank. */
ncclResult_t join(const std::shared_ptr<clique> &of, int rank, int ordinal, ncclComm_t *ret_comm)
{
    if (shall_fail("init", rank)) {
        of->failed = true;
        sim::the_machine().changed.notify_all();
        return ncclSystemError;
    }
    *ret_comm = new ncclComm{of, rank, ordinal};
    of->n_joined++;
    sim::the_machine().changed.notify_all();
    return ncclSuccess;
}

}

ncclResult_t ncclGetVersion(int *ret_version)
{
    *ret_version = NCCL_VERSION_CODE;
    return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *ret_id)
{
    call c;

    memset(ret_id, 0, sizeof(*ret_id));
    snprintf(ret_id->internal, sizeof(ret_id->internal), "clique %lu", ++all_cliques().n_ids);
    return ncclSuccess;
}

ncclResult_t ncclCommInitAll(ncclComm_t *ret_comms, int n, const int *devices)
{
    call c;
    const int n_devices = int(sim::the_machine().devices.size());
    std::vector<ncclComm_t> made;
    ncclResult_t r = n < 1 ? ncclInvalidArgument : ncclSuccess;
    auto of = std::make_shared<clique>();

    of->n = n;
    for (int i = 0; i < n && !r; i++) {
        const int ordinal = devices ? devices[i] : i;
        ncclComm_t comm = nullptr;

        r = ordinal < 0 || ordinal >= n_devices ? ncclInvalidArgument : join(of, i, ordinal, &comm);
        if (comm)
            made.push_back(comm);
    }
    for (size_t i = 0; i < made.size(); i++) {
        if (r)
            delete made[i];
        else
            ret_comms[i] = made[i];
    }
    return r;
}

ncclResult_t ncclCommInitRank(ncclComm_t *ret_comm, int n, ncclUniqueId id, int rank)
{
    int ordinal = 0;

    cudaGetDevice(&ordinal);
    call c;

    if (n < 1 || rank < 0 || rank >= n)
        return ncclInvalidArgument;
    std::shared_ptr<clique> &of = all_cliques().by_id[std::string(id.internal)];

    if (!of) {
        of = std::make_shared<clique>();
        of->n = n;
    }
    if (of->n != n)
        return ncclInvalidArgument;
    const std::shared_ptr<clique> mine = of;
    ncclResult_t r = join(mine, rank, ordinal, ret_comm);

    if (r)
        return r;
    if (this_group().depth) {
        this_group().joining.push_back(*ret_comm);
        return ncclSuccess;
    }
    r = wait_for_all(&c, *mine);
    if (r) {
        delete *ret_comm;
        *ret_comm = nullptr;
    }
    return r;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
    return comm ? ncclSuccess : ncclInvalidArgument;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    call c;

    if (!comm)
        return ncclInvalidArgument;
    delete comm;
    return ncclSuccess;
}

/* Whoever waits for this rank goes on. */
ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    call c;

    if (!comm)
        return ncclInvalidArgument;
    for (auto &it : comm->of->exchanges)
        if (!it->done)
            it->meeting->cancelled = true;
    comm->of->async_error = ncclRemoteError;
    comm->of->failed = true;
    sim::the_machine().changed.notify_all();
    delete comm;
    return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *ret_error)
{
    call c;

    if (!comm)
        return ncclInvalidArgument;
    *ret_error = comm->of->async_error;
    return ncclSuccess;
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int *ret_n)
{
    *ret_n = comm->of->n;
    return ncclSuccess;
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *ret_rank)
{
    *ret_rank = comm->rank;
    return ncclSuccess;
}

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int *ret_device)
{
    *ret_device = comm->ordinal;
    return ncclSuccess;
}

ncclResult_t ncclGroupStart(void)
{
    this_group().depth++;
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void)
{
    call c;
    group &g = this_group();
    ncclResult_t r = ncclSuccess;

    if (!g.depth)
        return ncclInvalidUsage;
    if (--g.depth)
        return ncclSuccess;
    for (ncclComm_t comm : g.joining)
        if (!r)
            r = wait_for_all(&c, *comm->of);
    for (const pending &p : g.calls)
        if (!r)
            r = enqueue(&c, p);
    g.joining.clear();
    g.calls.clear();
    return r;
}

ncclResult_t ncclBroadcast(const void *from, void *to, size_t n, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream)
{
    call c;

    if (!comm || root < 0 || root >= comm->of->n || !size_of(type))
        return ncclInvalidArgument;
    const pending p = {comm, from, to, n * size_of(type), root, stream};

    if (!this_group().depth)
        return enqueue(&c, p);
    this_group().calls.push_back(p);
    return ncclSuccess;
}

ncclResult_t ncclBcast(void *data, size_t n, ncclDataType_t type, int root, ncclComm_t comm,
                       cudaStream_t stream)
{
    return ncclBroadcast(data, data, n, type, root, comm, stream);
}

const char *ncclGetErrorString(ncclResult_t result)
{
    static const char *const texts[] = {
        "no error",         "unhandled cuda error", "unhandled system error", "internal error",
        "invalid argument", "invalid usage",        "remote process exited or network error",
        "NCCL operation in progress",
    };

    return unsigned(result) < 8 ? texts[result] : "unknown result code";
}

const char *ncclGetLastError(ncclComm_t)
{
    return "";
}
