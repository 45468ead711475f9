/* SPDX-License-Identifier: MIT */
/*
 * Translated PTX: what ptx/snippets.ptx computes is what the ISA says, and what a card would refuse
 * ends the launch with a sentence that names the instruction
 */

#include "tests/simulators/cuda/tests/test-kernel.h"

#include "tests/simulators/cuda/include/cuda_fp16.h"
#include "tests/simulators/cuda/machine/machine.h"

#include <cmath>

namespace {

struct twelve {
    int n[3];
};

}

/* What the C++ compiler would run in their place: nothing that anybody shall see. */
extern "C" {
void integers(const int *, int *) {}
void floats(const float *, float *) {}
void near(const float *, float *) {}
void product(const __half *, const __half *, float *) {}
void butterfly(int *) {}
void copy_part(const int *, int *) {}
void load_global(const void *) {}
void store_global(void *) {}
void load_shared(unsigned) {}
void copy_to_shared(unsigned, const void *) {}
void load_matrix(unsigned) {}
void two_barriers() {}
void two_products() {}
void absent_lanes() {}
void not_constant(int *) {}
void bounded(twelve) {}
void strided(const void *, unsigned) {}
void unknown_to_ptx(twelve) {}
}

namespace {

void test_integers()
{
    const int want[] = {0x00ffffff, int(0x80706f90), 0, -1, 1, 3, -1, -3, -1,
                        int(0x80706050u % 40u), 5, 6,
                        int(0x6050u * 0x6050u), -279, -7};
    device_array<int> in({int(0x80706050), -7, 40, 0}), out(15);

    expect_int(launch(integers, 1, 1, 0, in.data, out.data), cudaSuccess);
    const std::vector<int> got = out.read();

    for (int i = 0; i < 15; i++)
        expect_int(got[size_t(i)], want[i]);
}

void test_floats()
{
    const float one = 1.0f + 0x1p-12f, below = nextafterf(-1.0f - 0x1p-22f, -2.0f);
    const float want[] = {0.0f, 0x1p-24f, 1.0f + 0x1p-11f, below,
                          2.5f, 0.0f, -0.0f, 0.0f,
                          2.0f, -2.5f, 0.0f, -3.0f};
    device_array<float> in({one, NAN, -0.0f, 2.5f}), out(20);
    uint32_t bits[20];

    expect_int(launch(floats, 1, 1, 0, in.data, out.data), cudaSuccess);
    const std::vector<float> got = out.read();

    memcpy(bits, got.data(), sizeof(bits));
    for (size_t i = 0; i < 12; i++)
        if (i != 7)
            expect_int(bits[i], __float_as_uint(want[i]));
    expect_int(bits[7], 0x7fffffff);            /* the only NaN that arithmetic gives */
    expect_int(int(bits[12]), INT32_MIN);
    expect_int(bits[13], 0);
    expect_int(bits[14], 0);
    expect_int(bits[15], 0x41008000);
    expect_int(got[16] == 0.0f && got[17] == 1.0f, 1);
    expect_int(bits[18], __float_as_uint(one) << 16 | __float_as_uint(one) >> 16);
    expect_int(got[19] == 2.5f, 1);
}

/* Within the ISA's bounds, and not exact: whoever needs it to be shall fail here. */
void test_near()
{
    std::vector<float> x;
    int n_exact = 0;

    for (int i = 0; i < 256; i++)
        x.push_back(0.37f + float(i) * 0.11f);
    device_array<float> in(x), out(3 * x.size());

    expect_int(launch(near, 1, 256, 0, in.data, out.data), cudaSuccess);
    const std::vector<float> got = out.read();

    for (size_t i = 0; i < x.size(); i++) {
        const double wants[] = {std::exp2(double(x[i])), 1.0 / x[i], 1.0 / std::sqrt(double(x[i]))};
        const float reciprocal = float(wants[1]);
        const double unit = double(nextafterf(reciprocal, INFINITY)) - reciprocal;
        const double most[] = {wants[0] * 0x1p-22, unit, wants[2] * std::exp2(-22.9)};

        for (size_t k = 0; k < 3; k++) {
            const float y = got[k * x.size() + i];

            expect_true(std::fabs(y - wants[k]) <= most[k]);
            n_exact += y == float(wants[k]);
        }
    }
    expect_true(n_exact > 0 && n_exact < 700);
}

void test_product()
{
    std::vector<__half> a, b;

    for (int i = 0; i < 256; i++)
        a.push_back(__float2half_rn(float(i * 7 % 19 - 9)));
    for (int i = 0; i < 128; i++)
        b.push_back(__float2half_rn(float(i * 5 % 17 - 8)));
    device_array<__half> in_a(a), in_b(b);
    device_array<float> out(128);

    expect_int(launch(product, 1, 32, 0, in_a.data, in_b.data, out.data), cudaSuccess);
    const std::vector<float> got = out.read();

    for (size_t m = 0; m < 16; m++)
        for (size_t n = 0; n < 8; n++) {
            float want = 0;

            for (size_t k = 0; k < 16; k++)
                want += float(a[m * 16 + k]) * float(b[k * 8 + n]);
            expect_int(int(got[m * 8 + n]), int(2 * want));
        }
}

void test_lanes()
{
    device_array<int> out(32);

    expect_int(launch(butterfly, 1, 32, 0, out.data), cudaSuccess);
    const std::vector<int> got = out.read();

    for (int i = 0; i < 32; i++)
        expect_int(got[size_t(i)], i ^ 5);
}

void test_copy()
{
    device_array<int> in({1, 2, 3, 4}), out(5);

    expect_int(launch(copy_part, 1, 1, 16, in.data, out.data), cudaSuccess);
    const std::vector<int> got = out.read();

    expect_int(got[0], 1);
    expect_int(got[1] | got[2] | got[3], 0);
    expect_int(got[4], -1);
}

/* What test_profile.py looks at. */
void test_strides()
{
    device_array<int> in(32 * 32);

    expect_int(launch(strided, 2, 64, 256, in.data, 4u), cudaSuccess);
    expect_int(launch(strided, 1, 32, 4096, in.data, 128u), cudaSuccess);
}

/* The launch fails, saying so. The device works again after a reset. */
template <class... P, class... A>
void expect_refused(cudaError_t error, const char *part, void (*kernel)(P...), unsigned n_threads,
                    A... args)
{
    expect_int(launch(kernel, 1, n_threads, 64, args...), error);
    const std::string why = sim::last_failure();

    expect_contains(why.c_str(), part);
    expect_int(cudaDeviceReset(), cudaSuccess);
    cudaGetLastError();
}

/* 64 bytes of the device's memory, which a reset takes back. */
char *some_memory()
{
    void *data = nullptr;

    expect_int(cudaMalloc(&data, 64), cudaSuccess);
    return static_cast<char *>(data);
}

void test_addresses()
{
    expect_refused(cudaErrorMisalignedAddress, "thread (0, 0, 0): ld.global.v4.u32 (line",
                   load_global, 1, some_memory() + 8);
    expect_refused(cudaErrorIllegalAddress, "are in no allocation", load_global, 1,
                   some_memory() + 64);
    expect_refused(cudaErrorIllegalAddress, "16 bytes at 0x400 are in no", load_global, 1,
                   reinterpret_cast<char *>(1024));
    expect_refused(cudaErrorMisalignedAddress, "st.global.v2.u64", store_global, 1,
                   some_memory() + 24);
    /* The 64 bytes of dynamic shared memory lie at 1040, by their alignment no rounder. */
    expect_int(launch(load_shared, 1, 1, 64, 1040u), cudaSuccess);
    expect_int(launch(load_shared, 1, 1, 64, 1088u), cudaSuccess);
    expect_refused(cudaErrorIllegalAddress, "are not in shared memory", load_shared, 1, 1104u);
    expect_refused(cudaErrorIllegalAddress, "are not in shared memory", load_shared, 1, 0u);
    expect_refused(cudaErrorMisalignedAddress, "ld.shared.v4.u32", load_shared, 1, 1048u);
    expect_refused(cudaErrorMisalignedAddress, "ldmatrix", load_matrix, 32, 1048u);
    expect_refused(cudaErrorMisalignedAddress, "cp.async", copy_to_shared, 1, 1044u,
                   some_memory());
    expect_refused(cudaErrorMisalignedAddress, "cp.async", copy_to_shared, 1, 1040u,
                   some_memory() + 4);
    expect_refused(cudaErrorIllegalAddress, "cp.async", copy_to_shared, 1, 1104u, some_memory());
    expect_refused(cudaErrorLaunchFailure, "st.global.u16", not_constant, 1,
                   reinterpret_cast<int *>(some_memory()));
}

void test_warps()
{
    expect_refused(cudaErrorLaunchFailure, "where others of the warp came to bar.sync",
                   two_barriers, 32);
    expect_refused(cudaErrorLaunchFailure, "others of which are at another", two_products, 32);
    expect_refused(cudaErrorLaunchFailure, "of which 0x0000007f do not come", absent_lanes, 32);
    expect_refused(cudaErrorLaunchFailure, "of which 0xffff0000 do not come", load_matrix, 16,
                   1040u);
}

void test_launches()
{
    expect_refused(cudaErrorLaunchOutOfResources, "more threads", bounded, 33, twelve{});
    expect_refused(cudaErrorLaunchFailure, "trap (line", bounded, 32, twelve{});
    expect_refused(cudaErrorNoKernelImageForDevice, "unknown_to_ptx", unknown_to_ptx, 1, twelve{});
}

}

TEST_MAIN(
    {"integers", test_integers},
    {"floats", test_floats},
    {"near", test_near},
    {"product", test_product},
    {"lanes", test_lanes},
    {"copy", test_copy},
    {"strides", test_strides},
    {"addresses", test_addresses},
    {"warps", test_warps},
    {"launches", test_launches},
)
