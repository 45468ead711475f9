/* SPDX-License-Identifier: MIT */

/* How long shards and segments are where a frame takes long, and what else is chosen once. */

#include <errno.h>
#include <math.h>

#include "tests/unit/test.h"
#include "workers/plan/output-size.h"
#include "workers/plan/recipe.h"

/* Shards and segments where a frame takes long. Clips that a network sees stay, and a segment has
 * one at least. */
static void test_pace(void)
{
    static const struct vrt_recipe still = { .clip_frames = 8, .segment_frames = 96 };
    static const struct vrt_recipe clips = { .clip_frames = 16, .clip_overlap = 4,
                                             .segment_frames = 96 };
    static const struct {
        const struct vrt_recipe *recipe;
        double frame_s;
        int clip_frames;
        int64_t segment_frames;
    } cases[] = {
        { &still, 0, 8, 96 },       /* nobody knows */
        { &still, 0.01, 8, 96 },
        { &still, 1.25, 8, 96 },    /* to the second */
        { &still, 1.26, 8, 48 },
        { &still, 2.5, 8, 48 },
        { &still, 3, 4, 24 },
        { &still, 25, 1, 3 },
        { &still, 70, 1, 1 },
        { &still, 10000, 1, 1 },
        { &clips, 0.5, 16, 96 },
        { &clips, 3, 16, 24 },
        { &clips, 100, 16, 12 },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        const struct vrt_network_info network = {
            .window_frames = cases[i].recipe == &still ? 1 : 8 };
        struct vrt_recipe paced = *cases[i].recipe;

        /* Once more changes nothing. */
        for (int k = 0; k < 2; k++) {
            vrt_recipe_pace(&paced, &network, cases[i].frame_s);
            expect_int(paced.clip_frames, cases[i].clip_frames);
            expect_int(paced.segment_frames, cases[i].segment_frames);
            expect_int(paced.clip_overlap, cases[i].recipe->clip_overlap);
        }
    }
}

/* Times as many frames as a network makes; clips as it sees them. */
static void test_between(void)
{
    static const struct vrt_network_info makes = {
        .description = "N", .scale = 1, .multiple = 8, .min_size = 64, .window_frames = 4,
        .min_frames = 4, .max_frames = 4, .out_frames = 1, .clip_frames = 4,
    };
    static const struct {
        bool restores;
        int64_t times, clip, clip_overlap;
        const char *field, *says;   /* NULL: it is good */
    } cases[] = {
        { false, VRT_UNKNOWN, VRT_UNKNOWN, VRT_UNKNOWN, NULL, NULL },
        { false, 2, VRT_UNKNOWN, VRT_UNKNOWN, NULL, NULL },
        { false, 4, VRT_UNKNOWN, VRT_UNKNOWN, "times", "N makes 2 times as many frames of" },
        { false, 2, 4, VRT_UNKNOWN, "clip", "of the 4 around it: leave clip out" },
        { false, 2, VRT_UNKNOWN, 1, "clip_overlap", "leave clip_overlap out" },
        { true, VRT_UNKNOWN, VRT_UNKNOWN, VRT_UNKNOWN, NULL, NULL },
        { true, 2, VRT_UNKNOWN, VRT_UNKNOWN, "times", "makes none between them" },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct vrt_network_info network = makes;
        const struct vrt_recipe_params params = { .network = &network, .width = 64, .height = 64,
                                                  .n_frames = 9 };
        struct vrt_job_settings asked;
        struct vrt_recipe recipe;
        struct vrt_error error = { .id = NULL };
        vrt_job_settings_init(&asked);
        asked.times = cases[i].times;
        asked.clip = cases[i].clip;
        asked.clip_overlap = cases[i].clip_overlap;
        if (cases[i].restores)
            network.out_frames = network.max_frames = 0;
        int r = vrt_recipe_choose(&asked, &params, &recipe, &error);
        expect_int(r, cases[i].field ? -EINVAL : 0);
        if (cases[i].field) {
            expect_str(error.field, cases[i].field);
            expect_contains(error.message, cases[i].says);
            continue;
        }
        expect_int(recipe.times, cases[i].restores ? 1 : 2);
        if (cases[i].restores)
            continue;
        expect_int(recipe.clip_frames, 4);
        expect_int(recipe.clip_overlap, 0);
        expect_near(recipe.scene_threshold, 0.08, 1e-9);
        const struct vrt_clip_rule rule = vrt_recipe_rule(&recipe, &network);
        expect_true(vrt_clip_is_between(&rule));
        vrt_recipe_pace(&recipe, &network, 30);
        expect_int(recipe.segment_frames, 3);
        vrt_recipe_pace(&recipe, &network, 1000);
        expect_int(recipe.segment_frames, 1);
    }
}

/* Another rate, of a network that makes frames at any time. */
static void test_rates(void)
{
    static const struct vrt_network_info makes = {
        .description = "N", .scale = 1, .multiple = 8, .min_size = 8, .window_frames = 2,
        .min_frames = 2, .max_frames = 2, .out_frames = 1, .any_times = true, .clip_frames = 2,
    };
    static const struct {
        struct vrt_rational was, wanted;
        bool fixed;
        int64_t asked;
        int times, every;           /* 0: refused */
        const char *says;
    } cases[] = {
        { { 24, 1 }, { 60, 1 }, false, VRT_UNKNOWN, 5, 2, "" },
        { { 24000, 1001 }, { 60000, 1001 }, false, VRT_UNKNOWN, 5, 2, "" },
        { { 25, 1 }, { 60, 1 }, false, VRT_UNKNOWN, 12, 5, "" },
        { { 24, 1 }, { 25, 1 }, false, VRT_UNKNOWN, 25, 24, "" },
        { { 30, 1 }, { 120, 1 }, false, VRT_UNKNOWN, 4, 1, "" },
        { { 12500, 1000 }, { 25, 1 }, false, VRT_UNKNOWN, 2, 1, "" },
        { { 1, 1 }, { 64, 1 }, false, VRT_UNKNOWN, 64, 1, "" },
        { { 1, 1 }, { 65, 1 }, false, VRT_UNKNOWN, 0, 0, "65 times the input's 1/1" },
        { { 24000, 1001 }, { 60, 1 }, false, VRT_UNKNOWN, 0, 0, "such as 2 for 47.952" },
        { { 2997, 100 }, { 60000, 1001 }, false, VRT_UNKNOWN, 0, 0, "such as 2 for 59.94" },
        { { 25, 1 }, { 26, 1 }, false, VRT_UNKNOWN, 0, 0, "no fraction of small numbers" },
        { { 25, 1 }, { 25, 1 }, false, VRT_UNKNOWN, 0, 0, "has 25 frames a second" },
        { { 25, 1 }, { 12, 1 }, false, VRT_UNKNOWN, 0, 0, "only more of them" },
        { { 0, 1 }, { 50, 1 }, false, VRT_UNKNOWN, 0, 0, "no constant rate" },
        { { 25, 1 }, { 50, 1 }, false, 2, 0, 0, "leave one out" },
        { { 25, 1 }, { 50, 1 }, true, VRT_UNKNOWN, 0, 0, "at any time" },
        { { 2147483647, 1 }, { 1, 2147483647 }, false, VRT_UNKNOWN, 0, 0, "only more" },
        { { 1, 2147483647 }, { 2147483647, 1 }, false, VRT_UNKNOWN, 0, 0, "no fraction" },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct vrt_network_info network = makes;
        const struct vrt_recipe_params params = {
            .network = &network, .width = 64, .height = 64, .n_frames = 9, .fps = cases[i].was,
            .wanted_fps = cases[i].wanted,
        };
        struct vrt_job_settings asked;
        struct vrt_recipe recipe;
        struct vrt_error error = { .id = NULL };

        network.any_times = !cases[i].fixed;
        vrt_job_settings_init(&asked);
        asked.times = cases[i].asked;
        expect_int(vrt_recipe_choose(&asked, &params, &recipe, &error),
                   cases[i].times ? 0 : -EINVAL);
        if (!cases[i].times) {
            expect_str(error.field, "fps");
            expect_contains(error.message, cases[i].says);
            continue;
        }
        expect_int(recipe.times, cases[i].times);
        expect_int(recipe.every, cases[i].every);
        expect_str(error.field, "");
        expect_near(recipe.strength, 1, 0);
        asked.strength = 0.5;
        expect_int(vrt_recipe_choose(&asked, &params, &recipe, &error), -EINVAL);
        expect_str(error.field, "strength");
        expect_int(vrt_recipe_rule(&recipe, &network).every, cases[i].every);
    }
}

struct asked {
    bool is_still, is_noisy, is_official;   /* the network sees no clips, is told of noise */
    int64_t clip, clip_overlap, tile;       /* -1: not asked for */
    double sigma;
    int64_t n_frames;
    const char *field, *says;               /* NULL: it is good */
    int clip_frames, shared, tile_w;
};

static struct vrt_network_info network_of(const struct asked *asked)
{
    return (struct vrt_network_info){
        .description = "N", .scale = 1, .multiple = 8, .min_size = 16, .radius = 4,
        .window_frames = asked->is_still ? 1 : 6, .min_frames = asked->is_still ? 1 : 6,
        .max_frames = 60, .clip_frames = 24, .clip_overlap = 4, .tile_overlap = 16,
        .takes_noise = asked->is_noisy,
    };
}

static int choose(const struct asked *asked, const struct vrt_network_info *network,
                  struct vrt_recipe *ret_recipe, struct vrt_error *error)
{
    const struct vrt_recipe_params params = { .network = network, .width = 640, .height = 480,
                                              .n_frames = asked->n_frames };
    struct vrt_job_settings settings;

    vrt_job_settings_init(&settings);
    settings.clip = asked->clip < 0 ? VRT_UNKNOWN : asked->clip;
    settings.clip_overlap = asked->clip_overlap < 0 ? VRT_UNKNOWN : asked->clip_overlap;
    settings.tile = asked->tile < 0 ? VRT_UNKNOWN : asked->tile;
    settings.sigma = asked->sigma;
    if (asked->is_official)
        settings.tiling = VRT_TILING_OFFICIAL;
    return vrt_recipe_choose(&settings, &params, ret_recipe, error);
}

/* Clips, tiles and noise, as they are asked for and where they aren't. */
static void test_choices(void)
{
    static const struct asked cases[] = {
        { 0, 0, 0, -1, -1, -1, NAN, 0, NULL, NULL, 24, 4, 640 },
        { 0, 0, 0, -1, -1, -1, NAN, 24, NULL, NULL, 24, 4, 640 },
        { 0, 0, 0, -1, -1, -1, NAN, 18, NULL, NULL, 18, 4, 640 },
        { 0, 0, 0, -1, -1, -1, NAN, 13, NULL, NULL, 18, 4, 640 },
        { 0, 0, 0, -1, -1, -1, NAN, 3, NULL, NULL, 6, 3, 640 },
        { 0, 0, 0, 0, -1, -1, NAN, 13, NULL, NULL, 18, 4, 640 },
        { 0, 0, 0, 0, -1, -1, NAN, 18, NULL, NULL, 18, 4, 640 },
        { 0, 0, 0, 0, -1, -1, NAN, 3, NULL, NULL, 6, 3, 640 },
        { 0, 0, 0, 0, -1, -1, NAN, 0, "clip", "isn't known: ask for clips of 6 to 60", 0, 0, 0 },
        { 0, 0, 0, 0, -1, -1, NAN, 61, "clip", "clips of 66 frames don't suit N", 0, 0, 0 },
        { 0, 0, 0, 1, -1, -1, NAN, 9, "clip", "clips of 1 frame don't suit N: ask for 6 to 60", 0,
          0, 0 },
        { 0, 0, 0, 5, -1, -1, NAN, 9, "clip", "clips of 5 frames", 0, 0, 0 },
        { 0, 0, 0, 6, -1, -1, NAN, 9, NULL, NULL, 6, 3, 640 },
        { 0, 0, 0, 60, -1, -1, NAN, 9, NULL, NULL, 60, 4, 640 },
        { 0, 0, 0, 61, -1, -1, NAN, 9, "clip", "clips of 61 frames", 0, 0, 0 },
        { 0, 0, 0, 12, 6, -1, NAN, 9, NULL, NULL, 12, 6, 640 },
        { 0, 0, 0, 12, 7, -1, NAN, 9, "clip_overlap", "can share 6 at most, not 7", 0, 0, 0 },
        { 1, 0, 0, -1, -1, -1, NAN, 9, NULL, NULL, 3, 0, 640 },
        { 1, 0, 0, 8, -1, -1, NAN, 9, "clip", "leave clip out", 0, 0, 0 },
        { 1, 0, 0, -1, 2, -1, NAN, 9, "clip_overlap", "leave clip_overlap out", 0, 0, 0 },
        { 1, 0, 1, -1, -1, -1, NAN, 9, "tiling", "leave tiling out", 0, 0, 0 },
        { 0, 0, 0, -1, -1, -1, 10, 0, "sigma", "leave sigma out", 0, 0, 0 },
        { 0, 1, 0, -1, -1, -1, NAN, 0, "sigma", "give sigma, 0 to 50", 0, 0, 0 },
        { 0, 1, 0, -1, -1, -1, 10, 0, NULL, NULL, 24, 4, 640 },
        { 0, 0, 0, -1, -1, 47, NAN, 0, "tile", "overlap by 16: ask for 48 or more", 0, 0, 0 },
        { 0, 0, 0, -1, -1, 48, NAN, 0, NULL, NULL, 24, 4, 48 },
        { 1, 0, 0, -1, -1, 1, NAN, 0, "tile", "8 on each side: ask for 40 or more", 0, 0, 0 },
        { 0, 0, 1, -1, -1, 132, NAN, 0, "tile", "multiples of 8 pixels: ask for 128", 0, 0, 0 },
        { 0, 0, 1, -1, -1, 136, NAN, 0, NULL, NULL, 24, 4, 136 },
        { 0, 0, 1, -1, -1, -1, NAN, 0, NULL, NULL, 24, 4, 128 },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        const struct vrt_network_info network = network_of(&cases[i]);
        struct vrt_recipe recipe;
        struct vrt_error error = { .id = NULL };

        expect_int(choose(&cases[i], &network, &recipe, &error), cases[i].field ? -EINVAL : 0);
        if (cases[i].field) {
            expect_str(error.field, cases[i].field);
            expect_contains(error.message, cases[i].says);
            continue;
        }
        expect_int(recipe.clip_frames, cases[i].clip_frames);
        expect_int(recipe.clip_overlap, cases[i].shared);
        expect_int(recipe.tile_w, cases[i].tile_w);
        expect_near(vrt_recipe_noise(&recipe), cases[i].is_noisy ? 10 / 255.0 : 0, 1e-7);
    }
}

/* All that is chosen for 640 x 480, and the rule of its clips. */
static void test_all(void)
{
    static const struct {
        bool is_still, is_official, is_other;   /* other: asked for, and told by the authors */
        int scale;
        const char *wanted;
    } cases[] = {
        { true, false, false, 1, "clips 3 0, tiles 640x480 8, scenes 0, strength 1, segments 96, "
          "precision 0, 4 threads; 3 0 0, 0, least 1, by 1, 0 of 0" },
        { false, false, false, 3, "clips 24 4, tiles 640x480 20, scenes 0.08, strength 1, "
          "segments 96, precision 0, 9 threads; 24 4 0, 1, least 6, by 6, 1 of 1" },
        { false, true, false, 4, "clips 24 4, tiles 128x128 20, scenes 0, strength 1, "
          "segments 96, precision 0, 16 threads; 24 4 1, 1, least 6, by 1, 1 of 1" },
        { true, false, true, 2, "clips 3 0, tiles 640x480 16, scenes 0, strength 0.5, "
          "segments 7, precision 2, 4 threads; 3 0 0, 0, least 1, by 1, 0 of 0" },
        { false, true, true, 2, "clips 24 4, tiles 160x160 0, scenes 0.25, strength 0.5, "
          "segments 7, precision 2, 4 threads; 24 4 1, 1, least 6, by 1, 1 of 1" },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct vrt_network_info network = network_of(&(struct asked){
            .is_still = cases[i].is_still });
        const struct vrt_recipe_params params = { .network = &network, .width = 640, .height = 480,
                                                  .n_frames = -1 };
        struct vrt_job_settings asked;
        struct vrt_recipe r;
        char text[256];

        network.tile_overlap = 0;
        network.tile_size = cases[i].is_other ? 160 : 0;
        network.scale = cases[i].scale;
        vrt_job_settings_init(&asked);
        asked.tiling = cases[i].is_official ? VRT_TILING_OFFICIAL : VRT_TILING_BLEND;
        if (cases[i].is_other) {
            asked.scene_cuts = 0.25;
            asked.strength = 0.5;
            asked.segment_frames = 7;
            asked.precision = VRT_PRECISION_F16;
            asked.overlap = cases[i].is_still ? 12 : 0;
        }
        expect_int(vrt_recipe_choose(&asked, &params, &r, &(struct vrt_error){ .id = NULL }), 0);
        const struct vrt_clip_rule rule = vrt_recipe_rule(&r, &network);
        snprintf(text, sizeof(text), "clips %d %d, tiles %dx%d %d, scenes %g, strength %g, "
                 "segments %d, precision %d, %d threads; %d %d %d, %d, least %d, by %d, %d of %d",
                 r.clip_frames, r.clip_overlap, r.tile_w, r.tile_h, r.overlap, r.scene_threshold,
                 r.strength, (int)r.segment_frames, r.precision, r.encoder_threads,
                 rule.overlap.size, rule.overlap.shared, rule.overlap.averaged, rule.temporal,
                 rule.least, rule.multiple, rule.every, rule.times);
        expect_str(text, cases[i].wanted);
        expect_int(vrt_recipe_n_frames(&r, -1), -1);
        expect_int(vrt_recipe_n_frames(&r, 9), 9);
    }
}

/* What turned out to fit: nothing that was asked for changes, and nothing becomes larger. */
static void test_recut(void)
{
    static const struct asked plain = { 0, 0, 0, -1, -1, -1, NAN, 0, NULL, NULL, 0, 0, 0 };
    const struct {
        struct asked asked;
        int tile, clip, tile_w, clip_frames, shared;
    } cases[] = {
        { plain, 64, 12, 64, 12, 4 },
        { plain, 48, 6, 48, 6, 3 },
        { plain, 47, 5, 640, 24, 4 },
        { plain, 0, 24, 640, 24, 4 },
        { plain, 0, 25, 640, 24, 4 },
        { { 0, 0, 0, 24, -1, 640, NAN, 0, NULL, NULL, 0, 0, 0 }, 64, 12, 640, 24, 4 },
        { { 0, 0, 1, -1, -1, -1, NAN, 0, NULL, NULL, 0, 0, 0 }, 64, 12, 128, 12, 4 },
        { { 1, 0, 0, -1, -1, -1, NAN, 0, NULL, NULL, 0, 0, 0 }, 0, 2, 640, 3, 0 },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        const struct vrt_network_info network = network_of(&cases[i].asked);
        struct vrt_recipe recipe;
        struct vrt_error error = { .id = NULL };

        expect_int(choose(&cases[i].asked, &network, &recipe, &error), 0);
        vrt_recipe_recut(&recipe, &network, 640, 480, cases[i].tile, cases[i].clip);
        expect_int(recipe.tile_w, cases[i].tile_w);
        expect_int(recipe.clip_frames, cases[i].clip_frames);
        expect_int(recipe.clip_overlap, cases[i].shared);
    }
}

/* Sizes of results, and the shape of their pixels. */
static void test_sizes(void)
{
    static const struct {
        const char *scale;
        struct vrt_frame_format in;
        int width, height;          /* 0: refused */
        struct vrt_rational aspect;
        const char *says;
    } cases[] = {
        { "", { .width = 853, .height = 480 }, 1706, 960, { 0, 0 }, NULL },
        { "1.5", { .width = 853, .height = 480 }, 1280, 720, { 0, 0 }, NULL },
        { "0.5", { .width = 68, .height = 50, .sample_aspect = { 16, 15 } }, 34, 24, { 16, 15 },
          NULL },
        { "1080p", { .width = 1280, .height = 720 }, 1920, 1080, { 0, 0 }, NULL },
        { "1080p", { .width = 853, .height = 480 }, 1920, 1080, { 0, 0 }, NULL },
        { "99p", { .width = 64, .height = 48 }, 132, 99, { 0, 0 }, NULL },
        { "1920x1080", { .width = 853, .height = 480 }, 1920, 1080, { 0, 0 }, NULL },
        { "1920x1080", { .width = 720, .height = 576, .sample_aspect = { 16, 15 } }, 1920, 1080,
          { 3, 4 }, "1080p makes 1350 x 1080" },
        { "100x100", { .width = 64, .height = 48, .sample_aspect = { 1, 2 } }, 100, 100, { 2, 3 },
          "shown 2:3" },
        { "129x96", { .width = 64, .height = 48 }, 129, 96, { 0, 0 }, NULL },
        { "130x96", { .width = 64, .height = 48 }, 130, 96, { 64, 65 }, "shown 64:65" },
        { "16p", { .width = 64, .height = 64 }, 16, 16, { 0, 0 }, NULL },
        { "16384p", { .width = 64, .height = 64 }, 16384, 16384, { 0, 0 }, NULL },
        { "15x16", { .width = 64, .height = 48 }, 0, 0, { 0, 0 }, "15 x 16" },
        { "0.1", { .width = 64, .height = 48 }, 0, 0, { 0, 0 }, "6 x 4" },
        { "16385p", { .width = 64, .height = 48 }, 0, 0, { 0, 0 }, "16 to 16384" },
        { "64", { .width = 4096, .height = 4096 }, 0, 0, { 0, 0 }, "16 to 16384" },
        { "big", { .width = 64, .height = 48 }, 0, 0, { 0, 0 }, "no size" },
        { "", { .width = 8192, .height = 8192 }, 16384, 16384, { 0, 0 }, NULL },
        { "", { .width = 8193, .height = 48 }, 0, 0, { 0, 0 }, "enlarged 2 times" },
        { "", { .width = 48, .height = 8193 }, 0, 0, { 0, 0 }, "enlarged 2 times" },
        { "90x80", { .width = 64, .height = 48, .sample_aspect = { 2147483647, 2147483629 } }, 0, 0,
          { 0, 0 }, "can't show the shape of the video: ask for 80p" },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct vrt_frame_format format = cases[i].in;
        struct vrt_warnings warnings = { .n = 0 };
        struct vrt_error error = { .id = NULL };
        int r = vrt_output_size_choose(cases[i].scale, 2, &format, &warnings, &error);

        expect_int(r, cases[i].width ? 0 : -EINVAL);
        if (cases[i].says)
            expect_contains(r < 0 ? error.message : warnings.sentences[0], cases[i].says);
        expect_int(warnings.n, r == 0 && cases[i].says != NULL);
        if (r < 0) {
            expect_str(error.field, cases[i].scale[0] ? "scale" : "");
            continue;
        }
        expect_int(format.width, cases[i].width);
        expect_int(format.height, cases[i].height);
        expect_int(format.sample_aspect.num, cases[i].aspect.num);
        expect_int(format.sample_aspect.den, cases[i].aspect.den);
    }
}

TEST_MAIN(
    { "choices", test_choices }, { "all", test_all },
    { "recut", test_recut },     { "sizes", test_sizes },
    { "between", test_between }, { "rates", test_rates },
    { "pace", test_pace },
)
