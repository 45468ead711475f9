/* SPDX-License-Identifier: MIT */

/* How long shards and segments are where a frame takes long. */

#include "tests/unit/test.h"
#include "workers/plan/recipe.h"

struct paced {
    double frame_s;
    int clip_frames;
    int64_t segment_frames;
};

static void check(const struct vrt_network_info *network, const struct vrt_recipe *recipe,
                  const struct paced *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct vrt_recipe paced = *recipe;
        vrt_recipe_pace(&paced, network, cases[i].frame_s);
        expect_int(paced.clip_frames, cases[i].clip_frames);
        expect_int(paced.segment_frames, cases[i].segment_frames);
        expect_int(paced.clip_overlap, recipe->clip_overlap);
        /* Once more changes nothing. */
        vrt_recipe_pace(&paced, network, cases[i].frame_s);
        expect_int(paced.segment_frames, cases[i].segment_frames);
    }
}

/* A network that restores each frame by itself. */
static void test_still(void)
{
    static const struct vrt_network_info network = { .window_frames = 1 };
    static const struct vrt_recipe recipe = { .clip_frames = 8, .segment_frames = 96 };
    static const struct paced cases[] = {
        { 0, 8, 96 },           /* nobody knows */
        { 0.01, 8, 96 },
        { 1.25, 8, 96 },        /* to the second */
        { 1.26, 8, 48 },
        { 3, 4, 24 },
        { 25, 1, 3 },
        { 70, 1, 1 },
        { 10000, 1, 1 },
    };

    check(&network, &recipe, cases, VRT_ARRAY_SIZE(cases));
}

/* One that sees clips: they stay, and a segment has one at least. */
static void test_clips(void)
{
    static const struct vrt_network_info network = { .window_frames = 8 };
    static const struct vrt_recipe recipe = {
        .clip_frames = 16, .clip_overlap = 4, .segment_frames = 96,
    };
    static const struct paced cases[] = {
        { 0.5, 16, 96 },
        { 3, 16, 24 },
        { 100, 16, 12 },
    };

    check(&network, &recipe, cases, VRT_ARRAY_SIZE(cases));
}

TEST_MAIN(
    { "still", test_still },
    { "clips", test_clips },
)
