/* SPDX-License-Identifier: MIT */
#pragma once

/* Barriers and what the lanes of a warp do together. */

#include <cstring>
#include <type_traits>

#include "tests/simulators/block/threads.h"
#include "tests/simulators/cuda/include/sim/index.h"

/* Waits for all threads of the block that have not ended. */
void vrt_sim_syncthreads(void);

extern const struct vrt_sim_collective vrt_sim_syncwarp;
extern const struct vrt_sim_collective vrt_sim_shuffle;

struct vrt_sim_shuffle_arg {
    unsigned long long value;       /* in: what this lane shows; out: what it gets */
    unsigned source;                /* the lane that it reads */
};

static inline void __syncthreads(void) { vrt_sim_syncthreads(); }

static inline void __syncwarp(unsigned mask = 0xffffffffu)
{
    vrt_sim_meet(&vrt_sim_syncwarp, mask, nullptr);
}

static inline void __trap(void) { vrt_sim_trap(719, "__trap()"); }

template <class T> static inline T vrt_sim_shuffled(unsigned mask, T value, unsigned source)
{
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8, "a register or two");
    vrt_sim_shuffle_arg arg = {0, source};
    T result;

    memcpy(&arg.value, &value, sizeof(value));
    vrt_sim_meet(&vrt_sim_shuffle, mask, &arg);
    memcpy(&result, &arg.value, sizeof(result));
    return result;
}

/* A warp is cut into segments of `width` lanes; who would read outside of its own reads itself. */
template <class T> static inline T __shfl_sync(unsigned mask, T value, int lane, int width = 32)
{
    const unsigned me = vrt_sim_lane(), first = me & ~(unsigned)(width - 1);

    return vrt_sim_shuffled(mask, value, first | ((unsigned)lane & (unsigned)(width - 1)));
}

template <class T>
static inline T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32)
{
    const unsigned me = vrt_sim_lane(), other = me ^ (unsigned)lane_mask;
    const unsigned end = (me & ~(unsigned)(width - 1)) + (unsigned)width;

    return vrt_sim_shuffled(mask, value, other < end ? other : me);
}
