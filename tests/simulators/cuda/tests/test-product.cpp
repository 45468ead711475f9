/* SPDX-License-Identifier: MIT */
/*
 * Products of a warp and what feeds them
 *
 * The fragments are filled and read by the formulas of the PTX ISA's chapter on matrix fragments,
 * element by element (row = groupID or groupID + 8, ...), not in the way of the machine; the wanted
 * product is the plain one.
 */

#include "tests/simulators/cuda/tests/test-kernel.h"

#include "tests/simulators/cuda/include/mma.cuh"

namespace {

/* Small whole numbers: exact in all types, in whatever order they are summed. */
float small(unsigned i)
{
    return float(int(i * 2654435761u >> 20 & 15) - 7);
}

/* PTX: row = groupID for a0, a1, a4, a5, else groupID + 8; col = (tid_in_group * 2) + (i & 1), and
 * 8 more for a4 to a7. */
template <class T> void multiply_halves(const T *a, const T *b, float *c)
{
    const int group = int(threadIdx.x) >> 2, in_group = int(threadIdx.x) % 4;
    T fragment_a[8], fragment_b[4];
    uint32_t words_a[4], words_b[2];
    float d[4];

    for (int i = 0; i < 8; i++) {
        const int row = (i >= 0 && i < 2) || (i >= 4 && i < 6) ? group : group + 8;
        const int column = in_group * 2 + (i & 1) + (i < 4 ? 0 : 8);

        fragment_a[i] = a[row * 16 + column];
    }
    for (int i = 0; i < 4; i++) {
        const int row = in_group * 2 + (i & 1) + (i < 2 ? 0 : 8);

        fragment_b[i] = b[row * 8 + group];             /* b: [k][n] */
    }
    for (int i = 0; i < 4; i++)
        d[i] = c[(i < 2 ? group : group + 8) * 8 + in_group * 2 + (i & 1)];
    memcpy(words_a, fragment_a, sizeof(words_a));
    memcpy(words_b, fragment_b, sizeof(words_b));
    vrt::mma_16x8x16<T>(d, words_a, words_b);
    for (int i = 0; i < 4; i++)
        c[(i < 2 ? group : group + 8) * 8 + in_group * 2 + (i & 1)] = d[i];
}

template <class T> void test_halves()
{
    std::vector<T> a(16 * 16), b(16 * 8);
    std::vector<float> c(16 * 8), want(16 * 8);

    for (unsigned i = 0; i < a.size(); i++)
        a[i] = T(small(i) / 2);
    for (unsigned i = 0; i < b.size(); i++)
        b[i] = T(small(i + 1000));
    for (unsigned i = 0; i < c.size(); i++)
        c[i] = small(i + 2000);
    for (size_t m = 0; m < 16; m++) {
        for (size_t n = 0; n < 8; n++) {
            want[m * 8 + n] = c[m * 8 + n];
            for (size_t k = 0; k < 16; k++)
                want[m * 8 + n] += float(a[m * 16 + k]) * float(b[k * 8 + n]);
        }
    }
    const device_array<T> on_a(a), on_b(b);
    const device_array<float> on_c(c);

    expect_int(launch(multiply_halves<T>, 1, 32, 0, on_a.data, on_b.data, on_c.data), cudaSuccess);
    c = on_c.read();
    for (size_t i = 0; i < c.size(); i++)
        expect_near(c[i], want[i], 0);
}

/* PTX: a: row = groupID for a0 and a2, else groupID + 8; col = tid_in_group for a0 and a1, else
 * tid_in_group + 4; b: row = tid_in_group, + 4 for b1; col = groupID. */
void multiply_tf32(const float *a, const float *b, float *c)
{
    const int group = int(threadIdx.x) >> 2, in_group = int(threadIdx.x) % 4;
    uint32_t words_a[4], words_b[2];
    float d[4] = {0, 0, 0, 0};

    for (int i = 0; i < 4; i++) {
        const int row = i == 0 || i == 2 ? group : group + 8;
        const int column = i == 0 || i == 1 ? in_group : in_group + 4;

        words_a[i] = __float_as_uint(a[row * 8 + column]) | 0x1fff;     /* which don't count */
    }
    for (int i = 0; i < 2; i++)
        words_b[i] = __float_as_uint(b[(in_group + i * 4) * 8 + group]) | 0x1001;
    vrt::mma_16x8x8_tf32(d, words_a, words_b);
    for (int i = 0; i < 4; i++)
        c[(i < 2 ? group : group + 8) * 8 + in_group * 2 + (i & 1)] = d[i];
}

void test_tf32()
{
    std::vector<float> a(16 * 8), b(8 * 8);

    for (unsigned i = 0; i < a.size(); i++)
        a[i] = small(i) / 2;
    for (unsigned i = 0; i < b.size(); i++)
        b[i] = small(i + 1000);
    const device_array<float> on_a(a), on_b(b), on_c(16 * 8);

    expect_int(launch(multiply_tf32, 1, 32, 0, on_a.data, on_b.data, on_c.data), cudaSuccess);
    const auto c = on_c.read();

    for (size_t m = 0; m < 16; m++) {
        for (size_t n = 0; n < 8; n++) {
            float want = 0;

            for (size_t k = 0; k < 8; k++)
                want += a[m * 8 + k] * b[k * 8 + n];
            expect_near(c[m * 8 + n], want, 0);
        }
    }
}

/* Which element each lane has, of matrices whose element (row, column) of matrix i is
 * i * 64 + row * 8 + column. Rows lie 80 bytes apart. */
void load(uint32_t *out, int n, bool trans)
{
    VRT_DYNAMIC_SHARED(bytes);
    const int lane = int(threadIdx.x);
    uint32_t r[4] = {0, 0, 0, 0};

    for (int column = 0; column < 8; column++) {
        const uint16_t value = uint16_t(lane * 8 + column);

        memcpy(bytes + lane * 80 + column * 2, &value, 2);
    }
    __syncwarp();
    const void *row = bytes + lane * 80;
    if (n == 4 && trans)
        vrt::ldmatrix_x4_trans(r, row);
    else if (n == 4)
        vrt::ldmatrix_x4(r, row);
    else if (trans)
        vrt::ldmatrix_x2_trans(r, lane < 16 ? row : nullptr);
    else
        vrt::ldmatrix_x2(r, lane < 16 ? row : bytes + 1);
    for (int i = 0; i < n; i++)
        out[lane * n + i] = r[i];
}

void test_ldmatrix()
{
    for (int variant = 0; variant < 4; variant++) {
        const int n = variant % 2 ? 4 : 2;
        const bool trans = variant / 2;
        const device_array<uint32_t> out(size_t(32 * n));

        expect_int(launch(load, 1, 32, 32 * 80, out.data, n, trans), cudaSuccess);
        const auto got = out.read();

        for (int lane = 0; lane < 32; lane++) {
            for (int i = 0; i < n; i++) {
                const int row = lane / 4, column = lane % 4 * 2;
                const int low = trans ? column * 8 + row : row * 8 + column;
                const int high = trans ? (column + 1) * 8 + row : row * 8 + column + 1;
                const uint32_t word = got[size_t(lane * n + i)];

                expect_int(word & 0xffff, i * 64 + low);
                expect_int(word >> 16, i * 64 + high);
            }
        }
    }
}

struct arrivals {
    float at_once, after_first, after_all, other;
};

/* What is copied arrives when its group is waited for. */
void copy(const float *in, arrivals *out)
{
    VRT_DYNAMIC_SHARED(bytes);
    float *tile = reinterpret_cast<float *>(bytes);
    const unsigned i = threadIdx.x;
    arrivals it;

    vrt::cp_async_16(tile + i * 4, in + i * 4, true);
    vrt::cp_async_commit();
    vrt::cp_async_4(tile + 128 + i, in + 1000000, false);
    vrt::cp_async_commit();
    it.at_once = tile[i * 4 + 1];
    vrt::cp_async_wait<1>();
    it.after_first = tile[i * 4 + 1];
    it.other = tile[128 + i];
    vrt::cp_async_wait<0>();
    it.after_all = tile[128 + i];
    out[i] = it;
}

void test_async_copies()
{
    std::vector<float> numbers(128);

    for (size_t i = 0; i < numbers.size(); i++)
        numbers[i] = float(i);
    const device_array<float> in(numbers);
    const device_array<arrivals> out(32);

    expect_int(launch(copy, 2, 32, 160 * sizeof(float), in.data, out.data), cudaSuccess);
    for (size_t i = 0; i < 32; i++) {
        const arrivals it = out.read()[i];

        expect_true(std::isnan(it.at_once));
        expect_near(it.after_first, double(i * 4 + 1), 0);
        expect_true(std::isnan(it.other));
        expect_near(it.after_all, 0, 0);
    }
}

/* All halves there are survive the way to f32 and back; f32 between two of them goes to the nearer,
 * in the middle to the even one. */
void test_conversions()
{
    for (unsigned bits = 0; bits < 0x7c00; bits++) {
        const auto half = __ushort_as_half((unsigned short)bits);
        const float x = __half2float(half), next = __half2float(__ushort_as_half(
                                                (unsigned short)(bits + 1)));
        const float exponent = float(std::ldexp(1.0, int(bits >> 10) - (bits >> 10 ? 25 : 24)));

        expect_near(x, ((bits & 0x3ff) + (bits >> 10 ? 1024 : 0)) * double(exponent), 0);
        expect_int(__half_as_ushort(__float2half_rn(x)), bits);
        expect_int(__half_as_ushort(__float2half_rn(-x)), bits | 0x8000);
        if (bits + 1 < 0x7c00)
            expect_int(__half_as_ushort(__float2half_rn((x + next) / 2)), bits + (bits & 1));
    }
    expect_int(__half_as_ushort(__float2half_rn(65519.99f)), 0x7bff);
    expect_int(__half_as_ushort(__float2half_rn(65520.0f)), 0x7c00);
    expect_int(__half_as_ushort(__float2half_rn(-INFINITY)), 0xfc00);
    expect_true(std::isnan(__half2float(__float2half_rn(NAN))));
    expect_int(__bfloat16_as_ushort(__float2bfloat16_rn(1.0f)), 0x3f80);
    expect_int(__bfloat16_as_ushort(__float2bfloat16_rn(__uint_as_float(0x3f808000))), 0x3f80);
    expect_int(__bfloat16_as_ushort(__float2bfloat16_rn(__uint_as_float(0x3f818000))), 0x3f82);
    expect_int(__bfloat16_as_ushort(__float2bfloat16_rn(__uint_as_float(0x3f808001))), 0x3f81);
    expect_int(__bfloat16_as_ushort(__float2bfloat16_rn(3.4e38f)), 0x7f80);
    expect_true(std::isnan(__bfloat162float(__float2bfloat16_rn(NAN))));
}

}

TEST_MAIN(
    {"f16", test_halves<__half>},
    {"bf16", test_halves<__nv_bfloat16>},
    {"tf32", test_tf32},
    {"ldmatrix", test_ldmatrix},
    {"async copies", test_async_copies},
    {"conversions", test_conversions},
)
