/* SPDX-License-Identifier: MIT */
#pragma once

/* Functions of integers, and those that are of any number. */

#define CHAR_BIT 8
#define INT_MAX 0x7fffffff
#define INT_MIN (-INT_MAX - 1)
#define UINT_MAX 0xffffffffu
#define USHRT_MAX 0xffff
#define UCHAR_MAX 0xff

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
template <class T> using if_integer =
    typename metal::enable_if<is_number<element<T>>::value &&
                              !is_floating<element<T>>::value, T>::type;

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

struct of_abs {
    template <class E> static E of(E a) { return a < E(0) ? E(-a) : a; }
    static float of(float a) { return __builtin_fabsf(a); }
};

struct of_popcount {
    template <class E> static E of(E a) { return E(__builtin_popcountl(mask(a))); }
    template <class E> static ulong mask(E a) { return ulong(a) & ~0ul >> (64 - 8 * sizeof(E)); }
};

struct of_clz {
    template <class E> static E of(E a)
    {
        const ulong bits = of_popcount::mask(a);

        return E(bits ? __builtin_clzl(bits) - (64 - 8 * int(sizeof(E))) : 8 * int(sizeof(E)));
    }
};

struct of_ctz {
    template <class E> static E of(E a)
    {
        const ulong bits = of_popcount::mask(a);

        return E(bits ? __builtin_ctzl(bits) : 8 * int(sizeof(E)));
    }
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

template <class T> vrt_msl::if_number<T> abs(T x) { return vrt_msl::each<vrt_msl::of_abs>(x); }
template <class T> vrt_msl::if_integer<T> popcount(T x)
{
    return vrt_msl::each<vrt_msl::of_popcount>(x);
}
template <class T> vrt_msl::if_integer<T> clz(T x) { return vrt_msl::each<vrt_msl::of_clz>(x); }
template <class T> vrt_msl::if_integer<T> ctz(T x) { return vrt_msl::each<vrt_msl::of_ctz>(x); }

inline uint mulhi(uint a, uint b) { return uint(ulong(a) * b >> 32); }
inline int mulhi(int a, int b) { return int(long(a) * b >> 32); }

template <class T> struct numeric_limits;
template <> struct numeric_limits<float> {
    static constexpr float max() { return FLT_MAX; }
    static constexpr float lowest() { return -FLT_MAX; }
    static constexpr float infinity() { return INFINITY; }
};
template <> struct numeric_limits<half> {
    static constexpr half max() { return HALF_MAX; }
    static constexpr half lowest() { return half(-65504.0f); }
    static constexpr half infinity() { return half(INFINITY); }
};
template <> struct numeric_limits<int> {
    static constexpr int max() { return INT_MAX; }
    static constexpr int lowest() { return INT_MIN; }
};
template <> struct numeric_limits<uint> {
    static constexpr uint max() { return UINT_MAX; }
    static constexpr uint lowest() { return 0; }
};

}
