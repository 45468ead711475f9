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
    mem_texture = 4,
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

template <class F, class T> void reduce(void *const *args, uint mask)
{
    const uint first = uint(__builtin_ctz(mask));
    T total = value_of<T>(args[first]);

    for (uint l = first + 1; l < 32; l++)
        if (has(mask, l))
            total = each_of<F, T>(total, value_of<T>(args[l]));
    for (uint l = 0; l < 32; l++)
        if (has(mask, l))
            value_of<T>(args[l]) = total;
}

/* What the lanes before each add up to, with its own or without. */
template <class T, bool with_own> void scan(void *const *args, uint mask)
{
    T total = T(0);

    for (uint l = 0; l < 32; l++) {
        if (!has(mask, l))
            continue;
        const T own = value_of<T>(args[l]);

        value_of<T>(args[l]) = with_own ? T(total + own) : total;
        total += own;
    }
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

inline void lowest(void *const *args, uint mask)
{
    for (uint l = 0; l < 32; l++)
        if (has(mask, l))
            value_of<uint>(args[l]) = uint(__builtin_ctz(mask));
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

struct of_sum { template <class E> static E of(E a, E b) { return E(a + b); } };
struct of_product { template <class E> static E of(E a, E b) { return E(a * b); } };
struct of_and { template <class E> static E of(E a, E b) { return E(a & b); } };
struct of_or { template <class E> static E of(E a, E b) { return E(a | b); } };
struct of_xor { template <class E> static E of(E a, E b) { return E(a ^ b); } };

}

namespace metal {

inline void threadgroup_barrier(mem_flags, uint line = __builtin_LINE())
VRT_MSL_BODY(vrt_msl_the_machine->barrier("threadgroup_barrier()", line);)

inline void simdgroup_barrier(mem_flags, uint line = __builtin_LINE())
{
    vrt_msl::show("simdgroup_barrier()", line, vrt_msl::nothing, 0u);
}

#define VRT_MSL_REDUCTION(name, operation)                                              \
    template <class T> vrt_msl::if_number<T> simd_##name(T value, uint line = __builtin_LINE()) \
    {                                                                                   \
        return vrt_msl::show("simd_" #name "()", line,                                  \
                             vrt_msl::reduce<vrt_msl::operation, T>, value);            \
    }
VRT_MSL_REDUCTION(sum, of_sum)
VRT_MSL_REDUCTION(product, of_product)
VRT_MSL_REDUCTION(max, of_max)
VRT_MSL_REDUCTION(min, of_min)
VRT_MSL_REDUCTION(and, of_and)
VRT_MSL_REDUCTION(or, of_or)
VRT_MSL_REDUCTION(xor, of_xor)

template <class T> T simd_prefix_exclusive_sum(T value, uint line = __builtin_LINE())
{
    return vrt_msl::show("simd_prefix_exclusive_sum()", line, vrt_msl::scan<T, false>, value);
}

template <class T> T simd_prefix_inclusive_sum(T value, uint line = __builtin_LINE())
{
    return vrt_msl::show("simd_prefix_inclusive_sum()", line, vrt_msl::scan<T, true>, value);
}

template <class T> T simd_shuffle(T value, ushort lane, uint line = __builtin_LINE())
{
    return vrt_msl::show("simd_shuffle()", line, vrt_msl::shuffle<T>, value, lane);
}

template <class T> T simd_shuffle_xor(T value, ushort mask, uint line = __builtin_LINE())
{
    return vrt_msl::show("simd_shuffle_xor()", line, vrt_msl::shuffle<T>, value,
                         vrt_msl::lane() ^ mask);
}

/* Who would read beyond the last lane keeps its own. */
template <class T> T simd_shuffle_down(T value, ushort delta, uint line = __builtin_LINE())
{
    const uint me = vrt_msl::lane();

    return vrt_msl::show("simd_shuffle_down()", line, vrt_msl::shuffle<T>, value,
                         me + delta < 32 ? me + delta : me);
}

template <class T> T simd_shuffle_up(T value, ushort delta, uint line = __builtin_LINE())
{
    const uint me = vrt_msl::lane();

    return vrt_msl::show("simd_shuffle_up()", line, vrt_msl::shuffle<T>, value,
                         me >= delta ? me - delta : me);
}

template <class T> T simd_broadcast(T value, ushort lane, uint line = __builtin_LINE())
{
    return vrt_msl::show("simd_broadcast()", line, vrt_msl::shuffle<T>, value, lane);
}

template <class T> T simd_broadcast_first(T value, uint line = __builtin_LINE())
{
    const uint first = vrt_msl::show("simd_broadcast_first()", line, vrt_msl::lowest, 0u);

    return vrt_msl::show("simd_broadcast_first()", line, vrt_msl::shuffle<T>, value, first);
}

class simd_vote {
public:
    typedef ulong vote_t;
    explicit simd_vote(vote_t v) : votes(v) {}
    explicit operator vote_t() const { return votes; }

private:
    vote_t votes;
};

inline simd_vote simd_ballot(bool value, uint line = __builtin_LINE())
{
    return simd_vote(vrt_msl::show("simd_ballot()", line, vrt_msl::vote, uint(value)));
}

inline bool simd_any(bool value, uint line = __builtin_LINE())
{
    return vrt_msl::show("simd_any()", line, vrt_msl::vote, uint(value)) != 0;
}

inline bool simd_all(bool value, uint line = __builtin_LINE())
{
    return vrt_msl::show("simd_all()", line, vrt_msl::vote, uint(!value)) == 0;
}

}
