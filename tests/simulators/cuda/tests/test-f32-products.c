/* SPDX-License-Identifier: MIT */

/*
 * usage: test-f32-products split|fma
 *
 * By what products of f32 are made on the simulated card, as its environment has it: by split TF32,
 * whose bits are others than those of FMA, or by FMA.
 */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/load.h"
#include "tests/unit/test.h"

#define N 64

/* y [N][N]: the product. */
static void multiply(bool fma, float *y)
{
    const struct load_params params = { .product = N, .device = "cuda:0", .fma = fma };
    struct vrt_error error = { 0 };
    struct load load = { 0 };

    expect_int(load_open(&load, &params, &error), 0);
    expect_int(load.y_bytes, N * N * sizeof(float));
    expect_int(load_run(&load), 0);
    expect_int(load_read(&load, y), 0);
    load_close(&load);
}

static void compare(bool same)
{
    static float usual[N * N], by_fma[N * N];
    float error = 0, largest = 0;

    multiply(false, usual);
    multiply(true, by_fma);
    for (int i = 0; i < N * N; i++) {
        error = fmaxf(error, fabsf(usual[i] - by_fma[i]));
        largest = fmaxf(largest, fabsf(by_fma[i]));
    }
    expect_true(largest > 1 && error < 2e-6f * largest);
    expect_int(memcmp(usual, by_fma, sizeof(usual)) == 0, same);
}

static void test_split(void)
{
    compare(false);
}

static void test_fma(void)
{
    compare(true);
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = { { "split", test_split }, { "fma", test_fma } };

    if (argc < 2)
        return 2;
    return test_main(argc, argv, cases, VRT_ARRAY_SIZE(cases));
}
