/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * bfloat, since Metal 3.1: what no compiler of ours computes with
 *
 * In the strict compilation a type of the compiler's own stands for it, which address spaces may be
 * said of. In the other it is 16 bits that become a float wherever they are used, and are rounded
 * to nearest, ties to even, where they are made; operations of two bfloats round each result.
 */

#if __METAL_VERSION__ >= 310

#ifdef VRT_MSL_STRICT

typedef double bfloat;
VRT_MSL_VECTORS(bfloat)
VRT_MSL_PACKED(bfloat)

#else

struct bfloat {
    ushort bits;

    bfloat() = default;
    explicit bfloat(float x)
    {
        const uint u = __builtin_bit_cast(uint, x);
        const bool is_nan = (u & 0x7fffffffu) > 0x7f800000u;

        bits = is_nan ? ushort(u >> 16 | 0x40) : ushort((u + 0x7fff + (u >> 16 & 1)) >> 16);
    }
    operator float() const { return __builtin_bit_cast(float, uint(bits) << 16); }
    bfloat &operator+=(bfloat b) { return *this = bfloat(float(*this) + float(b)); }
    bfloat &operator-=(bfloat b) { return *this = bfloat(float(*this) - float(b)); }
    bfloat &operator*=(bfloat b) { return *this = bfloat(float(*this) * float(b)); }
    bfloat &operator/=(bfloat b) { return *this = bfloat(float(*this) / float(b)); }
};

inline bfloat operator+(bfloat a, bfloat b) { return bfloat(float(a) + float(b)); }
inline bfloat operator-(bfloat a, bfloat b) { return bfloat(float(a) - float(b)); }
inline bfloat operator*(bfloat a, bfloat b) { return bfloat(float(a) * float(b)); }
inline bfloat operator/(bfloat a, bfloat b) { return bfloat(float(a) / float(b)); }
inline bfloat operator-(bfloat a) { return bfloat(-float(a)); }

namespace vrt_msl {

template <int n> struct bfloats;
template <> struct bfloats<2> { bfloat x, y; };
template <> struct bfloats<4> { bfloat x, y, z, w; };

/* A vector of them: made of numbers and turned into such, element by element. */
template <int n> struct packed_bfloats : bfloats<n> {
    bfloat &operator[](int i) { return (&this->x)[i]; }
    bfloat operator[](int i) const { return (&this->x)[i]; }
};
template <int n> struct alignas(n == 2 ? 4 : 8) bfloat_vector : packed_bfloats<n> {};

template <int n> struct shape<packed_bfloats<n>> {
    typedef bfloat element;
    enum { size = n };
};
template <int n> struct shape<bfloat_vector<n>> : shape<packed_bfloats<n>> {};

template <int n> struct maker<bfloat_vector<n>, true> {
    template <class... A> static bfloat_vector<n> make(A... a)
    {
        bfloat_vector<n> v;

        fill<0>(v, a...);
        return v;
    }
    template <class A>
    static typename metal::enable_if<shape<A>::size == 1, bfloat_vector<n>>::type make(A a)
    {
        bfloat_vector<n> v;

        for (int i = 0; i < n; i++)
            v[i] = bfloat(float(a));
        return v;
    }
};

template <int n> struct maker<packed_bfloats<n>, true> {
    template <class... A> static packed_bfloats<n> make(A... a)
    {
        return maker<bfloat_vector<n>, true>::make(a...);
    }
};

}

typedef vrt_msl::bfloat_vector<2> bfloat2;
typedef vrt_msl::bfloat_vector<4> bfloat4;
typedef vrt_msl::packed_bfloats<2> packed_bfloat2;
typedef vrt_msl::packed_bfloats<4> packed_bfloat4;

#endif

#endif
