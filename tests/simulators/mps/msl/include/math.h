/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Functions of floating point: of half, float and vectors of them
 *
 * As in MSL all arguments are of one type, where a scalar stands for a vector of it; others match
 * no function. half is computed in float, and rounded.
 */

#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define M_LOG2E_F 1.44269504088896340736f
#define M_2_SQRTPI_F 1.12837916709551257390f
#define M_SQRT1_2_F 0.707106781186547524401f

namespace vrt_msl {

template <class E> struct is_floating { static constexpr constant bool value = false; };
template <> struct is_floating<half> { static constexpr constant bool value = true; };
template <> struct is_floating<float> { static constexpr constant bool value = true; };

template <class T> using if_floating =
    typename metal::enable_if<is_floating<element<T>>::value, T>::type;
template <class T> using if_float_scalar =
    typename metal::enable_if<is_floating<T>::value, bool>::type;

/* What two arguments are together; nothing where one would have to be converted. */
template <class A, class B> struct joined {};
template <class A> struct joined<A, A> { typedef A type; };
template <class E, int n> struct joined<E __attribute__((ext_vector_type(n))), E> {
    typedef metal::vec<E, n> type;
};
template <class E, int n> struct joined<E, E __attribute__((ext_vector_type(n)))> {
    typedef metal::vec<E, n> type;
};
template <class A, class B> using joint = typename joined<A, B>::type;
template <class A, class B> using if_joint_floating = if_floating<joint<A, B>>;

template <class F, class T> T each(T x)
{
    T r;

    for (int i = 0; i < shape<T>::size; i++)
        access<T>::put(r, i, (element<T>)F::of(access<T>::get(x, i)));
    return r;
}

template <class F, class T, class A, class B> T each_of(A a, B b)
{
    T r;

    for (int i = 0; i < shape<T>::size; i++)
        access<T>::put(r, i, (element<T>)F::of(access<A>::get(a, i), access<B>::get(b, i)));
    return r;
}

template <class F, class T, class A, class B> T each_of(T x, A a, B b)
{
    T r;

    for (int i = 0; i < shape<T>::size; i++)
        access<T>::put(r, i, (element<T>)F::of(access<T>::get(x, i), access<A>::get(a, i),
                                                access<B>::get(b, i)));
    return r;
}

}

#define VRT_MSL_UNARY(name, value)                                                      \
    namespace vrt_msl { struct of_##name { static float of(float x) { return value; } }; } \
    namespace metal {                                                                   \
    template <class T> vrt_msl::if_floating<T> name(T x)                                \
    {                                                                                   \
        return vrt_msl::each<vrt_msl::of_##name>(x);                                    \
    }                                                                                   \
    }

VRT_MSL_UNARY(ceil, __builtin_ceilf(x))
VRT_MSL_UNARY(exp, __builtin_expf(x))
VRT_MSL_UNARY(exp2, __builtin_exp2f(x))
VRT_MSL_UNARY(fabs, __builtin_fabsf(x))
VRT_MSL_UNARY(floor, __builtin_floorf(x))
VRT_MSL_UNARY(rint, __builtin_rintf(x))
VRT_MSL_UNARY(sqrt, __builtin_sqrtf(x))
VRT_MSL_UNARY(tanh, __builtin_tanhf(x))

#define VRT_MSL_BINARY(name, value)                                                     \
    namespace vrt_msl {                                                                 \
    struct of_##name { static float of(float x, float y) { return value; } };           \
    }                                                                                   \
    namespace metal {                                                                   \
    template <class A, class B> vrt_msl::if_joint_floating<A, B> name(A a, B b)         \
    {                                                                                   \
        return vrt_msl::each_of<vrt_msl::of_##name, vrt_msl::joint<A, B>>(a, b);        \
    }                                                                                   \
    }

VRT_MSL_BINARY(copysign, __builtin_copysignf(x, y))
VRT_MSL_BINARY(fmax, __builtin_fmaxf(x, y))
VRT_MSL_BINARY(fmin, __builtin_fminf(x, y))

namespace vrt_msl {

struct of_fma { static float of(float x, float y, float z) { return __builtin_fmaf(x, y, z); } };

}

namespace metal {

template <class T, class A, class B>
vrt_msl::if_floating<vrt_msl::joint<T, vrt_msl::joint<T, A>>> fma(T x, A a, B b,
                                                                  vrt_msl::joint<T, B> * = nullptr)
{
    return vrt_msl::each_of<vrt_msl::of_fma>(x, a, b);
}

template <class T> vrt_msl::if_float_scalar<T> isnan(T x) { return __builtin_isnan((float)x); }
template <class T> vrt_msl::if_float_scalar<T> isfinite(T x)
{
    return __builtin_isfinite((float)x);
}

/* b where the condition holds, a elsewhere. */
template <class T> T select(T a, T b, bool condition) { return condition ? b : a; }

template <class E, class C, int n> vec<E, n> select(vec<E, n> a, vec<E, n> b, vec<C, n> condition)
{
    vec<E, n> r;

    for (int i = 0; i < n; i++)
        r[i] = condition[i] ? b[i] : a[i];
    return r;
}

}
