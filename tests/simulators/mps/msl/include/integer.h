/* SPDX-License-Identifier: MIT */
#pragma once

/* Functions that are of any number. */

namespace vrt_msl {

template <class E> struct is_number { static constexpr constant bool value = false; };
#define VRT_MSL_NUMBER(type) \
    template <> struct is_number<type> { static constexpr constant bool value = true; };
VRT_MSL_NUMBER(char)
VRT_MSL_NUMBER(signed char)
VRT_MSL_NUMBER(uchar)
VRT_MSL_NUMBER(short)
VRT_MSL_NUMBER(ushort)
VRT_MSL_NUMBER(int)
VRT_MSL_NUMBER(uint)
VRT_MSL_NUMBER(long)
VRT_MSL_NUMBER(ulong)
VRT_MSL_NUMBER(half)
VRT_MSL_NUMBER(float)

template <class T> using if_number =
    typename metal::enable_if<is_number<element<T>>::value, T>::type;

struct of_max {
    template <class E> static E of(E a, E b) { return a > b ? a : b; }
    static half of(half a, half b) { return half(__builtin_fmaxf(float(a), float(b))); }
    static float of(float a, float b) { return __builtin_fmaxf(a, b); }
};

struct of_min {
    template <class E> static E of(E a, E b) { return a < b ? a : b; }
    static half of(half a, half b) { return half(__builtin_fminf(float(a), float(b))); }
    static float of(float a, float b) { return __builtin_fminf(a, b); }
};

}

namespace metal {

template <class A, class B> vrt_msl::if_number<vrt_msl::joint<A, B>> max(A a, B b)
{
    return vrt_msl::each_of<vrt_msl::of_max, vrt_msl::joint<A, B>>(a, b);
}

template <class A, class B> vrt_msl::if_number<vrt_msl::joint<A, B>> min(A a, B b)
{
    return vrt_msl::each_of<vrt_msl::of_min, vrt_msl::joint<A, B>>(a, b);
}

template <class T, class A, class B>
vrt_msl::if_number<vrt_msl::joint<T, A>> clamp(T x, A low, B high,
                                               vrt_msl::joint<T, B> * = nullptr)
{
    return min(max(x, low), high);
}

}
