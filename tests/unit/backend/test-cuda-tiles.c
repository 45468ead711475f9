/* SPDX-License-Identifier: MIT */

/* How products of the CUDA backend are cut into tiles. */

#include "backend/cuda/kernels/f32-products.h"
#include "backend/cuda/kernels/products/product-tiles.h"
#include "base/macro.h"
#include "tests/unit/test.h"

static const struct vrt_cuda_tile rows[] = { VRT_CUDA_ROWS_TILES(VRT_CUDA_TILE) };
static const struct vrt_cuda_tile conv[] = { VRT_CUDA_CONV_TILES(VRT_CUDA_TILE) };
static const struct vrt_cuda_tile tf32[] = { VRT_CUDA_TF32_TILES(VRT_CUDA_TILE) };
static const struct vrt_cuda_tile split[] = { VRT_CUDA_SPLIT_TILES(VRT_CUDA_TILE) };
static const struct vrt_cuda_tile f32[] = { VRT_CUDA_F32_TILES(VRT_CUDA_TILE) };
static const struct vrt_cuda_tile deform[] = { VRT_CUDA_DEFORM_TILES(VRT_CUDA_TILE) };
static const struct vrt_cuda_tile deform_split[] = { VRT_CUDA_DEFORM_SPLIT_TILES(VRT_CUDA_TILE) };
static const struct vrt_cuda_tile deform_f32[] = { VRT_CUDA_DEFORM_F32_TILES(VRT_CUDA_TILE) };

#define KiB ((size_t)1024)

/* Each list with each way to gather that uses it. */
static const struct set {
    const struct vrt_cuda_tile *tiles;
    int n;
    enum vrt_cuda_gather gather;
    bool is_f32;
} sets[] = {
    { rows, VRT_ARRAY_SIZE(rows), VRT_CUDA_GATHER_ROWS, false },
    { conv, VRT_ARRAY_SIZE(conv), VRT_CUDA_GATHER_PATCHES, false },
    { tf32, VRT_ARRAY_SIZE(tf32), VRT_CUDA_GATHER_ROWS, false },
    { tf32, VRT_ARRAY_SIZE(tf32), VRT_CUDA_GATHER_PATCHES, false },
    { f32, VRT_ARRAY_SIZE(f32), VRT_CUDA_GATHER_ROWS, true },
    { f32, VRT_ARRAY_SIZE(f32), VRT_CUDA_GATHER_PATCHES, true },
    { deform, VRT_ARRAY_SIZE(deform), VRT_CUDA_GATHER_SAMPLES, false },
    { split, VRT_ARRAY_SIZE(split), VRT_CUDA_GATHER_ROWS, false },
    { split, VRT_ARRAY_SIZE(split), VRT_CUDA_GATHER_PATCHES, false },
    { deform_split, VRT_ARRAY_SIZE(deform_split), VRT_CUDA_GATHER_SAMPLES, false },
    { deform_f32, VRT_ARRAY_SIZE(deform_f32), VRT_CUDA_GATHER_SAMPLES, true },
};

static struct vrt_cuda_product_shape shape_of(const struct set *set, int d, int h, int w, int n)
{
    return (struct vrt_cuda_product_shape){
        .gather = set->gather,
        .is_f32 = set->is_f32,
        .n_places = (int64_t)d * h * w,
        .d = d,
        .h = h,
        .w = w,
        .n_out = n,
        .n_groups = 1,
        .kernel = set->gather == VRT_CUDA_GATHER_PATCHES ? 3 : 1,
    };
}

/* What kernels take for granted. */
static void test_tiles(void)
{
    for (size_t s = 0; s < VRT_ARRAY_SIZE(sets); s++)
        for (int i = 0; i < sets[s].n; i++) {
            const struct vrt_cuda_tile *tile = &sets[s].tiles[i];
            const int threads = 32 * tile->warps_m * tile->warps_n;
            /* Runs of 16 rows; a warp stashes 32 at a time, and has pairs of 8 columns. */
            expect_int(tile->m % VRT_CUDA_PATCH_WIDTH, 0);
            expect_true(sets[s].is_f32 || tile->m / tile->warps_m % VRT_CUDA_FINISH_ROWS == 0);
            expect_int(tile->n / tile->warps_n % 16, 0);
            expect_true(!sets[s].is_f32 || threads == 128);
            /* Every thread gathers as many chunks, of one column, of the rows. */
            expect_int(tile->m * VRT_CUDA_SLAB_CHUNKS % threads, 0);
            /* A patch's next slab has come before the last tap is done. */
            expect_true(tile->stages >= 2 && tile->stages - 1 <= 9);
        }
}

/* Something fits everywhere: 64 KiB are all that sm_75 has. */
static void test_smallest_device(void)
{
    for (size_t s = 0; s < VRT_ARRAY_SIZE(sets); s++)
        for (int kernel = 3; kernel <= 7; kernel += 2)
            for (int n = 1; n <= 1024; n += 7) {
                struct vrt_cuda_product_shape shape = shape_of(&sets[s], 2, 270, 480, n);
                if (sets[s].gather == VRT_CUDA_GATHER_PATCHES)
                    shape.kernel = kernel;
                const int i = vrt_cuda_tile_choose(sets[s].tiles, sets[s].n, &shape, 64 * KiB);
                if (i < 0)
                    test_fail("nothing fits for set %zu, K %d, N %d", s, kernel, n);
                expect_true(vrt_cuda_tile_shared_bytes(&sets[s].tiles[i], &shape) <= 64 * KiB);
            }
}

static void test_nothing_fits(void)
{
    const struct vrt_cuda_product_shape shape = shape_of(&sets[0], 1, 64, 64, 64);

    expect_int(vrt_cuda_tile_choose(rows, VRT_ARRAY_SIZE(rows), &shape, 8 * KiB), -1);
}

/* Blocks cover all that there is, and none is idle altogether. */
static void test_covers(void)
{
    static const int sizes[][3] = {
        { 1, 1, 1 }, { 1, 5, 7 }, { 3, 17, 33 }, { 1, 8, 16 }, { 2, 180, 320 }, { 1, 9, 17 },
    };

    for (size_t s = 0; s < VRT_ARRAY_SIZE(sets); s++)
        for (size_t k = 0; k < VRT_ARRAY_SIZE(sizes); k++)
            for (int i = 0; i < sets[s].n; i++) {
                const struct vrt_cuda_tile *tile = &sets[s].tiles[i];
                const int d = sizes[k][0], h = sizes[k][1], w = sizes[k][2];
                const struct vrt_cuda_product_shape shape = shape_of(&sets[s], d, h, w, 33);
                const int64_t m = vrt_cuda_tile_count_m(tile, &shape);
                expect_true(m * tile->m >= shape.n_places);
                expect_true(vrt_cuda_tile_count_n(tile, &shape) * tile->n >= 33);
                expect_true((vrt_cuda_tile_count_n(tile, &shape) - 1) * tile->n < 33);
                if (sets[s].gather != VRT_CUDA_GATHER_PATCHES)
                    expect_true((m - 1) * tile->m < shape.n_places);
                else
                    expect_int(m % d, 0);
            }
}

/* 9 rows by 17 columns are 2 by 2 patches of 8 by 16, in each of 3 frames. */
static void test_patches(void)
{
    const struct vrt_cuda_tile tile = { 128, 64, 2, 2, 3, 75 };
    const struct vrt_cuda_product_shape shape = shape_of(&sets[1], 3, 9, 17, 65);

    expect_int(vrt_cuda_tile_count_m(&tile, &shape), 12);
    expect_int(vrt_cuda_tile_blocks(&tile, &shape), 24);
    expect_int(vrt_cuda_tile_rows(&tile, VRT_CUDA_GATHER_PATCHES, 3), 10 * 18);
    expect_int(vrt_cuda_tile_rows(&tile, VRT_CUDA_GATHER_PATCHES, 7), 14 * 22);
    expect_int(vrt_cuda_tile_shared_bytes(&tile, &shape),
               128 * 16 + 8 * 180 + 80 * (2 * 180 + 3 * 64));
}

static void test_choices(void)
{
    static const struct {
        int set, d, h, w, n_out, m, n;
    } cases[] = {
        { 1, 1, 720, 1280, 64, 256, 64 },       /* Compact's body */
        { 1, 1, 720, 1280, 12, 128, 16 },       /* its end */
        { 1, 1, 720, 1280, 32, 256, 32 },       /* ESRGAN's growth */
        { 1, 6, 180, 320, 120, 128, 128 },      /* VRT's features */
        { 1, 6, 23, 40, 120, 64, 64 },          /* small pictures: more blocks */
        { 0, 6, 180, 320, 120, 128, 128 },
        { 0, 6, 180, 320, 180, 128, 64 },       /* 3 * 64 are less idle than 2 * 128 */
        { 0, 6, 180, 320, 720, 128, 128 },
        { 0, 6, 180, 320, 3, 128, 16 },
        { 0, 1, 8, 8, 360, 64, 64 },
        { 5, 1, 180, 320, 2, 128, 16 },
        { 5, 1, 180, 320, 32, 128, 32 },
        { 5, 1, 180, 320, 64, 128, 64 },
        { 6, 1, 180, 320, 120, 64, 128 },
        { 6, 1, 180, 320, 40, 64, 64 },
    };

    for (size_t k = 0; k < VRT_ARRAY_SIZE(cases); k++) {
        const struct set *set = &sets[cases[k].set];
        const struct vrt_cuda_product_shape shape =
            shape_of(set, cases[k].d, cases[k].h, cases[k].w, cases[k].n_out);
        const int i = vrt_cuda_tile_choose(set->tiles, set->n, &shape, 99 * KiB);
        if (i < 0 || set->tiles[i].m != cases[k].m || set->tiles[i].n != cases[k].n)
            test_fail("case %zu takes tile %d, not %dx%d", k, i, cases[k].m, cases[k].n);
    }
}

/* The largest tensors there can be: no number overflows. */
static void test_large(void)
{
    const struct vrt_cuda_product_shape shape = shape_of(&sets[1], 16384, 16384, 16384, 16384);

    expect_int(vrt_cuda_tile_blocks(&conv[0], &shape),
               (int64_t)16384 * (16384 / 8) * (16384 / 16) * (16384 / 128));
    expect_true(vrt_cuda_tile_choose(conv, VRT_ARRAY_SIZE(conv), &shape, 64 * KiB) >= 0);
}

/* Where tensor cores make f32 of TF32: the cards of data centres. */
static void test_f32_products(void)
{
    static const int split_on[] = { 80, 90, 100, 103 };
    static const int fma_on[] = { 75, 86, 87, 89, 101, 110, 120, 121, 0, 200 };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(split_on); i++)
        expect_int(vrt_cuda_f32_products(split_on[i]), VRT_CUDA_F32_SPLIT);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(fma_on); i++)
        expect_int(vrt_cuda_f32_products(fma_on[i]), VRT_CUDA_F32_FMA);
}

TEST_MAIN(
    { "tiles", test_tiles },                     { "smallest device", test_smallest_device },
    { "nothing fits", test_nothing_fits },       { "covers", test_covers },
    { "patches", test_patches },                 { "choices", test_choices },
    { "large", test_large },                     { "f32 products", test_f32_products },
)
