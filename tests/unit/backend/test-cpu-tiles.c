/* SPDX-License-Identifier: MIT */
/* backend/cpu/products/tiles: products by tiles in C, and AMX's, which have to be the same bits. */

#include "tests/unit/test.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "backend/cpu/isa/tiles.h"
#include "backend/cpu/products/tiles/tiles.h"
#include "backend/op/half.h"
#include "base/macro.h"

typedef void (*multiply_fn)(const struct vrt_tiles_block *block);

void vrt_cpu_base_split_tiles_product(const struct vrt_tiles_block *block);

/* NULL where the compiler doesn't know AMX. */
void vrt_cpu_avx512_tiles_tiles_product(const struct vrt_tiles_block *block)
    __attribute__((weak));
void vrt_cpu_avx512_split_tiles_product(const struct vrt_tiles_block *block)
    __attribute__((weak));
void vrt_cpu_avx512_tiles_product_end(void) __attribute__((weak));

enum { MOST_ROWS = 48, COLUMNS = 64, MOST_DEPTH = 600, STEP = COLUMNS + 16, GUARD = 0x7fc12345 };

/* A product of w [rows][depth] and x [depth][COLUMNS]; parts: 2 where numbers are split. */
struct product {
    int rows, columns, depth, parts;
    float w[MOST_ROWS][MOST_DEPTH], x[MOST_DEPTH][COLUMNS];
    uint32_t w_units[MOST_ROWS * MOST_DEPTH], x_units[MOST_DEPTH * COLUMNS];    /* whole steps */
    float sums[MOST_ROWS][STEP];
};

static float random_number(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    return (float)(*state >> 8) * 0x1p-23f - 1;
}

/* Puts number k of a run of pairs, and what bf16 leaves of it, where `parts` of them stand. */
static void put(uint32_t *unit, int k, float number, int parts, size_t step)
{
    for (int part = 0; part < parts; part++) {
        const uint16_t half = vrt_bf16_from_f32(number);

        unit[(size_t)part * step] |= (uint32_t)half << k % 2 * 16;
        number -= vrt_f32_from_bf16(half);
    }
}

static void pack(struct product *p)
{
    const size_t units = (size_t)vrt_unit_count(p->depth), parts = (size_t)p->parts;

    memset(p->w_units, 0, sizeof(p->w_units));
    memset(p->x_units, 0, sizeof(p->x_units));
    for (int k = 0; k < p->depth; k++) {
        for (int i = 0; i < p->rows; i++)
            put(&p->w_units[(size_t)i * units * parts + (size_t)k / 2], k, p->w[i][k], p->parts,
                units);
        for (int t = 0; t < COLUMNS; t++)
            put(&p->x_units[(size_t)(k / 2 * p->parts) * COLUMNS + (size_t)t], k, p->x[k][t],
                p->parts, COLUMNS);
    }
}

static void fill(struct product *p, int rows, int columns, int depth, int parts)
{
    uint32_t state = (uint32_t)(rows * 1000 + depth);

    p->rows = rows;
    p->columns = columns;
    p->depth = depth;
    p->parts = parts;
    for (int k = 0; k < depth; k++) {
        for (int i = 0; i < rows; i++)
            p->w[i][k] = random_number(&state);
        for (int t = 0; t < COLUMNS; t++)
            p->x[k][t] = random_number(&state);
    }
    pack(p);
}

/* Runs it, and looks at what surrounds the sums. */
static void run(struct product *p, multiply_fn multiply)
{
    const int units = vrt_unit_count(p->depth);
    const struct vrt_tiles_block block = {
        .product = {
            .w = p->w_units,
            .w_row = (size_t)(units * p->parts),
            .x = p->x_units,
            .x_step = COLUMNS,
            .n_units = units,
        },
        .rows = p->rows,
        .columns = p->columns,
        .sums = p->sums[0],
        .sums_step = STEP,
    };
    const int written = (p->columns + 15) / 16 * 16;

    for (int i = 0; i < MOST_ROWS; i++)
        for (int t = 0; t < STEP; t++)
            p->sums[i][t] = vrt_f32_from_bits(GUARD);
    multiply(&block);
    for (int i = 0; i < MOST_ROWS; i++)
        for (int t = i < p->rows ? written : 0; t < STEP; t++)
            expect_int(vrt_f32_bits(p->sums[i][t]), GUARD);
}

/* The error's norm over the sums'. */
static double error_of(const struct product *p)
{
    double error = 0, norm = 0;

    for (int i = 0; i < p->rows; i++)
    for (int t = 0; t < p->columns; t++) {
        double sum = 0;

        for (int k = 0; k < p->depth; k++)
            sum += (double)p->w[i][k] * (double)p->x[k][t];
        error += (sum - (double)p->sums[i][t]) * (sum - (double)p->sums[i][t]);
        norm += sum * sum;
    }
    return sqrt(error / norm);
}

/* All that edges may be: of rows, columns, and of the last step. */
static const int sizes[][3] = {     /* rows, columns, depth */
    { 1, 1, 1 },    { 1, 64, 2 },   { 15, 16, 31 },  { 16, 17, 32 },  { 17, 33, 33 },
    { 30, 64, 64 }, { 48, 64, 65 }, { 47, 49, 180 }, { 45, 64, 180 }, { 16, 64, 192 },
    { 48, 64, 192 }, { 16, 30, 540 },
};

static void test_sums(void)
{
    struct product *p = calloc(1, sizeof(*p));

    expect_true(p != NULL);
    for (size_t s = 0; s < VRT_ARRAY_SIZE(sizes); s++) {
        fill(p, sizes[s][0], sizes[s][1], sizes[s][2], 1);
        run(p, vrt_tiles_product);
        expect_near(error_of(p), 0, 4e-3);
        fill(p, sizes[s][0], sizes[s][1], sizes[s][2], 2);
        run(p, vrt_cpu_base_split_tiles_product);
        expect_near(error_of(p), 0, 8e-6);
    }
    free(p);
}

/* What a step does first and last, which numbers of unlike sizes tell. */
static void test_order(void)
{
    struct product *p = calloc(1, sizeof(*p));

    expect_true(p != NULL);
    fill(p, 1, 16, 34, 1);
    for (int k = 0; k < 34; k++) {
        p->w[0][k] = 0;
        for (int t = 0; t < COLUMNS; t++)
            p->x[k][t] = 1;
    }
    /* First numbers apart from second ones: 1 isn't rounded away where 2^24 is the other's. */
    p->w[0][0] = 0x1p24f;
    p->w[0][1] = 1;
    p->w[0][3] = 1;
    pack(p);
    run(p, vrt_tiles_product);
    expect_true(p->sums[0][0] == 0x1p24f + 2);
    /* A step's sum begins from zero, not from what the steps before have made. */
    p->w[0][1] = p->w[0][3] = 0;
    p->w[0][32] = p->w[0][33] = 1;
    pack(p);
    run(p, vrt_tiles_product);
    expect_true(p->sums[0][15] == 0x1p24f + 2);
    /* Ties go to the even one; denormals are zeros. */
    p->w[0][33] = 0;
    pack(p);
    run(p, vrt_tiles_product);
    expect_true(p->sums[0][15] == 0x1p24f);
    p->w[0][0] = 0x1p-127f;
    p->w[0][32] = 0;
    pack(p);
    run(p, vrt_tiles_product);
    expect_true(p->sums[0][0] == 0);
    free(p);
}

static void compare(struct product *p, multiply_fn in_c, multiply_fn amx)
{
    float want[MOST_ROWS][STEP];

    run(p, in_c);
    memcpy(want, p->sums, sizeof(want));
    run(p, amx);
    expect_int(memcmp(want, p->sums, sizeof(want)), 0);
}

static void test_amx(void)
{
    if (!vrt_cpu_amx_tiles()) {
        printf("no AMX here: nothing is compared\n");
        return;
    }
    struct product *p = calloc(1, sizeof(*p));
    expect_true(p != NULL);
    for (size_t s = 0; s < VRT_ARRAY_SIZE(sizes); s++) {
        fill(p, sizes[s][0], sizes[s][1], sizes[s][2], 1);
        compare(p, vrt_tiles_product, vrt_cpu_avx512_tiles_tiles_product);
        fill(p, sizes[s][0], sizes[s][1], sizes[s][2], 2);
        compare(p, vrt_cpu_base_split_tiles_product, vrt_cpu_avx512_split_tiles_product);
    }
    vrt_cpu_avx512_tiles_product_end();
    free(p);
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        { "sums", test_sums },
        { "order", test_order },
        { "amx", test_amx },
    };

    return test_main(argc, argv, cases, VRT_ARRAY_SIZE(cases));
}
