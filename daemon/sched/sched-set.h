/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A set of small numbers: of devices, or of priorities. Zeros are the empty set. Pure.
 *
 * It is wider than the masks of the daemon, which has up to 64 devices (VRT_DEVICES_MAX): there are
 * 201 priorities, and tests/bench plays with hundreds of devices, to show what a choice costs
 * there.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Devices that the scheduler copes with; each number in a set is below. */
#define VRT_SCHED_DEVICES_MAX 512

#define VRT_SCHED_SET_WORDS (VRT_SCHED_DEVICES_MAX / 64)

struct vrt_sched_set {
    uint64_t words[VRT_SCHED_SET_WORDS];
};

/* Puts `i` in, or takes it out. */
static inline void vrt_sched_set_put(struct vrt_sched_set *set, size_t i, bool in)
{
    uint64_t bit = UINT64_C(1) << i % 64;

    if (in)
        set->words[i / 64] |= bit;
    else
        set->words[i / 64] &= ~bit;
}

static inline bool vrt_sched_set_has(const struct vrt_sched_set *set, size_t i)
{
    return set->words[i / 64] >> i % 64 & 1;
}

/* The first number from `i` on that is in both sets; VRT_SCHED_DEVICES_MAX: there is none. */
static inline size_t vrt_sched_set_next(const struct vrt_sched_set *a,
                                        const struct vrt_sched_set *b, size_t i)
{
    for (size_t w = i / 64; w < VRT_SCHED_SET_WORDS; w++) {
        uint64_t word = a->words[w] & b->words[w];
        if (w == i / 64)
            word &= ~UINT64_C(0) << i % 64;
        if (word)
            return w * 64 + (size_t)__builtin_ctzll(word);
    }
    return VRT_SCHED_DEVICES_MAX;
}

/* For each number `i` that is in both sets, in rising order. */
#define VRT_SCHED_SET_FOREACH(i, a, b)                                                  \
    for (size_t i = vrt_sched_set_next(a, b, 0); i < VRT_SCHED_DEVICES_MAX;             \
         i = vrt_sched_set_next(a, b, i + 1))
