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
#define HUGE_VALF __builtin_inff()
#define MAXFLOAT 3.402823466e+38f
#define FLT_MAX 3.402823466e+38f
#define FLT_MIN 1.175494351e-38f
#define FLT_EPSILON 1.192092896e-07f
#define HALF_MAX half(65504.0f)
#define HALF_MIN half(6.103515625e-5f)
#define HALF_EPSILON half(9.765625e-4f)
#define M_E_F 2.71828182845904523536f
#define M_LOG2E_F 1.44269504088896340736f
#define M_LN2_F 0.693147180559945309417f
#define M_PI_F 3.14159265358979323846f
#define M_PI_2_F 1.57079632679489661923f
#define M_1_PI_F 0.318309886183790671538f
#define M_2_SQRTPI_F 1.12837916709551257390f
#define M_SQRT2_F 1.41421356237309504880f
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
    namespace fast { using metal::name; }                                               \
    namespace precise { using metal::name; }                                            \
    }

VRT_MSL_UNARY(acos, __builtin_acosf(x))
VRT_MSL_UNARY(asin, __builtin_asinf(x))
VRT_MSL_UNARY(atan, __builtin_atanf(x))
VRT_MSL_UNARY(ceil, __builtin_ceilf(x))
VRT_MSL_UNARY(cos, __builtin_cosf(x))
VRT_MSL_UNARY(cosh, __builtin_coshf(x))
VRT_MSL_UNARY(exp, __builtin_expf(x))
VRT_MSL_UNARY(exp2, __builtin_exp2f(x))
VRT_MSL_UNARY(exp10, __builtin_powf(10.0f, x))
VRT_MSL_UNARY(fabs, __builtin_fabsf(x))
VRT_MSL_UNARY(floor, __builtin_floorf(x))
VRT_MSL_UNARY(fract, x - __builtin_floorf(x))
VRT_MSL_UNARY(log, __builtin_logf(x))
VRT_MSL_UNARY(log2, __builtin_log2f(x))
VRT_MSL_UNARY(log10, __builtin_log10f(x))
VRT_MSL_UNARY(rint, __builtin_rintf(x))
VRT_MSL_UNARY(round, __builtin_roundf(x))
VRT_MSL_UNARY(rsqrt, 1.0f / __builtin_sqrtf(x))
VRT_MSL_UNARY(saturate, __builtin_fminf(__builtin_fmaxf(x, 0.0f), 1.0f))
VRT_MSL_UNARY(sign, x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : 0.0f)
VRT_MSL_UNARY(sin, __builtin_sinf(x))
VRT_MSL_UNARY(sinh, __builtin_sinhf(x))
VRT_MSL_UNARY(sqrt, __builtin_sqrtf(x))
VRT_MSL_UNARY(tan, __builtin_tanf(x))
VRT_MSL_UNARY(tanh, __builtin_tanhf(x))
VRT_MSL_UNARY(trunc, __builtin_truncf(x))

#define VRT_MSL_BINARY(name, value)                                                     \
    namespace vrt_msl {                                                                 \
    struct of_##name { static float of(float x, float y) { return value; } };           \
    }                                                                                   \
    namespace metal {                                                                   \
    template <class A, class B> vrt_msl::if_joint_floating<A, B> name(A a, B b)         \
    {                                                                                   \
        return vrt_msl::each_of<vrt_msl::of_##name, vrt_msl::joint<A, B>>(a, b);        \
    }                                                                                   \
    namespace fast { using metal::name; }                                               \
    namespace precise { using metal::name; }                                            \
    }

VRT_MSL_BINARY(atan2, __builtin_atan2f(x, y))
VRT_MSL_BINARY(copysign, __builtin_copysignf(x, y))
VRT_MSL_BINARY(fdim, __builtin_fdimf(x, y))
VRT_MSL_BINARY(fmax, __builtin_fmaxf(x, y))
VRT_MSL_BINARY(fmin, __builtin_fminf(x, y))
VRT_MSL_BINARY(fmod, __builtin_fmodf(x, y))
VRT_MSL_BINARY(pow, __builtin_powf(x, y))
VRT_MSL_BINARY(powr, __builtin_powf(x, y))
VRT_MSL_BINARY(step, y < x ? 0.0f : 1.0f)

#define VRT_MSL_TERNARY(name, value)                                                    \
    namespace vrt_msl {                                                                 \
    struct of_##name { static float of(float x, float y, float z) { return value; } };  \
    }                                                                                   \
    namespace metal {                                                                   \
    template <class T, class A, class B>                                                \
    vrt_msl::if_floating<vrt_msl::joint<T, vrt_msl::joint<T, A>>> name(                 \
        T x, A a, B b, vrt_msl::joint<T, B> * = nullptr)                                \
    {                                                                                   \
        return vrt_msl::each_of<vrt_msl::of_##name>(x, a, b);                           \
    }                                                                                   \
    namespace fast { using metal::name; }                                               \
    namespace precise { using metal::name; }                                            \
    }

VRT_MSL_TERNARY(fma, __builtin_fmaf(x, y, z))
VRT_MSL_TERNARY(mix, x + (y - x) * z)

namespace metal {

template <class T> vrt_msl::if_float_scalar<T> isnan(T x) { return __builtin_isnan((float)x); }
template <class T> vrt_msl::if_float_scalar<T> isinf(T x) { return __builtin_isinf((float)x); }
template <class T> vrt_msl::if_float_scalar<T> isfinite(T x)
{
    return __builtin_isfinite((float)x);
}
template <class T> vrt_msl::if_float_scalar<T> signbit(T x) { return __builtin_signbit((float)x); }

template <class E, int n> E dot(vec<E, n> a, vec<E, n> b)
{
    static_assert(vrt_msl::is_floating<E>::value, "dot() is of floating point");
    E sum = a[0] * b[0];

    for (int i = 1; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

template <class E, int n> E length(vec<E, n> a) { return metal::sqrt(dot(a, a)); }

/* b where the condition holds, a elsewhere. */
template <class T> T select(T a, T b, bool condition) { return condition ? b : a; }

template <class E, class C, int n> vec<E, n> select(vec<E, n> a, vec<E, n> b, vec<C, n> condition)
{
    vec<E, n> r;

    for (int i = 0; i < n; i++)
        r[i] = condition[i] ? b[i] : a[i];
    return r;
}

template <class C, int n> bool any(vec<C, n> condition)
{
    bool result = false;

    for (int i = 0; i < n; i++)
        result = result || condition[i];
    return result;
}

template <class C, int n> bool all(vec<C, n> condition)
{
    bool result = true;

    for (int i = 0; i < n; i++)
        result = result && condition[i];
    return result;
}

}
