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

#include "tests/simulators/block/block.h"

#include "tests/simulators/block/fiber.h"
#include "tests/simulators/block/order.h"
#include "tests/simulators/block/shared.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <vector>

namespace sim {

namespace {

constexpr unsigned n_lanes = 32, max_warps = 32;

struct warp {
    uint32_t live, runnable, fresh, at_barrier, pending;
    fiber *where[n_lanes];
    const vrt_sim_collective *what[n_lanes];
    unsigned mask[n_lanes];
    void *arg[n_lanes];

    bool is_at(const vrt_sim_collective *collective, uint32_t lanes, unsigned wanted) const;
};

/* What lanes wait for that wait for all that have not ended. */
constexpr unsigned all_living = 0;

struct executor {
    order turns;
    fiber host;
    std::vector<std::unique_ptr<fiber>> fibers;
    std::vector<fiber *> idle;
    shared_memory shared;

    grid *running = nullptr;
    fiber *self = nullptr;              /* which runs */
    warp warps[max_warps];
    uint32_t runnable_warps = 0;
    unsigned n_threads = 0, n_live = 0, n_waiting = 0;
    unsigned w = 0, lane = 0;           /* who runs */
    place block = {0, 0, 0};
    place extent = {0, 0, 0};           /* what `indices` is of */
    std::vector<place> indices;
    const vrt_sim_collective *barrier = nullptr;    /* where the first who waits came by */
    int error = 0;                      /* of vrt_sim_trap() */
    std::string why, text_of_trap;

    executor() { fiber_adopt(&host); }
    void begin_block();
    void number_threads(const place &n);
    void make_runnable(unsigned warp_index, uint32_t lanes);
    bool pick();
    fiber *idle_fiber();
    void leave(fiber *to);
    void wait();
    unsigned n_awaited() const { return running->is_uniform ? n_threads : n_live; }
    void check_barrier(const vrt_sim_collective *where);
    void diverged(const vrt_sim_collective *where, const vrt_sim_collective *other,
                  const char *of_what);
    void meet(const vrt_sim_collective *collective, unsigned wanted, void *arg);
    void run_collective(const vrt_sim_collective *collective, uint32_t lanes);
    void release_living();
    void release_barrier();
    void end_thread();
    std::string describe_deadlock() const;
    std::string describe_lanes(unsigned warp_index) const;
    std::string thread_text(unsigned warp_index, unsigned lane_index) const;
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

std::string text(const place &v)
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

        e.running->run_thread();
        e.end_thread();
    }
}

void executor::number_threads(const place &n)
{
    if (extent.x == n.x && extent.y == n.y && extent.z == n.z)
        return;
    extent = n;
    indices.clear();
    for (unsigned z = 0; z < n.z; z++)
        for (unsigned y = 0; y < n.y; y++)
            for (unsigned x = 0; x < n.x; x++)
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

    running->enter_thread(indices[w * n_lanes + lane]);
    if (!(it.fresh & bit))
        return leave(it.where[lane]);
    it.fresh &= ~bit;
    fiber *next = idle_fiber();

    if (!next) {
        error = running->memory_code;
        why = "no memory for another stack";
        next = &host;
    }
    leave(next);
}

/* The thread that runs is at the barrier `where`, others of its warp or block at `other`. */
void executor::diverged(const vrt_sim_collective *where, const vrt_sim_collective *other,
                        const char *of_what)
{
    /* Not on the stack, which nobody unwinds. */
    text_of_trap = std::string(where->name) + ", where others of the " + of_what + " came to " +
                   other->name;
    vrt_sim_trap(running->stuck_code, text_of_trap.c_str());
}

/* The thread that runs comes to the barrier by `where`, and so must those before it have. */
void executor::check_barrier(const vrt_sim_collective *where)
{
    warp &it = warps[w];

    if (it.at_barrier) {
        const unsigned other = unsigned(__builtin_ctz(it.at_barrier));

        if (it.what[other] != where)
            diverged(where, it.what[other], "warp");
    }
    if (!n_waiting)
        barrier = where;
    if (running->is_uniform && barrier != where)
        diverged(where, barrier, running->block_word);
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
    if (n_waiting && n_waiting == n_awaited())
        release_barrier();
    release_living();
    idle.push_back(self);
    wait();
}

/* Who ended may have been the last that others of the warp waited for. */
void executor::release_living()
{
    warp &it = warps[w];

    if (!it.live || it.pending != it.live)
        return;
    const vrt_sim_collective *collective = it.what[__builtin_ctz(it.pending)];

    if (!it.is_at(collective, it.live, all_living))
        return;
    run_collective(collective, it.live);
    make_runnable(w, it.live);
}

/* Whether these lanes, all of which wait, wait at the same for the same. */
bool warp::is_at(const vrt_sim_collective *collective, uint32_t lanes, unsigned wanted) const
{
    for (unsigned l = 0; l < n_lanes; l++)
        if ((lanes >> l & 1) && (what[l] != collective || mask[l] != wanted))
            return false;
    return true;
}

void executor::run_collective(const vrt_sim_collective *collective, uint32_t lanes)
{
    warp &it = warps[w];
    void *args[n_lanes] = {};

    for (unsigned l = 0; l < n_lanes; l++)
        if (lanes >> l & 1)
            args[l] = it.arg[l];
    collective->run(args, lanes);
    it.pending &= ~lanes;
}

/* The thread that runs comes to a collective of the lanes `wanted`, and waits for them. */
void executor::meet(const vrt_sim_collective *collective, unsigned wanted, void *arg)
{
    warp &it = warps[w];
    const uint32_t bit = uint32_t(1) << lane;
    const uint32_t lanes = wanted == all_living ? it.live : wanted;

    it.pending |= bit;
    it.what[lane] = collective;
    it.mask[lane] = wanted;
    it.arg[lane] = arg;
    it.where[lane] = self;
    if ((it.pending & lanes) != lanes || !it.is_at(collective, lanes, wanted))
        return wait();
    run_collective(collective, lanes);
    if (lanes != bit)
        make_runnable(w, lanes & ~bit);
}

std::string executor::thread_text(unsigned warp_index, unsigned lane_index) const
{
    return "thread " + text(indices[warp_index * n_lanes + lane_index]);
}

/* What the lanes of a warp wait for, some of which do. */
std::string executor::describe_lanes(unsigned warp_index) const
{
    const warp &it = warps[warp_index];
    const unsigned l = unsigned(__builtin_ctz(it.pending));
    const unsigned wanted = it.mask[l] == all_living ? it.live : it.mask[l];
    const unsigned missing = wanted & ~it.pending;
    std::string result = thread_text(warp_index, l) + " waits at " + it.what[l]->name +
                         " of lanes " + hexadecimal(wanted);

    if (missing)
        result += ", of which " + hexadecimal(missing) + " do not come";
    else
        result += ", others of which are at another";
    if (missing & ~it.live)
        result += " (" + hexadecimal(missing & ~it.live) + " ended or never were)";
    return result;
}

std::string executor::describe_deadlock() const
{
    for (unsigned i = 0; i * n_lanes < n_threads; i++)
        if (warps[i].pending)
            return describe_lanes(i);
    for (unsigned i = 0; i * n_lanes < n_threads; i++)
        if (warps[i].at_barrier)
            return thread_text(i, unsigned(__builtin_ctz(warps[i].at_barrier))) + " waits at " +
                   (barrier ? barrier->name : running->barrier_word) + ", to which " +
                   std::to_string(n_awaited() - n_waiting) + " threads do not come";
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

/* Runs the block e.block. What fails is said with where it was. */
int run_block(executor &e)
{
    e.begin_block();
    e.shared.begin_block();
    e.running->begin_block(e.block);
    e.error = 0;
    e.self = &e.host;
    e.wait();
    if (!e.n_live) {
        e.running->end_block();
        return 0;
    }
    if (!e.error) {
        e.error = e.running->stuck_code;
        e.why = e.describe_deadlock();
    }
    e.abandon();
    e.why = "kernel " + e.running->name() + ", " + e.running->block_word + " " + text(e.block) +
            ": " + e.why;
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

int run_grid(grid *g, std::string *ret_why)
{
    executor &e = here();
    const place &n_blocks = g->n_blocks;
    const uint64_t n = uint64_t(n_blocks.x) * n_blocks.y * n_blocks.z;
    const std::vector<uint64_t> shuffled = shuffle(e.turns, n);

    if (!e.shared.begin_launch(g->function, g->dynamic_shared_bytes)) {
        *ret_why = "no memory for shared memory";
        return g->memory_code;
    }
    g->begin(e.shared.dynamic());
    e.running = g;
    e.number_threads(g->n_threads);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t b = nth_block(shuffled, e.turns, i, n);

        e.block = {unsigned(b % n_blocks.x), unsigned(b / n_blocks.x % n_blocks.y),
                   unsigned(b / n_blocks.x / n_blocks.y)};
        const int r = run_block(e);

        if (r) {
            *ret_why = e.why;
            return r;
        }
    }
    return 0;
}

grid *running_grid()
{
    return here().running;
}

}

unsigned vrt_sim_lane(void)
{
    return sim::here().lane;
}

void vrt_sim_trap(int error, const char *why)
{
    sim::executor &e = sim::here();

    e.error = error;
    e.why = e.thread_text(e.w, e.lane) + ": " + why;
    e.leave(&e.host);
    __builtin_trap();
}

void vrt_sim_syncthreads_at(const vrt_sim_collective *where)
{
    sim::executor &e = sim::here();

    e.check_barrier(where);
    if (e.n_waiting + 1 == e.n_awaited())
        return e.release_barrier();
    e.n_waiting++;
    e.warps[e.w].at_barrier |= uint32_t(1) << e.lane;
    e.warps[e.w].where[e.lane] = e.self;
    e.wait();
}

void vrt_sim_meet(const vrt_sim_collective *collective, unsigned mask, void *arg)
{
    sim::executor &e = sim::here();

    if (!(mask >> e.lane & 1))
        vrt_sim_trap(e.running->stuck_code, "a lane outside of its own mask");
    e.meet(collective, mask, arg);
}

void vrt_sim_meet_living(const vrt_sim_collective *collective, void *arg)
{
    sim::here().meet(collective, sim::all_living, arg);
}
