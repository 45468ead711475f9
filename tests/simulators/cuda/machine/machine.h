/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The simulated machine: devices, their memory, streams of work
 *
 * Work is kept in its stream's queue and done as late as the rules allow: when somebody waits for
 * it, or for an event behind it, or frees memory of the device. What another stream does is done
 * only where an event makes it necessary, so that a missing event shows as wrong bits. With
 * VRT_CUDA_SIM_ORDER=reverse the other streams go first, with random:SEED they go now and then.
 *
 * One lock is held in every call, and while work is done: work of two devices never overlaps.
 *
 * The environment, read once:
 *     VRT_CUDA_SIM_DEVICES=N       devices there are (1); CUDA_VISIBLE_DEVICES chooses among them
 *     VRT_CUDA_SIM_ARCH=CC         compute capability of all of them: 75, ..., 120 (90)
 *     VRT_CUDA_SIM_MEMORY=BYTES    memory of each (8 GiB); it is not real until it is touched
 *     VRT_CUDA_SIM_LAZY=0          work is done when it is enqueued
 *     VRT_CUDA_SIM_ORDER=...       forward, reverse or random:SEED: threads, blocks, streams, nodes
 *     VRT_CUDA_SIM_STRICT=1        a library that is called wrongly ends the process
 *     VRT_CUDA_SIM_PTX=LIB:...     kernels as nvcc compiles them: ptx/load.cpp
 *     VRT_CUDA_SIM_PROFILE=FILE    how accesses of those fit together: ptx/profile.h
 *     VRT_CUDA_SIM_BUSY_BLOCKS=N   products take tiles as large as leave N blocks (132)
 *     VRT_CUDA_SIM_TIMELINE=FILE   when what would run on cards: timeline.h
 *     VRT_CUDA_SIM_FAIL=WHAT@N,... the N-th time (1) fails. Calls: init driver malloc mallochost
 *                                  hostregister memcpy memset launch graph sync stream event
 *                                  capture instantiate cublas heuristic heuristicmemory matmul
 *                                  cudnn engines planmemory keptplan convolution. Kernels as they
 *                                  run, which breaks the device: illegal ecc lost
 */

#include "tests/simulators/block/order.h"
#include "tests/simulators/cuda/include/cuda_runtime_api.h"
#include "tests/simulators/cuda/machine/timeline.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace sim {

struct device;
struct capture;

/* A place in a stream: done when all work before it is. */
struct marker {
    CUstream_st *stream;
    bool done = false;
    int64_t at_ns = 0;                  /* by the timeline */
};

/* Does its part on the stream's device; a failure is the device's from then on. */
using action = std::function<cudaError_t(std::string *ret_why)>;

struct work {
    action run;                         /* may be empty */
    std::shared_ptr<marker> wait;       /* must be done first; may be NULL */
    std::shared_ptr<marker> signal;     /* done then; may be NULL */
    engine on = engine::none;
    size_t n = 1;                       /* kernels */
    int64_t since_ns = 0;               /* by the timeline: when it was submitted */
};

struct node {
    action run;
    std::vector<size_t> after;          /* nodes that must have run */
};

using nodes = std::vector<node>;

/* A capture under way: from cudaStreamBeginCapture to cudaStreamEndCapture. */
struct capture {
    CUstream_st *origin;
    std::thread::id thread;
    std::shared_ptr<nodes> made;
    std::set<CUstream_st *> streams;
    bool invalid = false;
};

struct allocation {
    size_t n_bytes;
    device *owner;                      /* NULL: the host's, pinned */
};

struct device {
    int ordinal, capability, n_multiprocessors;
    size_t capacity_bytes, shared_optin_bytes, used_bytes = 0;
    cudaError_t sticky = cudaSuccess;
    bool lost = false;
    std::vector<CUstream_st *> streams; /* in order of creation; the default one first */
    int64_t until_ns[size_t(engine::count)] = {};   /* each engine is busy, by the timeline */
};

struct machine {
    std::mutex lock;
    order turns;
    bool lazy = true;
    cudaError_t initialisation = cudaSuccess;
    std::vector<std::unique_ptr<device>> devices;
    std::map<uintptr_t, allocation> memory;
    bool memory_is_open = false;        /* of the devices, to the host: while work is done */
    std::map<const void *, int> dynamic_limits;     /* of kernels */
    std::vector<std::shared_ptr<capture>> captures;
    std::string last_failure;

    machine();
};

machine &the_machine();

/* Lets work at the devices' memory, or nobody. */
void open_memory(bool open);

/* A call of the runtime: holds the lock, and keeps the thread's last error. */
class call {
public:
    call() : held(the_machine().lock) {}
    call(const call &) = delete;
    ~call() { open_memory(false); }
    std::unique_lock<std::mutex> held;

    /* Remembers an error for cudaGetLastError() and returns it. */
    static cudaError_t result(cudaError_t r);
};

/* The calling thread's device, or NULL and the reason. All of this needs the lock. */
device *current(cudaError_t *ret_error);

/* `stream`, or the current device's default stream; NULL and the reason. */
CUstream_st *resolve(cudaStream_t stream, cudaError_t *ret_error);

/* Adds work to a stream, or to the capture that the stream is part of. */
cudaError_t submit(CUstream_st *stream, work w);

/* Does the work of `stream` up to `until` (NULL: all of it), and what that needs of others. */
void drain(CUstream_st *stream, const marker *until);
void drain_device(device *d);

/* The allocation that has all of these bytes, or NULL. */
const allocation *find(const void *data, size_t n_bytes);

/* The device is broken from now on. */
void fail(device *d, cudaError_t error, const std::string &why);

/* Runs nodes in an order that respects what they need. */
cudaError_t run_nodes(order *turns, const nodes &all, std::string *ret_why);

/* Counts a call of this kind: whether VRT_CUDA_SIM_FAIL wants this one to fail. */
bool shall_fail(const char *what);

/* Whether this thread captures: what a library asks of the machine then may be no part of it. */
bool captures_here(void);

/* A library was asked for what it doesn't do. With VRT_CUDA_SIM_STRICT that ends the process. */
void refused(const char *what);

/* Takes the memory of a device, whose streams are drained. */
void free_all(device *d);

/* The sentence of the last launch that failed, or "". */
std::string last_failure();

}

struct CUstream_st {
    sim::device *owner;
    bool is_default, blocking;
    std::deque<sim::work> queue;
    std::shared_ptr<sim::capture> capturing;
    std::vector<size_t> tail;               /* nodes that what comes next is after */
    int64_t until_ns = 0;                   /* it is busy, by the timeline */
};

struct CUevent_st {
    sim::device *owner;
    std::shared_ptr<sim::marker> last;      /* NULL: never recorded */
    std::shared_ptr<sim::capture> captured; /* recorded in a capture */
    std::vector<size_t> tail;
};

struct CUgraph_st {
    std::shared_ptr<sim::nodes> made;
};

struct CUgraphExec_st {
    std::shared_ptr<sim::nodes> made;
};
