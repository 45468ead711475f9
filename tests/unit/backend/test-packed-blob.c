/* SPDX-License-Identifier: MIT */
/* workers/backend/packed-blob: where the elements of each param are, and what is between them. */

#include "tests/unit/test.h"

#include <stdint.h>

#include "backend/op/half.h"
#include "backend/packed-blob.h"
#include "base/macro.h"

enum { MAX_NUMBERS = 5 * 3 * 9, PARAMS = 6, PARAM_ALIGN_BYTES = 256 };

/* A matrix, a convolution, one that stays f32, a table of two dimensions, a vector. */
static const struct vrt_param shapes[PARAMS] = {
    { .n_dims = 2, .dims = { 5, 3 }, .use = VRT_PARAM_WEIGHT },
    { .n_dims = 4, .dims = { 5, 3, 3, 3 }, .use = VRT_PARAM_WEIGHT },
    { .n_dims = 2, .dims = { 3, 5 }, .use = VRT_PARAM_WEIGHT_F32 },
    { .n_dims = 4, .dims = { 4, 2, 3, 3 }, .use = VRT_PARAM_WEIGHT_DEFORM },
    { .n_dims = 2, .dims = { 4, 7 }, .use = VRT_PARAM_TABLE },
    { .n_dims = 1, .dims = { 11 }, .use = VRT_PARAM_WEIGHT },
};

/* Packed weights as vrt_packed_new() would have them, of params that count their elements. */
struct bench {
    float numbers[MAX_NUMBERS];
    struct vrt_param params[PARAMS];
    struct vrt_packed_place places[PARAMS];
    struct vrt_pack pack;
    struct vrt_packed *packed;
};

static void setup(struct bench *bench, const struct vrt_packed_rule *rule, enum vrt_dtype dtype)
{
    *bench = (struct bench){ .pack = { bench->params, PARAMS, dtype } };
    for (int i = 0; i < MAX_NUMBERS; i++)
        bench->numbers[i] = (float)(i + 1);
    for (int i = 0; i < PARAMS; i++) {
        bench->params[i] = shapes[i];
        bench->params[i].data = bench->numbers;
    }
    expect_int(vrt_packed_blob_new(rule, &bench->pack, bench->places, &bench->packed), 0);
    bench->packed->places = bench->places;
    bench->packed->n_params = PARAMS;
}

static double element(const struct bench *bench, int param, enum vrt_dtype dtype, size_t at)
{
    const char *bytes = vrt_packed_blob_bytes(bench->packed) + bench->places[param].offset_bytes;
    uint16_t half;
    float x;

    memcpy(&half, bytes + at * sizeof(half), sizeof(half));
    if (dtype == VRT_DTYPE_F32)
        memcpy(&x, bytes + at * sizeof(x), sizeof(x));
    else
        x = dtype == VRT_DTYPE_F16 ? vrt_f32_from_f16(half) : vrt_f32_from_bf16(half);
    return (double)x;
}

/* Each of a param's elements stands once, and what else there is to its place's end is zeros. */
static void expect_param(const struct bench *bench, int i, enum vrt_dtype dtype,
                         const size_t strides[3])
{
    const struct vrt_param *param = &bench->params[i];
    const bool is_matrix = param->n_dims > 1 && param->use != VRT_PARAM_TABLE;
    size_t sizes[3] = { 1, 1, 1 };
    const size_t n = bench->places[i].size_bytes / vrt_dtype_size(dtype);
    double sum = 0, wanted = 0;
    int number = 0;

    for (int k = 0; k < param->n_dims; k++)
        sizes[is_matrix ? VRT_MIN(k, 2) : 2] *= (size_t)param->dims[k];
    for (size_t o = 0; o < sizes[0]; o++)
        for (size_t k = 0; k < sizes[1]; k++)
            for (size_t t = 0; t < sizes[2]; t++) {
                const size_t at = o * strides[0] + k * strides[1] + t * strides[2];
                expect_true(at < n);
                expect_near(element(bench, i, dtype, at), ++number, 0);
                wanted += number;
            }
    for (size_t at = 0; at < n; at++)
        sum += element(bench, i, dtype, at);
    expect_near(sum, wanted, 0);
}

struct expected {
    bool is_f32;                    /* in a replica of any type */
    size_t strides[3];              /* of outputs, inputs, taps */
};

static void expect_blob(const struct vrt_packed_rule *rule, const struct expected *expected)
{
    static const enum vrt_dtype dtypes[] = { VRT_DTYPE_F32, VRT_DTYPE_F16, VRT_DTYPE_BF16 };

    for (size_t d = 0; d < VRT_ARRAY_SIZE(dtypes); d++) {
        struct bench bench;
        size_t end = 0;

        setup(&bench, rule, dtypes[d]);
        for (int i = 0; i < PARAMS; i++) {
            expect_int(bench.places[i].offset_bytes, end);
            expect_int(bench.places[i].size_bytes % PARAM_ALIGN_BYTES, 0);
            end += bench.places[i].size_bytes;
            expect_int(vrt_packed_blob_fill(bench.packed, &bench.pack, (size_t)i), 0);
            expect_true(bench.places[i].data ==
                        vrt_packed_blob_bytes(bench.packed) + bench.places[i].offset_bytes);
        }
        for (int i = 0; i < PARAMS; i++)
            expect_param(&bench, i, expected[i].is_f32 ? VRT_DTYPE_F32 : dtypes[d],
                         expected[i].strides);
        vrt_packed_blob_free(bench.packed);
    }
}

/* Outputs last, and inputs last. */
static void test_orders(void)
{
    static const struct vrt_packed_rule rules[] = { { VRT_PACKED_TAPS_INPUTS_OUTPUTS, 16, 0 },
                                                    { VRT_PACKED_OUTPUTS_TAPS_INPUTS, 8, 0 } };
    static const struct expected expected[][PARAMS] = {
        { { false, { 1, 16, 0 } }, { false, { 1, 16, 48 } }, { true, { 1, 16, 0 } },
          { false, { 1, 16, 32 } }, { true, { 0, 0, 1 } }, { true, { 0, 0, 1 } } },
        { { false, { 8, 1, 0 } }, { false, { 72, 1, 8 } }, { true, { 8, 1, 0 } },
          { false, { 72, 1, 8 } }, { true, { 0, 0, 1 } }, { true, { 0, 0, 1 } } },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(rules); i++)
        expect_blob(&rules[i], expected[i]);
}

/* Slabs of two of three inputs: the second has the third one, in its second place. */
static void test_slabs(void)
{
    static const struct vrt_packed_rule rule = { VRT_PACKED_SLABS, 16, 2 };
    struct bench bench;

    for (int is_f16 = 0; is_f16 < 2; is_f16++) {
        const enum vrt_dtype dtype = is_f16 ? VRT_DTYPE_F16 : VRT_DTYPE_F32;
        double sum = 0, wanted = 0;
        setup(&bench, &rule, dtype);
        expect_int(vrt_packed_blob_fill(bench.packed, &bench.pack, 1), 0);
        for (int o = 0; o < 5; o++)
            for (int k = 0; k < 3; k++)
                for (int t = 0; t < 9; t++) {
                    const int place = k == 0 ? 0 : 1, slab = 2 * t + (k == 2);
                    const int at = 32 * slab + (is_f16 ? 2 * o + place : 16 * place + o);
                    const int number = (o * 3 + k) * 9 + t + 1;
                    expect_near(element(&bench, 1, dtype, (size_t)at), number, 0);
                    wanted += number;
                }
        for (size_t at = 0; at < bench.places[1].size_bytes / vrt_dtype_size(dtype); at++)
            sum += element(&bench, 1, dtype, at);
        expect_near(sum, wanted, 0);
        vrt_packed_blob_free(bench.packed);
    }
}

/* What devices are told of a param is what was packed, whether or not its numbers are at hand. */
static void test_layout(void)
{
    static const struct vrt_packed_rule rule = { VRT_PACKED_OUTPUTS_TAPS_INPUTS, 8, 0 };
    struct vrt_packed_layout layout = vrt_packed_layout_of(&rule, &shapes[1], VRT_DTYPE_F16);

    expect_int(layout.dtype, VRT_DTYPE_F16);
    expect_int(layout.taps, 9);
    expect_int(layout.output_stride, 72);
    expect_int(layout.n_elements, 5 * 72);
    layout = vrt_packed_layout_of(&rule, &shapes[4], VRT_DTYPE_F16);
    expect_int(layout.dtype, VRT_DTYPE_F32);
    expect_int(layout.taps, 28);
    expect_int(layout.output_stride, 28);
    expect_int(layout.n_elements, 28);
}

/* Of no params there is a block, of no bytes. */
static void test_nothing(void)
{
    static const struct vrt_packed_rule rule = { VRT_PACKED_OUTPUTS_TAPS_INPUTS, 8, 0 };
    const struct vrt_pack pack = { .dtype = VRT_DTYPE_F32 };
    struct vrt_packed *packed = NULL;

    expect_int(vrt_packed_blob_new(&rule, &pack, NULL, &packed), 0);
    expect_true(vrt_packed_blob_bytes(packed));
    vrt_packed_blob_free(packed);
}

TEST_MAIN(
    { "orders", test_orders },   { "slabs", test_slabs },
    { "layout", test_layout },   { "nothing", test_nothing },
)
