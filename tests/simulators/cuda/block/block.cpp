/* SPDX-License-Identifier: MIT */
/*
 * Running blocks
 *
 * A warp keeps its lanes as bits of masks: those that can go on, those that have not begun, those
 * at the block's barrier, those that wait for other lanes. Whoever has to wait picks the next
 * thread and switches straight to it; the host thread's own stack comes in only where a block
 * begins and ends. A block in which nobody can go on although threads are left is a deadlock: what
 * is on the stacks is given up.
 */

#include "tests/simulators/cuda/block/block.h"

#include "tests/simulators/cuda/machine/async.h"
#include "tests/simulators/cuda/block/fiber.h"
#include "tests/simulators/cuda/block/order.h"
#include "tests/simulators/cuda/ptx/load.h"
#include "tests/simulators/cuda/ptx/machine.h"
#include "tests/simulators/cuda/ptx/profile.h"
#include "tests/simulators/cuda/block/shared.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

__thread uint3 threadIdx, blockIdx, blockDim, gridDim;
__thread unsigned char *vrt_sim_dynamic_shared;

namespace sim {

namespace {

constexpr unsigned n_lanes = 32, max_warps = 32;

struct warp {
    uint32_t live, runnable, fresh, at_barrier, pending;
    fiber *where[n_lanes];
    const vrt_sim_collective *what[n_lanes];
    unsigned mask[n_lanes];
    void *arg[n_lanes];
};

struct executor {
    order turns;
    fiber host;
    std::vector<std::unique_ptr<fiber>> fibers;
    std::vector<fiber *> idle;
    shared_memory shared;

    const launch *running = nullptr;
    fiber *self = nullptr;              /* which runs */
    warp warps[max_warps];
    uint32_t runnable_warps = 0;
    unsigned n_threads = 0, n_live = 0, n_waiting = 0;
    unsigned w = 0, lane = 0;           /* who runs */
    uint3 extent = {0, 0, 0};           /* what `indices` is of */
    std::vector<uint3> indices;
    cudaError_t error = cudaSuccess;    /* of vrt_sim_trap() */
    std::string why, text_of_trap;

    executor() { fiber_adopt(&host); }
    void begin_block();
    void number_threads(uint3 block);
    void make_runnable(unsigned warp_index, uint32_t lanes);
    bool pick();
    fiber *idle_fiber();
    void leave(fiber *to);
    void wait();
    void check_barrier(const vrt_sim_collective *where);
    void release_barrier();
    void end_thread();
    std::string describe_deadlock() const;
    std::string place(unsigned warp_index, unsigned lane_index) const;
    void abandon();
};

/* On the heap: a library that is loaded late gets little thread-local memory of the quick kind. */
executor &here()
{
    static __thread executor *quick;
    thread_local std::unique_ptr<executor> it;

    if (!quick) {
        it = std::make_unique<executor>();
        quick = it.get();
    }
    return *quick;
}

std::string text(uint3 v)
{
    return "(" + std::to_string(v.x) + ", " + std::to_string(v.y) + ", " + std::to_string(v.z) +
           ")";
}

std::string hexadecimal(unsigned mask)
{
    char digits[16];

    snprintf(digits, sizeof(digits), "0x%08x", mask);
    return digits;
}

/* The body of all fibers: one thread after the other. */
void live_on()
{
    for (;;) {
        executor &e = here();

        e.running->kernel->run_thread();
        e.end_thread();
    }
}

void executor::number_threads(uint3 block)
{
    if (extent.x == block.x && extent.y == block.y && extent.z == block.z)
        return;
    extent = block;
    indices.clear();
    for (unsigned z = 0; z < block.z; z++)
        for (unsigned y = 0; y < block.y; y++)
            for (unsigned x = 0; x < block.x; x++)
                indices.push_back({x, y, z});
    n_threads = unsigned(indices.size());
}

void executor::begin_block()
{
    n_live = n_threads;
    n_waiting = 0;
    runnable_warps = 0;
    w = 0;
    for (unsigned i = 0; i * n_lanes < n_threads; i++) {
        const unsigned n = std::min(n_threads - i * n_lanes, n_lanes);
        const uint32_t all = n == n_lanes ? ~uint32_t(0) : (uint32_t(1) << n) - 1;
        warp &it = warps[i];

        it.live = it.fresh = all;
        it.runnable = it.at_barrier = it.pending = 0;
        make_runnable(i, all);
    }
}

void executor::make_runnable(unsigned warp_index, uint32_t lanes)
{
    warps[warp_index].runnable |= lanes;
    runnable_warps |= uint32_t(1) << warp_index;
}

/* Makes w, lane the next to run; false where nobody can. A warp is left when it cannot go on. */
bool executor::pick()
{
    if (!runnable_warps)
        return false;
    if (!(runnable_warps >> w & 1) || turns.wander())
        w = turns.choose(runnable_warps);
    lane = turns.choose(warps[w].runnable);
    warps[w].runnable &= ~(uint32_t(1) << lane);
    if (!warps[w].runnable)
        runnable_warps &= ~(uint32_t(1) << w);
    return true;
}

fiber *executor::idle_fiber()
{
    if (idle.empty()) {
        auto made = std::make_unique<fiber>();

        if (!fiber_init(made.get(), live_on))
            return nullptr;
        idle.push_back(made.get());
        fibers.push_back(std::move(made));
    }
    fiber *last = idle.back();

    idle.pop_back();
    return last;
}

void executor::leave(fiber *to)
{
    fiber *from = self;

    if (to == from)
        return;
    self = to;
    fiber_switch(from, to);
}

/* Goes on with the next thread, on the stack that it has or on an idle one. */
void executor::wait()
{
    if (!pick())
        return leave(&host);

    warp &it = warps[w];
    const uint32_t bit = uint32_t(1) << lane;

    threadIdx = indices[w * n_lanes + lane];
    if (!(it.fresh & bit))
        return leave(it.where[lane]);
    it.fresh &= ~bit;
    fiber *next = idle_fiber();

    if (!next) {
        error = cudaErrorLaunchOutOfResources;
        why = "no memory for another stack";
        next = &host;
    }
    leave(next);
}

/* The thread that runs comes to the barrier by `where`, and so must its warp have. */
void executor::check_barrier(const vrt_sim_collective *where)
{
    warp &it = warps[w];

    if (it.at_barrier) {
        const unsigned other = unsigned(__builtin_ctz(it.at_barrier));

        if (it.what[other] != where) {
            /* Not on the stack, which nobody unwinds. */
            text_of_trap = std::string(where->name) + ", where others of the warp came to " +
                           it.what[other]->name;
            vrt_sim_trap(cudaErrorLaunchFailure, text_of_trap.c_str());
        }
    }
    it.what[lane] = where;
}

void executor::release_barrier()
{
    n_waiting = 0;
    for (unsigned i = 0; i * n_lanes < n_threads; i++) {
        if (warps[i].at_barrier)
            make_runnable(i, warps[i].at_barrier);
        warps[i].at_barrier = 0;
    }
}

void executor::end_thread()
{
    warps[w].live &= ~(uint32_t(1) << lane);
    n_live--;
    if (n_waiting && n_waiting == n_live)
        release_barrier();
    idle.push_back(self);
    wait();
}

std::string executor::place(unsigned warp_index, unsigned lane_index) const
{
    return "thread " + text(indices[warp_index * n_lanes + lane_index]);
}

std::string executor::describe_deadlock() const
{
    std::string result;

    for (unsigned i = 0; i * n_lanes < n_threads; i++) {
        const warp &it = warps[i];

        if (it.pending) {
            const unsigned l = unsigned(__builtin_ctz(it.pending));
            const unsigned missing = it.mask[l] & ~it.pending;

            result += place(i, l) + " waits at " + it.what[l]->name + " of lanes " +
                      hexadecimal(it.mask[l]);
            if (missing)
                result += ", of which " + hexadecimal(missing) + " do not come";
            else
                result += ", others of which are at another";
            if (missing & ~it.live)
                result += " (" + hexadecimal(missing & ~it.live) + " ended or never were)";
            return result;
        }
    }
    for (unsigned i = 0; i * n_lanes < n_threads; i++)
        if (warps[i].at_barrier)
            return place(i, unsigned(__builtin_ctz(warps[i].at_barrier))) +
                   " waits at __syncthreads(), to which " + std::to_string(n_live - n_waiting) +
                   " threads do not come";
    return "no thread can go on";
}

/* After a failure: all stacks are idle ones again, whatever was on them. */
void executor::abandon()
{
    idle.clear();
    for (auto &f : fibers) {
        fiber_rewind(f.get());
        idle.push_back(f.get());
    }
}

/* Runs the block of blockIdx. */
cudaError_t run_block(executor &e)
{
    e.begin_block();
    e.shared.begin_block();
    async_begin_block();
    e.error = cudaSuccess;
    e.self = &e.host;
    e.wait();
    if (!e.n_live) {
        profile_end_block();
        return cudaSuccess;
    }
    if (!e.error) {
        e.error = cudaErrorLaunchFailure;
        e.why = e.describe_deadlock();
    }
    e.why = "kernel " + kernel_name(e.running->kernel->function) + ", block " +
            text(blockIdx) + ": " + e.why;
    e.abandon();
    return e.error;
}

/* The block that comes as the `i`-th of `n`. */
uint64_t nth_block(const std::vector<uint64_t> &shuffled, const order &turns, uint64_t i,
                   uint64_t n)
{
    return turns.is_forward() ? i : turns.is_random() ? shuffled[i] : n - 1 - i;
}

std::vector<uint64_t> shuffle(order &turns, uint64_t n)
{
    std::vector<uint64_t> result;

    if (!turns.is_random())
        return result;
    for (uint64_t i = 0; i < n; i++)
        result.push_back(i);
    for (uint64_t i = n; i > 1; i--)
        std::swap(result[i - 1], result[turns.choose_of(i)]);
    return result;
}

}

cudaError_t run_launch(const launch &l, std::string *ret_why)
{
    executor &e = here();
    const uint64_t n = uint64_t(l.grid.x) * l.grid.y * l.grid.z;
    const std::vector<uint64_t> shuffled = shuffle(e.turns, n);

    if (!e.shared.begin_launch(l.kernel->function, l.dynamic_shared_bytes)) {
        *ret_why = "no memory for shared memory";
        return cudaErrorLaunchOutOfResources;
    }
    begin_translated();
    l.kernel->begin_launch();
    e.running = &l;
    e.number_threads(l.block);
    blockDim = l.block;
    gridDim = l.grid;
    vrt_sim_dynamic_shared = e.shared.dynamic();
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t b = nth_block(shuffled, e.turns, i, n);

        blockIdx = {unsigned(b % l.grid.x), unsigned(b / l.grid.x % l.grid.y),
                                 unsigned(b / l.grid.x / l.grid.y)};
        const cudaError_t r = run_block(e);

        if (r) {
            *ret_why = e.why;
            return r;
        }
    }
    return cudaSuccess;
}

int running_capability()
{
    return here().running->compute_capability;
}

size_t n_fibers()
{
    return here().fibers.size();
}

}

unsigned vrt_sim_lane(void)
{
    return sim::here().lane;
}

void vrt_sim_trap(int error, const char *why)
{
    sim::executor &e = sim::here();

    e.error = cudaError_t(error);
    e.why = e.place(e.w, e.lane) + ": " + why;
    e.leave(&e.host);
    __builtin_trap();
}

void vrt_sim_syncthreads(void)
{
    vrt_sim_syncthreads_at(nullptr);
}

void vrt_sim_syncthreads_at(const vrt_sim_collective *where)
{
    sim::executor &e = sim::here();

    e.check_barrier(where);
    if (e.n_waiting + 1 == e.n_live)
        return e.release_barrier();
    e.n_waiting++;
    e.warps[e.w].at_barrier |= uint32_t(1) << e.lane;
    e.warps[e.w].where[e.lane] = e.self;
    e.wait();
}

void vrt_sim_meet(const vrt_sim_collective *collective, unsigned mask, void *arg)
{
    sim::executor &e = sim::here();
    sim::warp &it = e.warps[e.w];
    const uint32_t bit = uint32_t(1) << e.lane;
    void *args[32] = {};

    if (!(mask & bit))
        vrt_sim_trap(cudaErrorLaunchFailure, "a lane outside of its own mask");
    it.pending |= bit;
    it.what[e.lane] = collective;
    it.mask[e.lane] = mask;
    it.arg[e.lane] = arg;
    it.where[e.lane] = e.self;
    if ((it.pending & mask) != mask)
        return e.wait();
    for (unsigned l = 0; l < 32; l++) {
        if (!(mask >> l & 1))
            continue;
        if (it.what[l] != collective || it.mask[l] != mask)
            return e.wait();
        args[l] = it.arg[l];
    }
    collective->run(args, mask);
    it.pending &= ~mask;
    if (mask != bit)
        e.make_runnable(e.w, mask & ~bit);
}
