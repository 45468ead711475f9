/* SPDX-License-Identifier: MIT */
/*
 * Copies that are not waited for
 *
 * Bytes are read at the call, stand as 0xff in shared memory meanwhile, and arrive when their
 * thread waits for their group: who reads them earlier reads NaN.
 */

#include "tests/simulators/cuda/machine/async.h"

#include "tests/simulators/cuda/block/block.h"
#include "tests/simulators/cuda/include/mma.cuh"

#include <cstring>
#include <deque>
#include <vector>

namespace {

struct copy {
    void *to;
    unsigned n_bytes;
    unsigned char bytes[16];
};

using group = std::vector<copy>;

struct copies {
    std::vector<std::deque<group>> groups;      /* by thread: the last is still open */
    bool used = false;
};

copies &here()
{
    thread_local copies it;

    return it;
}

std::deque<group> &mine()
{
    copies &it = here();
    const size_t row = size_t(threadIdx.z) * blockDim.y + threadIdx.y;
    const size_t thread = row * blockDim.x + threadIdx.x;

    it.used = true;
    if (it.groups.size() <= thread)
        it.groups.resize(1024);
    if (it.groups[thread].empty())
        it.groups[thread].emplace_back();
    return it.groups[thread];
}

void arrive(const group &all)
{
    for (const copy &c : all)
        memcpy(c.to, c.bytes, c.n_bytes);
}

}

void sim::async_begin_block()
{
    copies &it = here();

    if (it.used)
        for (auto &g : it.groups)
            g.clear();
    it.used = false;
}

void vrt_sim_cp_async(void *shared, const void *global, unsigned n_bytes, bool valid)
{
    if (reinterpret_cast<uintptr_t>(shared) % n_bytes ||
        (valid && reinterpret_cast<uintptr_t>(global) % n_bytes))
        vrt_sim_trap(cudaErrorMisalignedAddress, "cp.async");
    vrt_sim_cp_async_of(shared, global, n_bytes, valid ? n_bytes : 0);
}

void vrt_sim_cp_async_of(void *shared, const void *global, unsigned n_bytes, unsigned n_source)
{
    copy c = {shared, n_bytes, {}};

    if (n_source)
        memcpy(c.bytes, global, n_source);
    if (sim::running_capability() < 80) {       /* plain accesses there */
        memcpy(shared, c.bytes, n_bytes);
        return;
    }
    memset(shared, 0xff, n_bytes);
    mine().back().push_back(c);
}

void vrt_sim_cp_async_commit(void)
{
    if (sim::running_capability() >= 80)
        mine().emplace_back();
}

void vrt_sim_cp_async_wait(unsigned n_groups)
{
    if (sim::running_capability() < 80)
        return;
    auto &groups = mine();

    while (groups.size() > n_groups + 1) {
        arrive(groups.front());
        groups.pop_front();
    }
}
