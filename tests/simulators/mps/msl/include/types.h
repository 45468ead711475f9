/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Scalars and vectors
 *
 * half is the compiler's own type, told to compute in its own precision: each operation rounds.
 * Vectors are the compiler's, too; translate.py writes make<float4>(...) for float4(...).
 */

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef __fp16 half;
typedef unsigned long size_t;
typedef long ptrdiff_t;
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef uchar uint8_t;
typedef ushort uint16_t;
typedef uint uint32_t;
typedef ulong uint64_t;

#define VRT_MSL_VECTORS(type)                               \
    typedef type type##2 __attribute__((ext_vector_type(2))); \
    typedef type type##3 __attribute__((ext_vector_type(3))); \
    typedef type type##4 __attribute__((ext_vector_type(4)));
VRT_MSL_VECTORS(char)
VRT_MSL_VECTORS(uchar)
VRT_MSL_VECTORS(short)
VRT_MSL_VECTORS(ushort)
VRT_MSL_VECTORS(int)
VRT_MSL_VECTORS(uint)
VRT_MSL_VECTORS(long)
VRT_MSL_VECTORS(ulong)
VRT_MSL_VECTORS(half)
VRT_MSL_VECTORS(float)

namespace metal {

template <class T, int n> using vec = T __attribute__((ext_vector_type(n)));

template <class A, class B> struct is_same { static constexpr constant bool value = false; };
template <class A> struct is_same<A, A> { static constexpr constant bool value = true; };

template <bool condition, class T = void> struct enable_if {};
template <class T> struct enable_if<true, T> { typedef T type; };

}

namespace vrt_msl {

/* A vector's elements; a scalar is its own only one. */
template <class T> struct shape {
    typedef T element;
    enum { size = 1 };
};
template <class E, int n> struct shape<E __attribute__((ext_vector_type(n)))> {
    typedef E element;
    enum { size = n };
};
template <class T> using element = typename shape<T>::element;

template <class T, bool is_vector = (shape<T>::size > 1)> struct access {
    static element<T> get(thread const T &v, int i) { return v[i]; }
    static void put(thread T &v, int i, element<T> e) { v[i] = e; }
};
template <class T> struct access<T, false> {
    static T get(thread const T &v, int) { return v; }
    static void put(thread T &v, int, T e) { v = e; }
};

template <int at, class V> void fill(thread V &)
{
    static_assert(at == shape<V>::size, "a vector is made of as many numbers as it has");
}

template <int at, class V, class A, class... Rest> void fill(thread V &v, A a, Rest... rest)
{
    static_assert(at + shape<A>::size <= shape<V>::size, "more numbers than the vector has");
    for (int i = 0; i < shape<A>::size; i++)
        v[at + i] = (element<V>)access<A>::get(a, i);
    fill<at + shape<A>::size>(v, rest...);
}

/* How T(...) is written for a T that may be a vector. */
template <class T, bool is_vector> struct maker {
    template <class... A> static T make(A... a) { return T(a...); }
};
template <class V> struct maker<V, true> {
    template <class... A> static V make(A... a)
    {
        V v;

        fill<0>(v, a...);
        return v;
    }
    template <class A>
    static typename metal::enable_if<shape<A>::size == 1, V>::type make(A a)
    {
        return V((element<V>)a);
    }
    static V make() { return V(element<V>(0)); }
};

template <class T, class... A> T make(A... a)
{
    return maker<T, (shape<T>::size > 1)>::make(a...);
}

}

#define VRT_MSL_PACKED(type)                                                        \
    typedef type packed_##type##2 __attribute__((ext_vector_type(2), aligned(sizeof(type)))); \
    typedef type packed_##type##4 __attribute__((ext_vector_type(4), aligned(sizeof(type))));
VRT_MSL_PACKED(char)
VRT_MSL_PACKED(uchar)
VRT_MSL_PACKED(short)
VRT_MSL_PACKED(ushort)
VRT_MSL_PACKED(int)
VRT_MSL_PACKED(uint)
VRT_MSL_PACKED(long)
VRT_MSL_PACKED(ulong)
VRT_MSL_PACKED(half)
VRT_MSL_PACKED(float)

/* The same bits as another type. */
template <class T, class U> T as_type(U u)
VRT_MSL_BODY(
    static_assert(sizeof(T) == sizeof(U), "as_type<> of another size");
    return __builtin_bit_cast(T, u);
)

/* A struct, wherever it is. */
#ifdef VRT_MSL_STRICT
namespace vrt_msl {

template <class T> T copied(thread const T &from);
template <class T> T copied(device const T &from);
template <class T> T copied(threadgroup const T &from);
template <class T> T copied(constant T &from);

}
#define VRT_MSL_COPY(type, ...) vrt_msl::copied<type>(__VA_ARGS__)
#else
#define VRT_MSL_COPY(type, ...) __VA_ARGS__
#endif
