/* SPDX-License-Identifier: MIT */
/* f32 split in two of TF32, and products of such, against the numbers themselves and double. */

#include "tests/simulators/cuda/tests/test-kernel.h"

#include "backend/cuda/kernels/products/split.cuh"

#include <cfloat>

namespace {

struct parts {
    uint32_t high, low;
};

void split_all(const float *x, parts *out)
{
    const unsigned i = blockIdx.x * 32 + threadIdx.x;

    vrt::split(__float_as_uint(x[i]), &out[i].high, &out[i].low);
}

std::vector<parts> split_of(const std::vector<float> &x)
{
    const device_array<float> in(x);
    const device_array<parts> out(x.size());

    expect_int(launch(split_all, unsigned(x.size() / 32), 32, 0, in.data, out.data), cudaSuccess);
    return out.read();
}

/* What tensor cores read of it. */
double read(uint32_t bits)
{
    return __uint_as_float(bits & ~0x1fffu);
}

/* Numbers of all exponents, their digits any, and those around which rounding changes. */
std::vector<float> numbers()
{
    std::vector<float> x;

    for (uint32_t exponent = 0; exponent < 255; exponent++) {
        for (uint32_t i = 0; i < 32; i++) {
            const uint32_t edges[] = {0, 1, 0xfff, 0x1000, 0x1001, 0x1fff, 0x2fff, 0x3000,
                                      0x7fefff, 0x7ff000, 0x7ff001, 0x7fffff};
            const uint32_t digits = i < 12 ? edges[i] : (exponent * 32 + i) * 2654435761u >> 9;

            x.push_back(__uint_as_float(exponent << 23 | digits | i % 2 << 31));
        }
    }
    return x;
}

void test_parts()
{
    const std::vector<float> x = numbers();
    const std::vector<parts> got = split_of(x);

    for (size_t i = 0; i < x.size(); i++) {
        const double high = __uint_as_float(got[i].high), low = __uint_as_float(got[i].low);
        /* One bit of the low part is cut off; two where the high part could not be rounded. */
        const double lost = std::fabs(x[i]) * (std::fabs(x[i]) < 0x1.ffep127 ? 0x1p-23 : 0x1p-21);

        expect_int(got[i].high & 0x1fff, 0);
        expect_near(high + low, x[i], 0);
        expect_near(read(got[i].high) + read(got[i].low), x[i], lost + 0x1p-136);
    }
}

void test_parts_of_what_is_not_finite()
{
    std::vector<float> x(32, NAN);

    x[0] = INFINITY;
    x[1] = -INFINITY;
    x[2] = -NAN;
    const std::vector<parts> got = split_of(x);

    for (int i = 0; i < 2; i++) {
        expect_true(std::isfinite(__uint_as_float(got[size_t(i)].high)));
        expect_true(__uint_as_float(got[size_t(i)].low) == x[size_t(i)]);
    }
    for (size_t i = 2; i < 32; i++)
        expect_true(std::isnan(read(got[i].low)));
}

/* c [16][16] = a [16][k] * b [16][k], as a warp makes it of factors in shared memory. */
void multiply(const float *a, const float *b, int n_k, float *c)
{
    VRT_DYNAMIC_SHARED(shared);
    constexpr int row_bytes = VRT_CUDA_ROW_BYTES;
    const int lane = int(threadIdx.x);
    unsigned char *const shared_b = shared + 16 * row_bytes;
    float d[1][2][4] = {};

    for (int k = 0; k < n_k; k += 8) {
        __syncwarp();
        for (int i = lane; i < 128; i += 32) {
            const int row = i / 8, column = i % 8;

            memcpy(shared + row * row_bytes + column * 4, a + row * n_k + k + column, 4);
            memcpy(shared_b + row * row_bytes + column * 4, b + row * n_k + k + column, 4);
        }
        __syncwarp();
        vrt::split_multiply<1, 2>(
            d, shared + lane % 16 * row_bytes + lane / 16 * 16, 0,
            shared_b + (lane % 8 + lane / 16 * 8) * row_bytes + lane / 8 % 2 * 16, 0);
    }
    for (int j = 0; j < 2; j++)
        for (int i = 0; i < 4; i++)
            c[(lane / 4 + i / 2 * 8) * 16 + j * 8 + lane % 4 * 2 + i % 2] = d[0][j][i];
}

std::vector<float> product(const std::vector<float> &a, const std::vector<float> &b)
{
    const device_array<float> on_a(a), on_b(b), on_c(256);

    expect_int(launch(multiply, 1, 32, 32 * VRT_CUDA_ROW_BYTES, on_a.data, on_b.data,
                      int(a.size() / 16), on_c.data), cudaSuccess);
    return on_c.read();
}

/* From 0 to 1, or from -1. */
float fraction(size_t i, bool is_signed)
{
    const float x = float(uint32_t(i) * 2654435761u >> 8) * 0x1p-24f;

    return is_signed ? 2 * x - 1 : x;
}

/* The largest error of 256 sums of k products, over the largest sum. */
double error_of(size_t n_k, bool is_signed)
{
    std::vector<float> a(16 * n_k), b(16 * n_k);
    double error = 0, largest = 0;

    for (size_t i = 0; i < a.size(); i++) {
        a[i] = fraction(i + 12345, is_signed);
        b[i] = fraction(i * i + i, is_signed);
    }
    const std::vector<float> c = product(a, b);

    for (size_t m = 0; m < 16; m++) {
        for (size_t n = 0; n < 16; n++) {
            double want = 0;

            for (size_t k = 0; k < n_k; k++)
                want += double(a[m * n_k + k]) * double(b[n * n_k + k]);
            error = std::max(error, std::fabs(c[m * 16 + n] - want));
            largest = std::max(largest, std::fabs(want));
        }
    }
    return error / largest;
}

/* Conformance wants 1e-5 of f32; what "split.cuh" says is 1.1e-6 at most. */
void test_sums()
{
    for (size_t n_k : {8, 64, 256, 1152, 4608}) {
        for (bool is_signed : {false, true}) {
            const double error = error_of(n_k, is_signed);

            if (!(error < 2e-6))
                test_fail("sums of %zu products are off by %g", n_k, error);
        }
    }
}

/* Of a and b, each beside zeros. */
float product_of(float a, float b)
{
    std::vector<float> all_a(16 * 8), all_b(16 * 8);

    all_a[0] = a;
    all_b[0] = b;
    return product(all_a, all_b)[0];
}

void test_extremes()
{
    expect_near(product_of(FLT_MAX, 0.5f), FLT_MAX / 2, FLT_MAX * 0x1p-20);
    expect_near(product_of(-FLT_MAX, 1), -FLT_MAX, FLT_MAX * 0x1p-20);
    expect_near(product_of(FLT_MAX, FLT_MIN), double(FLT_MAX) * FLT_MIN, 0x1p-10);
    expect_near(product_of(0x1.234566p-60f, 0x1.fedcbap60f), 0x1.234566p0 * 0x1.fedcbap0, 0x1p-20);
    expect_near(product_of(0x1p-149f, 1), 0, 0x1p-136);
    expect_true(product_of(FLT_MAX, -FLT_MAX) == -INFINITY);
    expect_true(product_of(INFINITY, 1) == INFINITY);
    expect_true(product_of(-3, INFINITY) == -INFINITY);
    expect_true(product_of(-INFINITY, -INFINITY) == INFINITY);
    expect_true(std::isnan(product_of(INFINITY, 0)));
    expect_true(std::isnan(product_of(NAN, 1)));
    expect_true(std::isnan(product_of(2, -NAN)));
}

}

TEST_MAIN(
    {"parts", test_parts},
    {"parts of what isn't finite", test_parts_of_what_is_not_finite},
    {"sums", test_sums},
    {"extremes", test_extremes},
)
