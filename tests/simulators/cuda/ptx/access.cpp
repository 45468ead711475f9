/* SPDX-License-Identifier: MIT */
/* Accesses to memory by translated kernels: those that a card would refuse. */

#include "tests/simulators/cuda/machine/machine.h"
#include "tests/simulators/cuda/ptx/load.h"
#include "tests/simulators/cuda/ptx/machine.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <unordered_map>

vrt_ptx_range vrt_ptx_last;

namespace {

/* Bytes of 4 KiB, a bit each. */
struct page {
    uint64_t written[64] = {}, constant[64] = {};
};

struct notes {
    std::unordered_map<uint64_t, page> pages;
    uint64_t number = 0;
    page *last = nullptr;
};

notes &the_notes()
{
    static notes it;

    return it;
}

std::string name_of(const vrt_ptx_site *site)
{
    return std::string(site->opcode) + " (line " + std::to_string(site->line) + " of " +
           site->file + ")";
}

std::string hexadecimal(uint64_t address)
{
    char digits[32];

    snprintf(digits, sizeof(digits), "0x%llx", static_cast<unsigned long long>(address));
    return digits;
}

/* The message is copied before the stack that has it is left. */
[[noreturn]] void refuse(cudaError_t error, const vrt_ptx_site *site, const std::string &why)
{
    static std::string sentence;

    sentence = name_of(site) + ": " + why;
    vrt_sim_trap(error, sentence.c_str());
}

void check_alignment(uint64_t address, unsigned n, const vrt_ptx_site *site)
{
    if (address % n)
        refuse(cudaErrorMisalignedAddress, site,
               "the address " + hexadecimal(address) + " is not aligned to " + std::to_string(n) +
                   " bytes");
}

}

void sim::begin_translated()
{
    vrt_ptx_last = {0, 0};
    the_notes().pages.clear();
    the_notes().last = nullptr;
}

void vrt_ptx_look(uint64_t address, unsigned n, const vrt_ptx_site *site)
{
    const auto &memory = sim::the_machine().memory;
    auto i = memory.upper_bound(address);

    check_alignment(address, n, site);
    if (i == memory.begin() || (--i, address - i->first + n > i->second.n_bytes))
        refuse(cudaErrorIllegalAddress, site,
               std::to_string(n) + " bytes at " + hexadecimal(address) + " are in no allocation");
    vrt_ptx_last = {i->first, i->second.n_bytes};
}

void vrt_ptx_outside(const char *space, uint64_t address, unsigned n, const vrt_ptx_site *site)
{
    check_alignment(address, n, site);
    refuse(cudaErrorIllegalAddress, site,
           std::to_string(n) + " bytes at " + hexadecimal(address) + " are not in " + space);
}

void vrt_ptx_trap(const vrt_ptx_site *site)
{
    refuse(cudaErrorLaunchFailure, site, "the kernel gave up");
}

void vrt_ptx_copy(const vrt_ptx_launch *l, uint32_t shared, uint64_t global, unsigned n,
                  unsigned n_source, const vrt_ptx_site *site)
{
    void *to = vrt_ptx_shared(l, shared, n, site);

    if (n_source > n)
        refuse(cudaErrorLaunchFailure, site, "more bytes to read than to write");
    if (n_source) {
        check_alignment(global, n, site);
        vrt_ptx_global(l, global, n_source, site);
    }
    vrt_sim_cp_async_of(to, reinterpret_cast<const void *>(global), n, n_source);
}

void vrt_ptx_note(const void *at, unsigned n, bool is_written, const vrt_ptx_site *site)
{
    const auto address = reinterpret_cast<uint64_t>(at);
    const unsigned word = address / 64 % 64;
    const uint64_t bits = ((uint64_t(1) << n) - 1) << address % 64;
    notes &it = the_notes();

    if (!it.last || it.number != address / 4096) {
        it.number = address / 4096;
        it.last = &it.pages[it.number];
    }
    (is_written ? it.last->written : it.last->constant)[word] |= bits;
    if (it.last->written[word] & it.last->constant[word] & bits)
        refuse(cudaErrorLaunchFailure, site,
               hexadecimal(address) + " is written, and read as a constant, by one launch");
}

void vrt_ptx_each(void *const *args, unsigned mask, void (*run)(void *const *, unsigned),
                  unsigned n, size_t n_bytes)
{
    for (unsigned i = 0; i < n; i++) {
        void *each[32] = {};

        for (unsigned lane = 0; lane < 32; lane++)
            if (mask >> lane & 1)
                each[lane] = static_cast<char *>(args[lane]) + i * n_bytes;
        run(each, mask);
    }
}
