/* SPDX-License-Identifier: MIT */
#pragma once

/* Atomics, which are of memory_order_relaxed only. */

namespace metal {

enum memory_order { memory_order_relaxed };

template <class T> struct atomic {
    T value;
};

typedef atomic<int> atomic_int;
typedef atomic<uint> atomic_uint;

#define VRT_MSL_ATOMIC(name, function)                                              \
    template <class A, class T> T atomic_##name##_explicit(A *object, T operand, memory_order) \
    VRT_MSL_BODY(return function(&object->value, operand, __ATOMIC_RELAXED);)

VRT_MSL_ATOMIC(fetch_add, __atomic_fetch_add)
VRT_MSL_ATOMIC(fetch_sub, __atomic_fetch_sub)
VRT_MSL_ATOMIC(fetch_max, __atomic_fetch_max)
VRT_MSL_ATOMIC(fetch_min, __atomic_fetch_min)
VRT_MSL_ATOMIC(fetch_and, __atomic_fetch_and)
VRT_MSL_ATOMIC(fetch_or, __atomic_fetch_or)
VRT_MSL_ATOMIC(fetch_xor, __atomic_fetch_xor)
VRT_MSL_ATOMIC(exchange, __atomic_exchange_n)

template <class A> auto atomic_load_explicit(A *object, memory_order) -> decltype(+object->value)
VRT_MSL_BODY(return __atomic_load_n(&object->value, __ATOMIC_RELAXED);)

template <class A, class T> void atomic_store_explicit(A *object, T desired, memory_order)
VRT_MSL_BODY(__atomic_store_n(&object->value, desired, __ATOMIC_RELAXED);)

template <class A, class T>
bool atomic_compare_exchange_weak_explicit(A *object, thread T *expected, T desired, memory_order,
                                           memory_order)
VRT_MSL_BODY(
    return __atomic_compare_exchange_n(&object->value, expected, desired, true, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED);
)

}

using metal::memory_order_relaxed;
