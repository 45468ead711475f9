/* SPDX-License-Identifier: MIT */
#pragma once

/* The vector types: aligned as on the device, so that a misaligned access is seen by UBSan. */

#include <type_traits>

#define VRT_SIM_VECTORS(scalar, name)                                                   \
    struct alignas(2 * sizeof(scalar)) name##2 { scalar x, y; };                        \
    struct name##3 { scalar x, y, z; };                                                 \
    struct alignas(4 * sizeof(scalar) < 16 ? 4 * sizeof(scalar) : 16) name##4           \
    {                                                                                   \
        scalar x, y, z, w;                                                              \
    };                                                                                  \
    static inline name##2 make_##name##2(scalar x, scalar y) { return {x, y}; }         \
    static inline name##3 make_##name##3(scalar x, scalar y, scalar z)                  \
    {                                                                                   \
        return {x, y, z};                                                               \
    }                                                                                   \
    static inline name##4 make_##name##4(scalar x, scalar y, scalar z, scalar w)        \
    {                                                                                   \
        return {x, y, z, w};                                                            \
    }

VRT_SIM_VECTORS(signed char, char)
VRT_SIM_VECTORS(unsigned char, uchar)
VRT_SIM_VECTORS(short, short)
VRT_SIM_VECTORS(unsigned short, ushort)
VRT_SIM_VECTORS(int, int)
VRT_SIM_VECTORS(unsigned, uint)
VRT_SIM_VECTORS(float, float)
VRT_SIM_VECTORS(double, double)

#undef VRT_SIM_VECTORS

struct dim3 {
    unsigned x, y, z;

    constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return {x, y, z}; }
};
