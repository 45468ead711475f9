/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Barriers, and what the threads of a simdgroup do together
 *
 * All threads of the simdgroup that have not ended must come, by the same line: what Metal makes of
 * those that diverged is nothing to rely on. A lane that isn't there shows NaN, whatever the type.
 */

#include "machine.h"

namespace metal {

enum class mem_flags {
    mem_none = 0,
    mem_device = 1,
    mem_threadgroup = 2,
};

constexpr mem_flags operator|(mem_flags a, mem_flags b) { return mem_flags(int(a) | int(b)); }

}

extern const vrt_msl_machine *vrt_msl_the_machine;

namespace vrt_msl {

template <class T> struct showing {
    vrt_msl_meeting meeting;
    T value;                            /* in: what this lane shows; out: what it gets */
    uint source;                        /* the lane that it reads */
};

template <class T> T &value_of(void *arg) { return static_cast<showing<T> *>(arg)->value; }

inline bool has(uint mask, uint lane) { return lane < 32 && (mask >> lane & 1); }

template <class T> void shuffle(void *const *args, uint mask)
{
    T shown[32];

    for (uint l = 0; l < 32; l++) {
        if (has(mask, l))
            shown[l] = value_of<T>(args[l]);
        else
            __builtin_memset(&shown[l], 0xff, sizeof(T));
    }
    for (uint l = 0; l < 32; l++)
        if (has(mask, l))
            value_of<T>(args[l]) = shown[static_cast<showing<T> *>(args[l])->source & 31];
}

inline void vote(void *const *args, uint mask)
{
    uint votes = 0;

    for (uint l = 0; l < 32; l++)
        if (has(mask, l) && value_of<uint>(args[l]))
            votes |= 1u << l;
    for (uint l = 0; l < 32; l++)
        if (has(mask, l))
            value_of<uint>(args[l]) = votes;
}

inline void nothing(void *const *, uint) {}

template <class T>
T show(const char *name, uint line, void (*run)(void *const *, uint), T value, uint source = 0)
VRT_MSL_BODY(
    showing<T> arg = {{run}, value, source};

    vrt_msl_the_machine->meet(name, line, &arg);
    return arg.value;
)

inline uint lane() VRT_MSL_BODY(return vrt_msl_the_machine->lane();)

}

namespace metal {

inline void threadgroup_barrier(mem_flags, uint line = __builtin_LINE())
VRT_MSL_BODY(vrt_msl_the_machine->barrier("threadgroup_barrier()", line);)

inline void simdgroup_barrier(mem_flags, uint line = __builtin_LINE())
{
    vrt_msl::show("simdgroup_barrier()", line, vrt_msl::nothing, 0u);
}

template <class T> T simd_shuffle_xor(T value, ushort mask, uint line = __builtin_LINE())
{
    return vrt_msl::show("simd_shuffle_xor()", line, vrt_msl::shuffle<T>, value,
                         vrt_msl::lane() ^ mask);
}

inline bool simd_any(bool value, uint line = __builtin_LINE())
{
    return vrt_msl::show("simd_any()", line, vrt_msl::vote, uint(value)) != 0;
}

}
