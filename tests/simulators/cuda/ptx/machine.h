/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What translated PTX calls: memory, and the machine that it runs on
 *
 * Addresses of global memory are the host's; those of shared memory count from 1024 on in the
 * block's, first what the entry declares, then what the launch asks for. Each access is looked at:
 * who isn't aligned, or leaves what was allocated, ends the launch.
 */

#include "tests/simulators/cuda/include/cuda_runtime.h"
#include "tests/simulators/cuda/include/mma.cuh"

/* Where an instruction is. */
struct vrt_ptx_site {
    const char *opcode, *file;
    unsigned line;
};

struct vrt_ptx_size {
    unsigned offset, n_bytes;
};

/* What an entry's function is given: the same for all threads of a launch. */
struct vrt_ptx_launch {
    const unsigned char *params;
    uint64_t n_param_bytes;
    uint64_t n_shared_bytes;        /* all of it, from address 1024 on */
    uint64_t dynamic;               /* the address of what the launch asked for */
    bool notes;                     /* whether to note what is written */
    bool counts;                    /* whether to count how accesses fit: profile.h */
};

struct vrt_ptx_entry {
    const char *name;               /* as a linker has it */
    void (*run)(const vrt_ptx_launch *l);
    const vrt_ptx_size *params;
    unsigned n_params, n_shared_bytes, dynamic_align, max_threads;
    bool has_constant;              /* it reads as if nobody wrote: ld.global.nc */
    const vrt_ptx_site *sites;      /* the last has line 0 */
};

/* The allocation that was last touched. */
struct vrt_ptx_range {
    uint64_t start, n_bytes;
};

extern vrt_ptx_range vrt_ptx_last;

constexpr uint64_t vrt_ptx_shared_base = 1024;

/* Makes the entries of a file, compiled for cards of capability `target` on, known. */
void vrt_ptx_add(const vrt_ptx_entry *entries, unsigned n, int target, const char *file);

/* Ends the launch where n bytes aren't aligned to n, or in no allocation; else remembers that. */
void vrt_ptx_look(uint64_t address, unsigned n, const vrt_ptx_site *site);

/* Ends the launch: why no n bytes of a space can be at `address`. */
[[noreturn]] void vrt_ptx_outside(const char *space, uint64_t address, unsigned n,
                                  const vrt_ptx_site *site);
[[noreturn]] void vrt_ptx_trap(const vrt_ptx_site *site);

/* Copies n bytes to shared memory, as vrt_sim_cp_async(): n_source of global memory, then zeros. */
void vrt_ptx_copy(const vrt_ptx_launch *l, uint32_t shared, uint64_t global, unsigned n,
                  unsigned n_source, const vrt_ptx_site *site);

/* Notes what the launch writes, and what it reads as if nobody did: none may be both. */
void vrt_ptx_note(const void *at, unsigned n, bool is_written, const vrt_ptx_site *site);

/* Notes an access of the thread that runs, for profile.h. */
void vrt_ptx_count(uint64_t address, unsigned n, bool is_shared, const vrt_ptx_site *site);

/* run() for each of n arguments that every lane has behind each other. */
void vrt_ptx_each(void *const *args, unsigned mask, void (*run)(void *const *, unsigned),
                  unsigned n, size_t n_bytes);

static inline void *vrt_ptx_global(const vrt_ptx_launch *l, uint64_t address, unsigned n,
                                   const vrt_ptx_site *site)
{
    if (address & (n - 1) || address - vrt_ptx_last.start >= vrt_ptx_last.n_bytes ||
        address - vrt_ptx_last.start + n > vrt_ptx_last.n_bytes)
        vrt_ptx_look(address, n, site);
    if (l->counts)
        vrt_ptx_count(address, n, false, site);
    return (void *)address;
}

static inline void *vrt_ptx_shared(const vrt_ptx_launch *l, uint32_t address, unsigned n,
                                   const vrt_ptx_site *site)
{
    const uint64_t at = uint64_t(address) - vrt_ptx_shared_base;

    if (address & (n - 1) || at >= l->n_shared_bytes || at + n > l->n_shared_bytes)
        vrt_ptx_outside("shared memory", address, n, site);
    if (l->counts)
        vrt_ptx_count(address, n, true, site);
    return vrt_sim_dynamic_shared + at;
}

static inline const void *vrt_ptx_param(const vrt_ptx_launch *l, uint64_t address, unsigned n,
                                        const vrt_ptx_site *site)
{
    const uint64_t at = address - (uint64_t)l->params;

    if (at & (n - 1) || at >= l->n_param_bytes || at + n > l->n_param_bytes)
        vrt_ptx_outside("the parameters", at, n, site);
    return l->params + at;
}

/* Lanes that give no row of the n matrices may have any address. */
static inline const void *vrt_ptx_row(const vrt_ptx_launch *l, uint32_t address, unsigned n,
                                      const vrt_ptx_site *site)
{
    return vrt_sim_lane() < 8 * n ? vrt_ptx_shared(l, address, 16, site) : nullptr;
}

static inline void vrt_ptx_written(const vrt_ptx_launch *l, const void *at, unsigned n,
                                   const vrt_ptx_site *site)
{
    if (l->notes)
        vrt_ptx_note(at, n, true, site);
}

static inline void vrt_ptx_constant(const vrt_ptx_launch *, const void *at, unsigned n,
                                    const vrt_ptx_site *site)
{
    vrt_ptx_note(at, n, false, site);
}

/* The lane that shfl.bfly reads from, by its b and c. */
static inline unsigned vrt_ptx_butterfly(uint32_t b, uint32_t c, bool *ret_within)
{
    const unsigned lane = vrt_sim_lane(), segment = c >> 8 & 31;
    const unsigned last = (lane & segment) | (c & 31 & ~segment);
    const unsigned source = lane ^ (b & 31);

    *ret_within = source <= last;
    return *ret_within ? source : lane;
}
