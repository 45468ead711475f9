/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * How a kernel gets its arguments
 *
 * translate.py calls each with arguments that become what the parameter is: a pointer into a
 * buffer, a reference, an index of one, two or three dimensions of any unsigned type.
 */

namespace vrt_msl {

struct pointer {
    void *at;
    template <class T> operator T *() const { return static_cast<T *>(at); }
};

struct reference {
    void *at;
    template <class T> operator T &() const { return *static_cast<T *>(at); }
};

struct position {
    vrt_msl_place at;
    operator ushort() const { return ushort(at.x); }
    operator uint() const { return at.x; }
    operator ushort2() const { return ushort2{ushort(at.x), ushort(at.y)}; }
    operator uint2() const { return uint2{at.x, at.y}; }
    operator ushort3() const { return ushort3{ushort(at.x), ushort(at.y), ushort(at.z)}; }
    operator uint3() const { return uint3{at.x, at.y, at.z}; }
};

/* One number: an index that has no dimensions. */
struct number {
    uint at;
    operator ushort() const { return ushort(at); }
    operator uint() const { return at; }
};

/* How many bytes what a kernel's n-th parameter points to has. */
template <class T> struct pointed { enum { bytes = 1 }; };
template <class T> struct pointed<T *> { enum { bytes = sizeof(T) }; };
template <class T> struct pointed<T &> { enum { bytes = sizeof(T) }; };
template <> struct pointed<void *> { enum { bytes = 1 }; };
template <> struct pointed<const void *> { enum { bytes = 1 }; };

template <uint n, class F> struct parameter;
template <uint n, class First, class... Rest> struct parameter<n, void(First, Rest...)> :
    parameter<n - 1, void(Rest...)> {};
template <class First, class... Rest> struct parameter<0, void(First, Rest...)> :
    pointed<First> {};

/* Threadgroup memory that a kernel declares: each such variable is added once, at load. */
template <uint kernel_index> struct declared {
    static ulong bytes;
};
template <uint kernel_index> ulong declared<kernel_index>::bytes;

template <uint kernel_index, uint n, ulong bytes> struct variable {
    static const bool is_added;
};
template <uint kernel_index, uint n, ulong bytes>
const bool variable<kernel_index, n, bytes>::is_added =
    ((declared<kernel_index>::bytes += (bytes + 15) & ~15ul), true);

}

#define VRT_MSL_DECLARED(kernel_index, n, name) \
    (void)&vrt_msl::variable<kernel_index, n, sizeof(name)>::is_added;
