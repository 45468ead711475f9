/* SPDX-License-Identifier: MIT */

/* Tiles: every pixel exactly once, with the context it was promised. */

#include "frames/clips/tile.h"
#include "tests/unit/test.h"

/* Which tile a pixel of the axis comes from last, with tiles written in order; -1: none. */
static int owner(const struct vrt_tile_axis *axis, int x)
{
    int found = -1;

    for (int i = 0; i < axis->n; i++) {
        int origin = vrt_tile_origin(axis, i);
        if (x >= origin + vrt_tile_cut(axis, i) && x < origin + axis->size)
            found = i;
    }
    return found;
}

static void check_axis(const struct vrt_tile_axis *axis, int frame, struct vrt_tile_needs needs)
{
    expect_int(axis->frame, frame);
    expect_int(vrt_tile_origin(axis, 0), 0);
    expect_int(vrt_tile_origin(axis, axis->n - 1) + axis->size, frame);
    expect_int((frame - axis->size) % needs.multiple, 0);
    for (int i = 0; i < axis->n; i++)
        expect_int(vrt_tile_origin(axis, i) % needs.multiple, 0);
    for (int x = 0; x < frame; x++) {
        int i = owner(axis, x);
        expect_true(i >= 0);
        int left = x - vrt_tile_origin(axis, i);
        int right = axis->size - 1 - left;
        expect_true(i == 0 || left >= needs.overlap);
        expect_true(i == axis->n - 1 || right >= needs.overlap);
    }
}

static const int sides[] = { 1, 2, 17, 64, 65, 99, 128, 180, 255, 321, 640 };
static const int multiples[] = { 1, 2, 4 };
static const int overlaps[] = { 0, 1, 7, 10, 32 };

static void test_grid_of_size(void)
{
    for (size_t s = 0; s < sizeof(sides) / sizeof(sides[0]); s++) {
        for (size_t m = 0; m < 3; m++) {
            for (size_t o = 0; o < 5; o++) {
                struct vrt_tile_needs needs = vrt_tile_needs(multiples[m], 500, overlaps[o]);
                int least = vrt_tile_min_size(needs);
                for (int size = least; size < least + 90; size += 13) {
                    struct vrt_tile_grid grid = vrt_tile_grid_of_size(sides[s], 64, size, needs);
                    check_axis(&grid.x, sides[s], needs);
                    check_axis(&grid.y, 64, needs);
                    expect_true(grid.x.size <= size);
                    expect_int(grid.x.n == 1, sides[s] <= size);
                }
            }
        }
    }
}

static void test_refine(void)
{
    struct vrt_tile_needs needs = vrt_tile_needs(4, 348, -1);
    struct vrt_tile_grid grid = vrt_tile_whole(1918, 1081);
    int n = 0, area = 1918 * 1081;

    expect_int(needs.overlap, 32);
    while (vrt_tile_refine(&grid, needs)) {
        struct vrt_tile_grid again = vrt_tile_restore(1918, 1081, grid.x.size, grid.y.size, needs);
        expect_int(memcmp(&again, &grid, sizeof(grid)), 0);
        check_axis(&grid.x, 1918, needs);
        check_axis(&grid.y, 1081, needs);
        expect_true(grid.x.size * grid.y.size < area);
        area = grid.x.size * grid.y.size;
        n++;
    }
    expect_true(n > 20);
    expect_true(grid.x.size < 2 * vrt_tile_min_size(needs));
    expect_true(grid.y.size < 2 * vrt_tile_min_size(needs));
}

static void test_overlap(void)
{
    expect_int(vrt_tile_needs(1, 10, -1).overlap, 10);
    expect_int(vrt_tile_needs(1, 64, -1).overlap, 64);
    expect_int(vrt_tile_needs(1, 65, -1).overlap, 32);
    expect_int(vrt_tile_needs(4, 10, -1).overlap, 12);
    expect_int(vrt_tile_needs(2, 33, -1).overlap, 34);
    expect_int(vrt_tile_needs(1, 348, 48).overlap, 48);
    expect_int(vrt_tile_needs(1, 10, 0).overlap, 0);
}

/* Blended tiles of one side: of a size that the network likes, sharing what they should, and with
 * weights that add up to their total everywhere. */
static void check_blended(const struct vrt_tile_axis *axis, int frame, struct vrt_tile_needs needs,
                          int scale)
{
    struct vrt_overlap overlap = vrt_tile_overlap(axis, needs.joint, scale);
    int length = frame * scale;

    expect_int(vrt_overlap_count(&overlap, length), axis->n);
    expect_int(axis->size == frame, axis->n == 1);
    if (axis->n > 1) {
        expect_int(axis->size % needs.multiple, 0);
        expect_int(axis->size - axis->step, needs.overlap);
        expect_true(axis->size >= vrt_tile_min_size(needs));
    }
    for (int i = 0; i < axis->n; i++) {
        expect_int(vrt_overlap_start(&overlap, length, i), vrt_tile_origin(axis, i) * scale);
        expect_int(vrt_tile_cut(axis, i), 0);
    }
    for (int at = 0; at < length; at++) {
        double sum = 0;
        float total = 0;
        for (int i = 0; i < axis->n; i++) {
            int64_t start = vrt_overlap_start(&overlap, length, i);
            if (at < start || at >= start + overlap.size)
                continue;
            struct vrt_share share = vrt_overlap_share(&overlap, length, i, at);
            sum += (double)share.weight;
            total = share.total;
        }
        expect_near(sum, total, 1e-5);
        expect_true(total >= 1);
    }
}

static void test_blended(void)
{
    for (int joint = VRT_TILES_FEATHERED; joint <= VRT_TILES_AVERAGED; joint++) {
        for (int overlap = 0; overlap <= 27; overlap += 9) {
            struct vrt_tile_needs needs = vrt_tile_needs_blended((enum vrt_tile_joint)joint, 8,
                                                                 64, overlap);
            struct vrt_tile_grid grid = vrt_tile_whole(322, 181);
            int n = 0;
            do {
                int area = grid.x.size * grid.y.size;
                struct vrt_tile_grid again = vrt_tile_restore(322, 181, grid.x.size, grid.y.size,
                                                              needs);
                expect_int(memcmp(&again, &grid, sizeof(grid)), 0);
                check_blended(&grid.x, 322, needs, n % 4 + 1);
                check_blended(&grid.y, 181, needs, n % 4 + 1);
                expect_true(joint == VRT_TILES_FEATHERED || grid.x.n == 1 || grid.y.n == 1 ||
                            grid.x.size == grid.y.size);
                n++;
                if (!vrt_tile_refine(&grid, needs))
                    break;
                expect_true(grid.x.size * grid.y.size < area);
            } while (n < 100);
            expect_true(n > 3 && n < 100);
            expect_true(grid.x.size <= 2 * vrt_tile_min_size(needs));
        }
    }
}

/* The authors' sizes are taken as they are, ours are evened out. */
static void test_blended_size(void)
{
    struct vrt_tile_needs averaged = vrt_tile_needs_blended(VRT_TILES_AVERAGED, 8, 64, 20);
    struct vrt_tile_needs feathered = vrt_tile_needs_blended(VRT_TILES_FEATHERED, 8, 64, 20);
    struct vrt_tile_grid grid = vrt_tile_grid_of_size(320, 120, 131, averaged);

    expect_int(grid.x.size, 128);
    expect_int(grid.x.step, 108);
    expect_int(grid.x.n, 3);
    expect_int(grid.y.n, 1);
    grid = vrt_tile_grid_of_size(320, 120, 131, feathered);
    expect_int(grid.x.n, 3);
    expect_int(grid.x.size, 120);
    expect_int(vrt_tile_min_size(feathered), 64);
    expect_int(vrt_tile_min_size(vrt_tile_needs_blended(VRT_TILES_FEATHERED, 8, 64, 30)), 96);
}

TEST_MAIN(
    { "grid-of-size", test_grid_of_size },
    { "refine", test_refine },
    { "overlap", test_overlap },
    { "blended", test_blended },
    { "blended-size", test_blended_size },
)
