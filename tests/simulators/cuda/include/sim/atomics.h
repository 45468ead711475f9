/* SPDX-License-Identifier: MIT */
#pragma once

/* Atomics: the threads of the machine take turns, so that plain accesses are atomic. */

template <class T> static inline T vrt_sim_exchanged(T *at, T value)
{
    const T old = *at;

    *at = value;
    return old;
}

#define VRT_SIM_ATOMICS(T)                                                                  \
    static inline T atomicAdd(T *at, T value)                                               \
    {                                                                                       \
        return vrt_sim_exchanged(at, (T)(*at + value));                                     \
    }                                                                                       \
    static inline T atomicMin(T *at, T value)                                               \
    {                                                                                       \
        return vrt_sim_exchanged(at, value < *at ? value : *at);                            \
    }                                                                                       \
    static inline T atomicMax(T *at, T value)                                               \
    {                                                                                       \
        return vrt_sim_exchanged(at, value > *at ? value : *at);                            \
    }                                                                                       \
    static inline T atomicExch(T *at, T value) { return vrt_sim_exchanged(at, value); }     \
    static inline T atomicCAS(T *at, T expected, T value)                                   \
    {                                                                                       \
        return vrt_sim_exchanged(at, *at == expected ? value : *at);                        \
    }

VRT_SIM_ATOMICS(int)
VRT_SIM_ATOMICS(unsigned)
VRT_SIM_ATOMICS(unsigned long long)

#undef VRT_SIM_ATOMICS

static inline unsigned atomicOr(unsigned *at, unsigned value)
{
    return vrt_sim_exchanged(at, *at | value);
}
static inline unsigned atomicAnd(unsigned *at, unsigned value)
{
    return vrt_sim_exchanged(at, *at & value);
}
