/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * simdgroup_matrix: 8 x 8 numbers that a simdgroup holds, two in each of its 32 threads
 *
 * Which two is nobody's to know. Each thread reads and writes its own when it comes: who needs what
 * others of the simdgroup wrote has to have a barrier. Products are summed in float, and rounded to
 * what the sum is of.
 */

namespace metal {

template <class T, int columns, int rows> class simdgroup_matrix;

}

namespace vrt_msl {

/* The place (8 * row + column) of a thread's first or second number. */
inline uint matrix_place(uint lane, uint i) { return (lane * 22 + i * 11 + 5) & 63; }

/* What a thread brings to a load or a store, which all must do alike. */
struct transfer {
    vrt_msl_meeting meeting;
    const void *at;
    ulong stride;
    bool is_transposed;
};

inline void expect_whole(uint mask) VRT_MSL_BODY(
    if (mask != ~0u)
        vrt_msl_the_machine->fail("a simdgroup_matrix in a simdgroup without 32 threads");
)

inline void agree(void *const *args, uint mask) VRT_MSL_BODY(
    const transfer *first = static_cast<const transfer *>(args[__builtin_ctz(mask)]);

    expect_whole(mask);
    for (uint l = 0; l < 32; l++) {
        const transfer *other = static_cast<const transfer *>(args[l]);

        if (other->at != first->at || other->stride != first->stride ||
            other->is_transposed != first->is_transposed)
            vrt_msl_the_machine->fail("threads of a simdgroup load or store matrices of different "
                                      "places");
    }
)

inline ulong matrix_offset(uint place, ulong stride, bool is_transposed)
{
    const uint row = place / 8, column = place % 8;

    return is_transposed ? column * stride + row : row * stride + column;
}

/* Two numbers of a matrix. */
template <class T> struct two { typedef metal::vec<T, 2> type; };
#if __METAL_VERSION__ >= 310
template <> struct two<bfloat> { typedef bfloat2 type; };
#endif

struct multiplying {
    vrt_msl_meeting meeting;
    float a[2], b[2], c[2];             /* in; c is what comes out, too */
};

inline void multiply(void *const *args, uint mask) VRT_MSL_BODY(
    float a[64], b[64];

    expect_whole(mask);
    for (uint l = 0; l < 32; l++) {
        const multiplying *from = static_cast<const multiplying *>(args[l]);

        for (uint i = 0; i < 2; i++) {
            a[matrix_place(l, i)] = from->a[i];
            b[matrix_place(l, i)] = from->b[i];
        }
    }
    for (uint l = 0; l < 32; l++) {
        multiplying *to = static_cast<multiplying *>(args[l]);

        for (uint i = 0; i < 2; i++) {
            const uint row = matrix_place(l, i) / 8, column = matrix_place(l, i) % 8;

            for (uint k = 0; k < 8; k++)
                to->c[i] = __builtin_fmaf(a[8 * row + k], b[8 * k + column], to->c[i]);
        }
    }
)

template <class T> struct is_matrix_number { static constexpr constant bool value = false; };
template <> struct is_matrix_number<half> { static constexpr constant bool value = true; };
template <> struct is_matrix_number<float> { static constexpr constant bool value = true; };
#if __METAL_VERSION__ >= 310
template <> struct is_matrix_number<bfloat> { static constexpr constant bool value = true; };
#endif

/* T without `const` and the space that it lies in. */
template <class T> struct bare { typedef T type; };
template <class T> struct bare<const T> { typedef T type; };
#ifdef VRT_MSL_STRICT
template <class T> struct bare<device T> { typedef T type; };
template <class T> struct bare<const device T> { typedef T type; };
template <class T> struct bare<threadgroup T> { typedef T type; };
template <class T> struct bare<const threadgroup T> { typedef T type; };
#endif

}

namespace metal {

template <class T, int columns, int rows> class simdgroup_matrix {
    static_assert(columns == 8 && rows == 8, "a simdgroup_matrix is 8 x 8");
    static_assert(vrt_msl::is_matrix_number<T>::value, "of half, bfloat or float");

public:
    /* The two numbers that a thread holds: enough for what is done to each by itself. */
    typedef typename vrt_msl::two<T>::type storage_type;

    simdgroup_matrix() = default;

    /* A diagonal matrix. */
    explicit simdgroup_matrix(T diagonal)
    {
        for (uint i = 0; i < 2; i++) {
            const uint place = vrt_msl::matrix_place(vrt_msl::lane(), i);

            own[i] = place / 8 == place % 8 ? diagonal : T(0.0f);
        }
    }

    thread storage_type &thread_elements() { return own; }

private:
    storage_type own;
};

typedef simdgroup_matrix<half, 8, 8> simdgroup_half8x8;
typedef simdgroup_matrix<float, 8, 8> simdgroup_float8x8;
#if __METAL_VERSION__ >= 310
typedef simdgroup_matrix<bfloat, 8, 8> simdgroup_bfloat8x8;
#endif

template <class T, int columns, int rows>
simdgroup_matrix<T, columns, rows> make_filled_simdgroup_matrix(T value)
{
    simdgroup_matrix<T, columns, rows> m;

    m.thread_elements()[0] = m.thread_elements()[1] = value;
    return m;
}

template <class T, int c, int r, class P>
void simdgroup_load(thread simdgroup_matrix<T, c, r> &m, P *from, ulong stride = c,
                    ulong2 origin = ulong2(0), bool transpose = false,
                    uint line = __builtin_LINE())
{
    static_assert(is_same<T, typename vrt_msl::bare<P>::type>::value,
                  "simdgroup_load() is from memory of the matrix's own type");
#ifndef VRT_MSL_STRICT
    const P *at = from + origin.y * stride + origin.x;
    vrt_msl::transfer arg = {{vrt_msl::agree}, at, stride, transpose};

    if (transpose && (origin.x || origin.y))
        vrt_msl_the_machine->fail("an origin of a matrix that is transposed: whose is it?");
    for (uint i = 0; i < 2; i++)
        m.thread_elements()[i] = at[vrt_msl::matrix_offset(
            vrt_msl::matrix_place(vrt_msl::lane(), i), stride, transpose)];
    vrt_msl_the_machine->meet("simdgroup_load()", line, &arg);
#endif
}

template <class T, int c, int r, class P>
void simdgroup_store(simdgroup_matrix<T, c, r> m, P *to, ulong stride = c,
                     ulong2 origin = ulong2(0), bool transpose = false,
                     uint line = __builtin_LINE())
{
    static_assert(is_same<T, typename vrt_msl::bare<P>::type>::value,
                  "simdgroup_store() is to memory of the matrix's own type");
#ifndef VRT_MSL_STRICT
    P *at = to + origin.y * stride + origin.x;
    vrt_msl::transfer arg = {{vrt_msl::agree}, at, stride, transpose};

    if (transpose && (origin.x || origin.y))
        vrt_msl_the_machine->fail("an origin of a matrix that is transposed: whose is it?");
    for (uint i = 0; i < 2; i++)
        at[vrt_msl::matrix_offset(vrt_msl::matrix_place(vrt_msl::lane(), i), stride, transpose)] =
            m.thread_elements()[i];
    vrt_msl_the_machine->meet("simdgroup_store()", line, &arg);
#endif
}

/* d = a * b + c; a line of the text is where all come by. */
template <class D, class A, class B, class C>
void simdgroup_multiply_accumulate(thread simdgroup_matrix<D, 8, 8> &d,
                                   simdgroup_matrix<A, 8, 8> a, simdgroup_matrix<B, 8, 8> b,
                                   simdgroup_matrix<C, 8, 8> c, uint line = __builtin_LINE())
{
#ifndef VRT_MSL_STRICT
    vrt_msl::multiplying arg = {{vrt_msl::multiply}, {}, {}, {}};

    for (uint i = 0; i < 2; i++) {
        arg.a[i] = float(a.thread_elements()[i]);
        arg.b[i] = float(b.thread_elements()[i]);
        arg.c[i] = float(c.thread_elements()[i]);
    }
    vrt_msl_the_machine->meet("simdgroup_multiply_accumulate()", line, &arg);
    for (uint i = 0; i < 2; i++)
        d.thread_elements()[i] = D(arg.c[i]);
#endif
}

}
