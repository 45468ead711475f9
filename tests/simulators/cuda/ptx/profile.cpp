/* SPDX-License-Identifier: MIT */
/* Sectors and banks by instruction: see the header. */

#include "tests/simulators/cuda/ptx/profile.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <vector>

namespace {

constexpr unsigned n_lanes = 32, sector_bytes = 32, n_banks = 32, bank_bytes = 4;

struct request {
    uint32_t lanes = 0;
    uint64_t address[n_lanes];
};

/* Of an instruction, in the block that runs. */
struct accesses {
    unsigned n_bytes = 0;
    std::map<unsigned, std::vector<request>> requests;      /* by warp */
    std::map<unsigned, unsigned> n_seen;                    /* by thread */
};

struct total {
    const char *space = "none";
    uint64_t n_requests = 0, taken = 0, needed = 0;
};

struct counts {
    std::map<const vrt_ptx_site *, total> totals;
};

struct profile {
    const char *path = getenv("VRT_CUDA_SIM_PROFILE");
    std::map<std::string, counts> kernels;
    counts *kernel = nullptr;
    std::map<std::pair<const vrt_ptx_site *, bool>, accesses> block;

    ~profile();
};

profile &the_profile()
{
    static profile it;

    return it;
}

/* How many units of `size` the lanes' bytes touch. */
size_t touched(const request &r, unsigned n_bytes, unsigned size)
{
    std::set<uint64_t> units;

    for (unsigned lane = 0; lane < n_lanes; lane++)
        for (uint64_t at = 0; r.lanes >> lane & 1 && at < n_bytes; at += std::min(size, n_bytes))
            units.insert((r.address[lane] + at) / size);
    return units.size();
}

/* Turns of the banks: lanes take part 128 bytes at a time, and a bank gives one word a turn. */
void count_banks(const request &r, unsigned n_bytes, total *sum)
{
    const unsigned at_once = std::min(n_lanes, n_banks * bank_bytes / n_bytes);

    for (unsigned first = 0; first < n_lanes; first += at_once) {
        std::map<uint64_t, std::set<uint64_t>> words;
        size_t most = 0;

        for (unsigned lane = first; lane < first + at_once; lane++)
            for (unsigned at = 0; r.lanes >> lane & 1 && at < n_bytes; at += bank_bytes) {
                const uint64_t word = (r.address[lane] + at) / bank_bytes;

                words[word % n_banks].insert(word);
            }
        for (const auto &bank : words)
            most = std::max(most, bank.second.size());
        sum->taken += most;
        sum->needed += most ? 1 : 0;
    }
}

void count_sectors(const request &r, unsigned n_bytes, total *sum)
{
    const size_t n = touched(r, n_bytes, 1);

    sum->taken += touched(r, n_bytes, sector_bytes);
    sum->needed += (n + sector_bytes - 1) / sector_bytes;
}

profile::~profile()
{
    if (!path)
        return;
    std::ofstream out(path, std::ios::app);

    for (const auto &k : kernels)
        for (const auto &t : k.second.totals)
            out << k.first << '\t' << t.first->opcode << '\t' << t.first->file << ':'
                << t.first->line << '\t' << t.second.space << '\t' << t.second.n_requests << '\t'
                << t.second.taken << '\t' << t.second.needed << '\n';
}

}

bool sim::profile_is_on()
{
    return the_profile().path;
}

void sim::profile_begin_launch(const std::string &kernel, const vrt_ptx_entry *entry)
{
    profile &it = the_profile();

    if (!it.path)
        return;
    it.kernel = &it.kernels[kernel];
    for (const vrt_ptx_site *site = entry->sites; site->line; site++)
        it.kernel->totals[site];
}

void sim::profile_end_block()
{
    profile &it = the_profile();

    if (!it.kernel)
        return;
    for (const auto &one : it.block) {
        total &sum = it.kernel->totals[one.first.first];

        sum.space = one.first.second ? "shared" : "global";
        for (const auto &warp : one.second.requests)
            for (const request &r : warp.second) {
                sum.n_requests++;
                (one.first.second ? count_banks : count_sectors)(r, one.second.n_bytes, &sum);
            }
    }
    it.block.clear();
}

void vrt_ptx_count(uint64_t address, unsigned n, bool is_shared, const vrt_ptx_site *site)
{
    accesses &all = the_profile().block[{site, is_shared}];
    const unsigned row = threadIdx.z * blockDim.y + threadIdx.y;
    const unsigned thread = row * blockDim.x + threadIdx.x, lane = thread % n_lanes;
    std::vector<request> &of_warp = all.requests[thread / n_lanes];
    const unsigned i = all.n_seen[thread]++;

    all.n_bytes = n;
    if (of_warp.size() <= i)
        of_warp.resize(i + 1);
    of_warp[i].lanes |= uint32_t(1) << lane;
    of_warp[i].address[lane] = address;
}
