/* SPDX-License-Identifier: MIT */
/* Modules that use matrix units: where there are none, and what the emulation makes of operands. */

#include "tests/simulators/xpu/tests/bench.h"

#include "base/macro.h"

enum { M = 8, K = 16, LANES = 8, SUBGROUPS = 4, ITEMS = LANES * SUBGROUPS };

/* One product, as mathematics has it: out = a * b + sums. */
struct product {
    float a[M][K], b[K][LANES], sums[M][LANES];
};

/* Of each item: what it gives, and what it gets of products of 8, 4, 2 and 1 rows. */
struct operands {
    uint16_t a[ITEMS][M][2], b[ITEMS][K / 2][2];
    float sums[ITEMS][M], out[ITEMS][16];
};

/* Of values that both types can hold. */
static uint16_t bits_of(float x, bool is_bf16)
{
    union {
        float value;
        uint32_t bits;
    } same = { x };

    if (is_bf16)
        return (uint16_t)(same.bits >> 16);
    if (x == 0)
        return 0;
    const uint32_t exponent = (same.bits >> 23 & 0xff) - 112;
    return (uint16_t)((same.bits >> 16 & 0x8000) | exponent << 10 | (same.bits >> 13 & 0x3ff));
}

/* No two factors are alike in sign, and none but one of a row and column is where another is. */
static void make(struct product *p, int seed)
{
    for (int r = 0; r < M; r++)
        for (int k = 0; k < K; k++)
            p->a[r][k] = (float)((r * 37 + k * 11 + seed * 5) % 61 - 30) / 8;
    for (int k = 0; k < K; k++)
        for (int n = 0; n < LANES; n++)
            p->b[k][n] = (float)((k * 23 + n * 17 + seed * 7) % 53 - 26) / 4;
    for (int r = 0; r < M; r++)
        for (int n = 0; n < LANES; n++)
            p->sums[r][n] = (float)(r * 100 + n - 3 * seed);
}

static void lay_out(const struct product *p, int subgroup, bool is_bf16, struct operands *to)
{
    for (int n = 0; n < LANES; n++) {
        const int item = subgroup * LANES + n;
        for (int r = 0; r < M; r++) {
            to->a[item][r][0] = bits_of(p->a[r][2 * n], is_bf16);
            to->a[item][r][1] = bits_of(p->a[r][2 * n + 1], is_bf16);
            to->sums[item][r] = p->sums[r][n];
        }
        for (int k = 0; k < K; k++)
            to->b[item][k / 2][k % 2] = bits_of(p->b[k][n], is_bf16);
    }
}

static void check(const struct product *p, int subgroup, const struct operands *got)
{
    static const int first[] = { 0, 8, 12, 14 };        /* of what 8, 4, 2, 1 rows gave */

    for (int n = 0; n < LANES; n++) {
        for (int r = 0; r < M; r++) {
            float sum = p->sums[r][n];
            for (int k = 0; k < K; k++)
                sum += p->a[r][k] * p->b[k][n];
            for (int i = 0; i < 4 && r < M >> i; i++)
                expect_near(got->out[subgroup * LANES + n][first[i] + r], sum, 0);
        }
    }
}

static ze_result_t build(const struct bench *bench, ze_module_handle_t *ret_module)
{
    const ze_module_desc_t desc = bench_spirv(MATRIX_KERNEL);

    return zeModuleCreate(bench->context, bench->devices[0], &desc, ret_module, NULL);
}

static void multiply(const struct bench *bench, ze_kernel_handle_t kernel, int is_bf16)
{
    static struct product products[SUBGROUPS];
    struct operands *host = bench_alloc(bench, -1, sizeof(*host));
    struct operands *device = bench_alloc(bench, 0, sizeof(*device));
    ze_command_list_handle_t list = bench_immediate(bench, 0);
    const void *a = device->a, *b = device->b, *sums = device->sums, *out = device->out;
    const ze_group_count_t groups = { ITEMS / 16, 1, 1 };

    for (int i = 0; i < SUBGROUPS; i++) {
        make(&products[i], i);
        lay_out(&products[i], i, is_bf16, host);
    }
    bench_copy(bench, 0, device, host, sizeof(*host));
    expect_ok(zeKernelSetGroupSize(kernel, 16, 1, 1));
    bench_argument(kernel, 0, a);
    bench_argument(kernel, 1, b);
    bench_argument(kernel, 2, sums);
    bench_argument(kernel, 3, out);
    bench_argument(kernel, 4, is_bf16);
    expect_ok(zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL));
    bench_copy(bench, 0, host, device, sizeof(*host));
    for (int i = 0; i < SUBGROUPS; i++)
        check(&products[i], i, host);
    expect_ok(zeCommandListDestroy(list));
    expect_ok(zeMemFree(bench->context, device));
    expect_ok(zeMemFree(bench->context, host));
}

static void multiply_both(void)
{
    struct bench bench;
    ze_module_handle_t module;

    bench_init(&bench);
    expect_ok(build(&bench, &module));
    ze_kernel_handle_t kernel = bench_kernel(module, "multiply");
    multiply(&bench, kernel, 0);
    multiply(&bench, kernel, 1);
    expect_ok(zeKernelDestroy(kernel));
    expect_ok(zeModuleDestroy(module));
    bench_done(&bench);
}

static void test_emulated(void)
{
    bench_run(multiply_both, (const char *[]){ "VRT_XPU_DPAS=1", NULL }, 0, NULL);
}

static void be_refused(void)
{
    struct bench bench;
    ze_module_handle_t module;

    bench_init(&bench);
    expect_int(build(&bench, &module), ZE_RESULT_ERROR_MODULE_BUILD_FAILURE);
    bench_done(&bench);
}

static void test_absent(void)
{
    bench_run(be_refused, NULL, 0, NULL);
}

TEST_MAIN(
    { "emulated", test_emulated },
    { "absent", test_absent },
)
