/* SPDX-License-Identifier: MIT */
/* Running dispatches. */

#include "tests/simulators/mps/execution/run.h"

#include "tests/simulators/block/block.h"
#include "tests/simulators/block/order.h"
#include "tests/simulators/mps/execution/fault.h"

#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <utility>

namespace sim {

const char *const order_variable = "VRT_MPS_ORDER";

}

namespace {

constexpr unsigned width = 32;

vrt_msl_place place_of(const sim::place &p)
{
    return {p.x, p.y, p.z};
}

class dispatch final : public sim::grid {
public:
    explicit dispatch(const mtl_grid &g) : asked(g)
    {
        const unsigned *n = g.threadgroups, *t = g.threads;

        n_blocks = {n[0], n[1], n[2]};
        n_threads = {t[0], t[1], t[2]};
        function = reinterpret_cast<const void *>(g.kernel->run);
        block_word = "threadgroup";
        barrier_word = "threadgroup_barrier()";
        stuck_code = MTL_CODE_TIMEOUT;
        memory_code = MTL_CODE_OUT_OF_MEMORY;
        is_uniform = true;
        for (unsigned i = 0; i < VRT_MSL_BUFFERS; i++)
            buffers[i] = g.buffers[i].data;
        thread.buffers = buffers;
        thread.threads_per_threadgroup = {t[0], t[1], t[2]};
        thread.threadgroups_per_grid = {n[0], n[1], n[2]};
        thread.threads_per_grid = {t[0] * n[0], t[1] * n[1], t[2] * n[2]};
        thread.n_simdgroups = (t[0] * t[1] * t[2] + width - 1) / width;
    }
    std::string name() const override { return asked.kernel->name; }
    void begin_block(const sim::place &block) override
    {
        thread.threadgroup_in_grid = place_of(block);
    }
    void enter_thread(const sim::place &at) override { entered = at; }
    void run_thread() override
    {
        const vrt_msl_place &size = thread.threads_per_threadgroup;
        const vrt_msl_place &group = thread.threadgroup_in_grid;
        vrt_msl_thread mine = thread;

        mine.in_threadgroup = place_of(entered);
        mine.in_grid = {group.x * size.x + entered.x, group.y * size.y + entered.y,
                        group.z * size.z + entered.z};
        mine.index_in_threadgroup = (entered.z * size.y + entered.y) * size.x + entered.x;
        mine.index_in_simdgroup = mine.index_in_threadgroup % width;
        mine.simdgroup = mine.index_in_threadgroup / width;
        asked.kernel->run(&mine);
    }

private:
    const mtl_grid &asked;
    void *buffers[VRT_MSL_BUFFERS] = {};
    vrt_msl_thread thread = {};
    sim::place entered = {0, 0, 0};
};

/* What is met at: by a name and a line always the same, for a thread of the host. */
const vrt_sim_collective *site(const char *name, unsigned line)
{
    struct place_of_meeting {
        std::string text;
        vrt_sim_collective collective;
    };
    thread_local std::map<std::pair<const char *, unsigned>, place_of_meeting> sites;
    auto &it = sites[{name, line}];

    if (it.text.empty()) {
        it.text = std::string(name) + " of line " + std::to_string(line);
        it.collective = {it.text.c_str(), [](void *const args[32], unsigned mask) {
                             const void *first = args[__builtin_ctz(mask)];

                             static_cast<const vrt_msl_meeting *>(first)->run(args, mask);
                         }};
    }
    return &it.collective;
}

void barrier(const char *name, unsigned line)
{
    vrt_sim_syncthreads_at(site(name, line));
}

void meet(const char *name, unsigned line, void *arg)
{
    vrt_sim_meet_living(site(name, line), arg);
}

void fail(const char *why)
{
    vrt_sim_trap(MTL_CODE_INTERNAL, why);
}

}

const vrt_msl_machine mtl_machine = {barrier, meet, vrt_sim_lane, fail};

void mtl_grid_run(const mtl_grid *grid, mtl_outcome *ret_outcome)
{
    dispatch d(*grid);
    std::string why;

    mtl_fault_begin(grid);
    ret_outcome->code = sim::run_grid(&d, &why);
    mtl_fault_end();
    snprintf(ret_outcome->why, sizeof(ret_outcome->why), "%s", why.c_str());
}
