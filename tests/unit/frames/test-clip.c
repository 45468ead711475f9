/* SPDX-License-Identifier: MIT */

/* Clips and overlaps: every frame with shares that add up, the same whether the end is known or
 * not, and as VRT's authors cut where that is asked for. Tiles: every pixel exactly once, with the
 * context it was promised. */

#include "frames/clips/clip.h"
#include "frames/clips/overlap.h"
#include "frames/clips/tile.h"
#include "tests/unit/test.h"

#define SIZE_MAX_TRIED 9
#define LENGTH_MAX_TRIED 44

static void check_pieces(const struct vrt_overlap *overlap, int64_t length)
{
    int64_t n = vrt_overlap_count(overlap, length), step = overlap->size - overlap->shared;

    expect_int(vrt_overlap_start(overlap, length, 0), 0);
    expect_int(vrt_overlap_end(overlap, length, n - 1), length);
    for (int64_t i = 0; i < n; i++) {
        int64_t start = vrt_overlap_start(overlap, length, i), end = vrt_overlap_end(overlap,
                                                                                     length, i);
        expect_int(end - start, length < overlap->size ? length : overlap->size);
        expect_true(i == n - 1 || start == i * step);
        expect_true(i == 0 || start > vrt_overlap_start(overlap, length, i - 1));
        /* No piece more than is needed. */
        expect_true(i == n - 1 || end < length);
    }
}

static bool covers(const struct vrt_overlap *overlap, int64_t length, int64_t i, int64_t at)
{
    return at >= vrt_overlap_start(overlap, length, i) && at < vrt_overlap_end(overlap, length, i);
}

/* Shares of a place: they add up, and are counted rightly. */
static void check_shares(const struct vrt_overlap *overlap, int64_t length)
{
    for (int64_t at = 0; at < length; at++) {
        double sum = 0;
        int n = 0, told = 0;
        float total = 0;
        for (int64_t i = 0; i < vrt_overlap_count(overlap, length); i++) {
            if (!covers(overlap, length, i, at))
                continue;
            struct vrt_share share = vrt_overlap_share(overlap, length, i, at);
            expect_true(share.weight >= 0 && share.weight <= 1);
            if (share.weight == 0)
                continue;
            expect_true(n == 0 || (told == share.n && total == share.total));
            told = share.n;
            total = share.total;
            sum += (double)share.weight;
            n++;
        }
        expect_int(n, told);
        expect_near(sum, total, 1e-6);
        expect_true(overlap->averaged || n <= 2);
        expect_true(!overlap->averaged || total == (float)n);
    }
}

/* Weights fall off to a piece's end, rise from the next one's beginning, and are 1 elsewhere. */
static void test_feathered(void)
{
    const struct vrt_overlap overlap = { .size = 8, .shared = 3 };
    static const float rising[] = { 0.25f, 0.5f, 0.75f };

    for (int at = 0; at < 8; at++) {
        float wanted = at < 5 ? 1 : 1 - rising[at - 5];
        expect_near(vrt_overlap_share(&overlap, 20, 0, at).weight, wanted, 1e-7);
        wanted = at < 3 ? rising[at] : at < 5 ? 1 : 1 - rising[at - 5];
        expect_near(vrt_overlap_share(&overlap, 20, 1, 5 + at).weight, wanted, 1e-7);
        /* The last begins at 12, and its neighbour ends at 18 without it. */
        wanted = at < 3 ? 0 : at < 6 ? rising[at - 3] : 1;
        expect_near(vrt_overlap_share(&overlap, 20, 3, 12 + at).weight, wanted, 1e-7);
    }
    expect_int(vrt_overlap_count(&overlap, 20), 4);
    expect_int(vrt_overlap_share(&overlap, 20, 0, 4).n, 1);
    expect_int(vrt_overlap_share(&overlap, 20, 0, 5).n, 2);
}

/* As VRT's authors count, in so many words: [starts], each piece adds 1 where it isn't cut. */
static void count_officially(const struct vrt_overlap *overlap, int length, int *counts)
{
    int stride = overlap->size - overlap->shared, starts[LENGTH_MAX_TRIED + 1], n = 0;

    for (int at = 0; at < length - overlap->size; at += stride)
        starts[n++] = at;
    starts[n++] = length > overlap->size ? length - overlap->size : 0;
    for (int i = 0; i < n; i++) {
        int from = starts[i] + (starts[i] > starts[0] ? overlap->drop_first : 0);
        int to = starts[i] + overlap->size - (starts[i] < starts[n - 1] ? overlap->drop_last : 0);
        for (int at = from; at < to && at < length; at++)
            counts[at]++;
    }
}

static void check_officially(const struct vrt_overlap *overlap, int64_t length)
{
    for (int drop = 0; overlap->averaged && drop <= overlap->shared; drop++) {
        struct vrt_overlap cut = *overlap;
        int counts[LENGTH_MAX_TRIED] = { 0 };
        cut.drop_first = drop / 2;
        cut.drop_last = drop - drop / 2;
        count_officially(&cut, (int)length, counts);
        for (int64_t at = 0; at < length; at++) {
            int n = 0;
            for (int64_t i = 0; i < vrt_overlap_count(&cut, length); i++) {
                struct vrt_share share = { 0 };
                if (covers(&cut, length, i, at))
                    share = vrt_overlap_share(&cut, length, i, at);
                expect_true(share.weight == 0 || share.weight == 1);
                expect_true(share.weight == 0 || share.n == counts[at]);
                n += share.weight > 0;
            }
            expect_int(n, counts[at]);
            expect_true(n > 0);
        }
    }
}

/* What is said before the end is known must hold when it is. */
static void check_endless(const struct vrt_overlap *overlap, int64_t length)
{
    for (int64_t i = 0; i < vrt_overlap_count(overlap, VRT_OVERLAP_ENDLESS); i++) {
        int64_t end = vrt_overlap_end(overlap, VRT_OVERLAP_ENDLESS, i);
        if (end + vrt_overlap_ahead(overlap) > length)
            return;
        expect_int(vrt_overlap_end(overlap, length, i), end);
        for (int64_t at = vrt_overlap_start(overlap, length, i); at < end; at++) {
            struct vrt_share then = vrt_overlap_share(overlap, VRT_OVERLAP_ENDLESS, i, at);
            struct vrt_share now = vrt_overlap_share(overlap, length, i, at);
            expect_true(then.weight == now.weight && then.n == now.n && then.total == now.total);
        }
    }
}

/* Every overlap and length up to the limits. */
static void test_overlaps(void)
{
    for (int i = 0; i < 2 * SIZE_MAX_TRIED * LENGTH_MAX_TRIED; i++) {
        const int size = 1 + i / 2 % SIZE_MAX_TRIED, length = 1 + i / 2 / SIZE_MAX_TRIED;
        for (int shared = 0; shared <= size / 2; shared++) {
            const struct vrt_overlap overlap = { size, shared, i % 2, 0, 0 };
            check_pieces(&overlap, length);
            check_shares(&overlap, length);
            check_officially(&overlap, length);
            check_endless(&overlap, length);
        }
    }
}

/* Clips of a scene found as its frames come: all frames once as new, and the same clips as when
 * everything is known. */
static void check_scene(const struct vrt_clip_rule *rule, int64_t n_frames)
{
    struct vrt_clip clip, known;
    int64_t index = 0, n_new = 0;

    for (int64_t n_known = 0; n_known <= n_frames; n_known++) {
        while (vrt_clip_find(rule, index, n_known, n_known < n_frames, &clip)) {
            expect_true(vrt_clip_find(rule, index, n_frames, false, &known));
            expect_int(clip.first, known.first);
            expect_true(clip.n == known.n && clip.n_new == known.n_new);
            expect_true(clip.index == known.index && clip.depth == known.depth);
            expect_true(clip.first + clip.n <= n_known);
            n_new += clip.n_new;
            expect_int(clip.first + clip.n, n_new);
            expect_int(clip.depth, vrt_clip_depth(rule, clip.n));
            for (int i = 0; i < clip.n; i++) {
                struct vrt_share a = vrt_clip_share(rule, &clip, i, n_known, n_known < n_frames);
                struct vrt_share b = vrt_clip_share(rule, &known, i, n_frames, false);
                expect_true(a.weight == b.weight && a.n == b.n && a.total == b.total);
                expect_true(rule->temporal || (a.weight == 1 && a.n == 1 && a.total == 1));
            }
            index++;
        }
    }
    expect_int(n_new, n_frames);
    expect_int(index, vrt_clip_count(rule, n_frames));
}

static void test_scenes(void)
{
    for (int frames = 1; frames <= SIZE_MAX_TRIED; frames++) {
        struct vrt_clip_rule runs = vrt_clip_runs(frames);
        for (int64_t n = 0; n <= LENGTH_MAX_TRIED; n++) {
            check_scene(&runs, n);
            for (int overlap = 0; overlap <= frames / 2; overlap++) {
                struct vrt_clip_rule rule = { { frames, overlap, false, 0, 0 }, true, 1, 3 };
                check_scene(&rule, n);
                rule.overlap.averaged = true;
                check_scene(&rule, n);
            }
        }
    }
}

/* A short scene is seen with its mirror image, a long one as it is. */
static void test_depth(void)
{
    const struct vrt_clip_rule rule = { { .size = 16, .shared = 2 }, true, 3, 6 };
    const struct vrt_clip_rule plain = { { .size = 16, .shared = 2 }, true, 2, 1 };
    static const int wanted[] = { 0, 6, 6, 6, 6, 6, 6, 12, 12, 12, 12, 12, 12, 16, 16, 16, 16, 16 };
    static const int mirrored[] = { 0, 1, 2, 2, 1, 0, 0, 1, 2, 2 };

    for (int n = 1; n <= 17; n++) {
        expect_int(vrt_clip_depth(&rule, n), wanted[n]);
        expect_int(vrt_clip_depth(&plain, n), n < 2 ? 2 : n > 16 ? 16 : n);
    }
    for (int at = 0; at < 10; at++) {
        expect_int(vrt_clip_source(3, at), mirrored[at]);
        expect_int(vrt_clip_source(1, at), 0);
        expect_int(vrt_clip_source(12, at), at);
    }
    expect_int(vrt_clip_source(2, 2), 1);
    expect_int(vrt_clip_source(2, 3), 0);
    expect_int(vrt_clip_source(2, 4), 0);
}

static void test_frames(void)
{
    expect_int(vrt_clip_frames(640, 360), 4);
    expect_int(vrt_clip_frames(160, 90), 8);
    expect_int(vrt_clip_frames(1, 1), 8);
    expect_int(vrt_clip_frames(1920, 1080), 1);
    expect_int(vrt_clip_frames(32768, 32768), 1);
}

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
    { "overlaps", test_overlaps }, { "feathered", test_feathered }, { "scenes", test_scenes },
    { "depth", test_depth }, { "frames", test_frames }, { "grid-of-size", test_grid_of_size },
    { "tiles-refined", test_refine }, { "tiles-overlap", test_overlap },
    { "tiles-blended", test_blended }, { "tiles-blended-size", test_blended_size },
)
