/* SPDX-License-Identifier: MIT */
/* What is read of a module in SPIR-V, of broken ones too. */

#include "tests/unit/test.h"

#include <stdint.h>

#include "base/macro.h"
#include "tests/simulators/xpu/modules/spirv.h"

static uint32_t words[16384];
static size_t n_bytes;

static void load(void)
{
    FILE *file = fopen(KERNELS, "rb");
    expect_true(file != NULL);
    n_bytes = fread(words, 1, sizeof(words), file);
    fclose(file);
    expect_true(n_bytes > 100 && n_bytes < sizeof(words));
}

static const struct drv_kernel_info *find(const struct drv_spirv *spirv, const char *name)
{
    for (uint32_t i = 0; i < spirv->n_kernels; i++) {
        if (strcmp(spirv->kernels[i].name, name) == 0)
            return &spirv->kernels[i];
    }
    test_fail("there is no kernel %s", name);
}

static void expect_argument(const struct drv_kernel_info *kernel, int i,
                            enum drv_argument_kind kind, uint32_t size)
{
    expect_int(kernel->arguments[i].kind, kind);
    expect_int(kernel->arguments[i].n_bytes, size);
}

static void test_kernels(void)
{
    struct drv_spirv spirv;
    load();
    expect_true(drv_spirv_parse(words, n_bytes, &spirv));
    expect_int(spirv.n_kernels, 5);
    expect_str(spirv.missing, "");

    const struct drv_kernel_info *sum = find(&spirv, "sum");
    expect_int(sum->n_arguments, 3);
    expect_argument(sum, 0, DRV_ARGUMENT_POINTER, 8);
    expect_argument(sum, 1, DRV_ARGUMENT_POINTER, 8);
    expect_int(sum->arguments[2].kind, DRV_ARGUMENT_LOCAL);
    expect_int(sum->group_size[0], 64);
    expect_int(sum->local_bytes, 0);

    const struct drv_kernel_info *values = find(&spirv, "values");
    expect_int(values->n_arguments, 4);
    expect_argument(values, 1, DRV_ARGUMENT_VALUE, 4);
    expect_argument(values, 2, DRV_ARGUMENT_VALUE, 16);
    expect_argument(values, 3, DRV_ARGUMENT_VALUE, 2);
    expect_int(values->group_size[0], 0);

    const struct drv_kernel_info *turn = find(&spirv, "turn");
    expect_int(turn->n_arguments, 3);
    expect_argument(turn, 2, DRV_ARGUMENT_VALUE, 24);
    expect_int(turn->group_size[1], 2);
    expect_int(turn->local_bytes, 64);
    free(spirv.kernels);
}

/* Cut anywhere it is refused, or has fewer kernels; it is never read beyond its end. */
static void test_cut(void)
{
    load();
    for (size_t n = 0; n < n_bytes; n++) {
        struct drv_spirv spirv = { 0 };
        void *copy = malloc(n + 1);
        memcpy(copy, words, n);
        if (drv_spirv_parse(copy, n, &spirv))
            expect_true(n % 4 == 0 && n >= 20);
        free(spirv.kernels);
        free(copy);
    }
}

/* One word wrong in every place, in several ways: whatever is made of it, nothing breaks. */
static void test_garbled(void)
{
    static const uint32_t garbage[] = { 0, 1, 0xffffffff, 0x0001ffff, 0x40000000, 0x00200037 };
    load();
    size_t n_read = 0;
    for (size_t at = 0; at < n_bytes / 4; at++) {
        const uint32_t right = words[at];
        for (size_t i = 0; i < VRT_ARRAY_SIZE(garbage); i++) {
            struct drv_spirv spirv = { 0 };
            words[at] = garbage[i];
            n_read += drv_spirv_parse(words, n_bytes, &spirv);
            free(spirv.kernels);
        }
        words[at] = right;
    }
    expect_true(n_read > 0);
}

static void test_missing(void)
{
    uint32_t module[] = { 0x07230203, 0x10000, 0, 8, 0, 2 << 16 | 17, 6 };
    struct drv_spirv spirv;
    expect_true(drv_spirv_parse(module, sizeof(module), &spirv));
    expect_str(spirv.missing, "");
    module[6] = 5568;
    expect_true(drv_spirv_parse(module, sizeof(module), &spirv));
    expect_str(spirv.missing, "Intel's subgroups");
    /* A function that is imported, of Intel's. */
    uint32_t import[13] = { 0x07230203, 0x10000, 0, 8, 0, 8 << 16 | 71, 3, 41 };
    memcpy(&import[8], "intel_sub_group", 16);
    expect_true(drv_spirv_parse(import, sizeof(import), &spirv));
    expect_str(spirv.missing, "intel_sub_group");
    expect_str(spirv.matrix, "");
    /* One of matrix units is told apart. */
    uint32_t matrix[17] = { 0x07230203, 0x10000, 0, 8, 0, 12 << 16 | 71, 3, 41 };
    memcpy(&matrix[8], "intel_sub_group16_matrix_mad_k16", 33);
    expect_true(drv_spirv_parse(matrix, sizeof(matrix), &spirv));
    expect_str(spirv.missing, "");
    expect_str(spirv.matrix, "intel_sub_group16_matrix_mad_k16");
    /* A subgroup's own number can't be had, of which an item asks. */
    uint32_t builtin[9] = { 0x07230203, 0x10000, 0, 8, 0, 4 << 16 | 71, 3, 11, 41 };
    expect_true(drv_spirv_parse(builtin, sizeof(builtin), &spirv));
    expect_str(spirv.missing, "subgroups");
}

TEST_MAIN(
    { "kernels", test_kernels },
    { "cut", test_cut },
    { "garbled", test_garbled },
    { "missing", test_missing },
)
