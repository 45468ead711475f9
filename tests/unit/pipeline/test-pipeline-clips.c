/* SPDX-License-Identifier: MIT */

/*
 * Whole jobs with networks that see clips: cut into shards, on any number of devices, they give
 * what the rules say, and that for any size and length of video
 */

#include "tests/unit/pipeline/clip-direct.h"
#include "tests/unit/pipeline/clip-trail.h"
#include "tests/unit/pipeline/flow-fixture.h"
#include "tests/unit/frames/frames-fixture.h"
#include "tests/unit/test.h"
#include "tests/unit/model/vrt-fixture.h"
#include "tests/unit/model/weight-rule.h"

#define N_MAX 64

/* A VRT to which flows alone are 5 GFLOP for each frame, or what stands for one. */
static struct vrt_network *new_network(int n_up, bool noise, bool is_vrt)
{
    /* Weights 3 turn no picture green, which would be taken for the device's failure. */
    struct vrt_fixture vrt = { .sizes = vrt_sizes_small(), .seed = is_vrt ? 3 : 0,
                               .flow_gain = RULE_FLOW_STEADY };
    struct fixture f = { 0 };

    vrt.sizes.n_up = n_up;
    vrt.sizes.noise = noise;
    fixture_add_vrt(&f, &vrt);
    struct vrt_network *network = fixture_network(&f);
    if (!is_vrt)
        trail_replace(network);
    return network;
}

/* A moving picture. */
static const char *video(int n, int w, int h)
{
    return fixture_make("in.mkv", "-f lavfi -i testsrc2=s=160x120:r=25 -frames:v %d -c:v ffv1 "
                        "-vf format=yuv444p,crop=%d:%d -pix_fmt yuv444p", n, w, h);
}

struct trial {
    int n, w, h;                    /* of the video */
    int n_up;
    bool is_vrt;                    /* itself */
    struct vrt_job_settings asked;
    const char *input;              /* NULL: as video() makes it */
    const int *cuts;
};

/* Restores the video on so many devices. */
static void restore(const struct trial *trial, const char *input, struct vrt_network *network,
                    int n_devices, struct flow_job *ret_job)
{
    struct vrt_job_settings asked = trial->asked;
    const struct vrt_pipeline_params params = {
        .input_fd = fixture_open(input),
        .input_name = input,
        .model_fd = -1,
        .network = network,
        .settings = &asked,
    };
    struct flow flow;

    asked.precision = VRT_PRECISION_F32;
    asked.codec = VRT_CODEC_FFV1;
    *ret_job = (struct flow_job){ .cancel_at = -1 };
    flow_init_cpus(&flow, n_devices);
    flow_submit(&flow, ret_job, params, fixture_path("out.mkv"));
    flow_run(&flow);
    flow_done(&flow);
}

/* Compares the restored video with what the rule says of it. */
static void compare(const struct trial *trial, const char *input, struct vrt_network *network,
                    const struct vrt_recipe *recipe)
{
    const struct direct_rule rule = {
        .clip = recipe->clip_frames,
        .overlap = recipe->clip_overlap,
        .tile_w = recipe->tile_w,
        .tile_h = recipe->tile_h,
        .tile_overlap = recipe->overlap,
        .official = recipe->tiling == VRT_TILING_OFFICIAL,
        .noise = vrt_recipe_noise(recipe),
        .cuts = trial->cuts,
    };
    struct vrt_frame *in[N_MAX], *out[N_MAX], *wanted[N_MAX];
    int n = direct_read(input, in, N_MAX), n_other = 0, most = 0, worst = 0;
    struct direct direct;

    expect_int(direct_read(fixture_path("out.mkv"), out, N_MAX), n);
    direct_init(&direct, network);
    direct_restore(&direct, &rule, in, n, &out[0]->format, wanted);
    for (int i = 0; i < n; i++) {
        n_other += direct_compare(out[i], wanted[i], &most);
        worst = most > worst ? most : worst;
        vrt_frame_unref(in[i]);
        vrt_frame_unref(out[i]);
        vrt_frame_unref(wanted[i]);
    }
    direct_done(&direct);
    /* A product and a sum may be rounded once or twice. */
    expect_true(worst <= (rule.official ? 0 : 1));
    expect_true(n_other <= n * trial->w * trial->h / 1000);
}

static void try(const struct trial *trial)
{
    struct vrt_network *network = new_network(trial->n_up, trial->asked.sigma > 0,
                                              trial->is_vrt);
    const char *input = trial->input ? trial->input : video(trial->n, trial->w, trial->h);
    struct flow_job job = { .cancel_at = -1 };

    restore(trial, input, network, 1, &job);
    expect_str(job.error.message, "");
    expect_int(job.last.frames_done, trial->n);
    expect_int(job.last.frames_total, trial->n);
    expect_int(job.last.devices[0].frames_done, trial->n);
    compare(trial, input, network, &job.info.recipe);
    vrt_network_unref(network);
}

static void test_clips(void)
{
    /* Every way in which the last clip can meet the one before; nothing shared; half a clip. */
    for (int n = 10; n < 14; n++)
        try(&(struct trial){ .n = n, .w = 64, .h = 64, .asked = { .clip = 6 } });
    try(&(struct trial){ .n = 8, .w = 64, .h = 64,
                         .asked = { .clip = 3, .clip_overlap = FLOW_ZERO } });
    try(&(struct trial){ .n = 9, .w = 64, .h = 64,
                         .asked = { .clip = 4, .clip_overlap = 2 } });
}

/* The network itself: a clip of each kind, of a size that is extended inside. */
static void test_vrt(void)
{
    try(&(struct trial){ .n = 4, .w = 66, .h = 40, .n_up = 1, .is_vrt = true,
                         .asked = { .clip = 3 } });
    try(&(struct trial){ .n = 4, .w = 64, .h = 64, .is_vrt = true,
                         .asked = { .clip = 3, .tiling = VRT_TILING_OFFICIAL, .sigma = 20 } });
}

static void test_tiles(void)
{
    try(&(struct trial){ .n = 4, .w = 150, .h = 70,
                         .asked = { .tile = 64, .overlap = 12, .clip = 3 } });
    try(&(struct trial){ .n = 3, .w = 80, .h = 72, .n_up = 1,
                         .asked = { .tile = 64, .overlap = 12, .clip = 3 } });
}

static void test_official(void)
{
    const struct vrt_job_settings clip = { .clip = 6, .tiling = VRT_TILING_OFFICIAL,
                                           .clip_overlap = 3 };
    struct vrt_job_settings tiles = clip;

    tiles.tile = 64;
    tiles.overlap = 12;
    for (int n = 7; n < 12; n++)
        try(&(struct trial){ .n = n, .w = 64, .h = 64, .asked = clip });
    /* Three tiles meet in places, and four in the corners. */
    try(&(struct trial){ .n = 4, .w = 120, .h = 72, .asked = tiles });
    try(&(struct trial){ .n = 3, .w = 120, .h = 64, .n_up = 2, .asked = tiles });
    try(&(struct trial){ .n = 5, .w = 64, .h = 64, .asked = clip });
    try(&(struct trial){ .n = 1, .w = 64, .h = 64, .asked = clip });
}

/* Whatever comes: small, narrow, odd, and short. */
static void test_sizes(void)
{
    static const int sizes[][2] = { { 66, 64 }, { 40, 30 }, { 16, 16 }, { 65, 71 } };

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        try(&(struct trial){ .n = 3, .w = sizes[i][0], .h = sizes[i][1] });
    for (int n = 1; n < 6; n++)
        try(&(struct trial){ .n = n, .w = 64, .h = 64, .n_up = n == 2 });
    try(&(struct trial){ .n = 7, .w = 64, .h = 64, .asked = { .clip = 6, .sigma = 20 } });
}

/* Scenes of two colours: the second shorter than a clip, the third longer. */
static void test_scenes(void)
{
    static const int cuts[] = { 7, 11, 0 };
    const char *input = fixture_make("scenes.mkv",
        "-f lavfi -i testsrc2=s=64x64:r=25:d=0.28 -f lavfi -i mandelbrot=s=64x64:r=25 "
        "-f lavfi -i smptebars=s=64x64:r=25:d=0.32 -filter_complex "
        "'[1]trim=end_frame=4[m];[0][m][2]concat=n=3' -frames:v 19 -c:v ffv1 -pix_fmt yuv444p");
    struct trial trial = { .n = 19, .w = 64, .h = 64, .input = input, .cuts = cuts,
                           .asked = { .clip = 6 } };

    try(&trial);
    trial.cuts = NULL;
    trial.asked.scene_cuts = FLOW_ZERO;
    try(&trial);
    /* The authors know no scenes, but they may be asked for. */
    trial.asked.scene_cuts = 0;
    trial.asked.tiling = VRT_TILING_OFFICIAL;
    try(&trial);
    trial.asked.scene_cuts = 0.08;
    trial.cuts = cuts;
    try(&trial);
}

/* One that makes a frame between two. With this seed it keeps colours: with others a job asks every
 * device first whether it is the network that recolours. */
static struct vrt_network *new_between(void)
{
    struct vrt_fixture vrt = { .sizes = vrt_sizes_small_between(), .seed = 1,
                               .flow_gain = RULE_FLOW_STEADY };
    struct fixture f = { 0 };

    fixture_add_vrt(&f, &vrt);
    return fixture_network(&f);
}

/* Each frame passes as it is, and is followed by what the rule says; `pixel_format` (NULL: the
 * input's) has them converted. */
static void expect_between(const struct trial *trial, const char *pixel_format, int n_devices)
{
    struct vrt_network *network = new_between();
    const char *input = trial->input ? trial->input : video(trial->n, trial->w, trial->h);
    struct vrt_frame *in[N_MAX], *out[2 * N_MAX], *wanted[2 * N_MAX];
    struct trial asked = *trial;
    struct flow_job job = { .cancel_at = -1 };
    struct direct direct;
    int most;

    if (pixel_format)
        snprintf(asked.asked.pixel_format, sizeof(asked.asked.pixel_format), "%s", pixel_format);
    restore(&asked, input, network, n_devices, &job);
    expect_str(job.error.message, "");
    const int n = direct_read(input, in, N_MAX);
    expect_int(n, trial->n);
    expect_int(job.last.frames_done, 2 * n);
    expect_int(job.last.frames_total, 2 * n);
    expect_int(direct_read(fixture_path("out.mkv"), out, 2 * N_MAX), 2 * n);
    direct_init(&direct, network);
    direct_between(&direct, trial->cuts, in, n, &out[0]->format, wanted);
    direct_done(&direct);
    for (int i = 0; i < 2 * n; i++) {
        if (direct_compare(out[i], wanted[i], &most) > 0)
            test_fail("frame %d of %d differs by %d", i, 2 * n, most);
        /* Not by way of RGB and back. */
        if (!pixel_format && i % 2 == 0)
            expect_int(direct_compare(out[i], in[i / 2], &most), 0);
        if (i % 2 == 0)
            expect_near((double)out[i]->pts, (double)in[i / 2]->pts, 0);
    }
    for (int i = 0; i < 2 * n; i++) {
        vrt_frame_unref(out[i]);
        vrt_frame_unref(wanted[i]);
    }
    for (int i = 0; i < n; i++)
        vrt_frame_unref(in[i]);
    vrt_network_unref(network);
}

/* However few; with tiles; to another format, where scenes change, too; on several devices. */
static void test_between(void)
{
    static const int cuts[] = { 4, 7, 0 };
    const char *scenes = fixture_make("scenes.mkv",
        "-f lavfi -i testsrc2=s=64x64:r=25:d=0.16 -f lavfi -i mandelbrot=s=64x64:r=25 "
        "-f lavfi -i smptebars=s=64x64:r=25:d=0.08 -filter_complex "
        "'[1]trim=end_frame=3[m];[0][m][2]concat=n=3' -frames:v 9 -c:v ffv1 -pix_fmt yuv444p");

    for (int n = 1; n < 4; n += 2)
        expect_between(&(struct trial){ .n = n, .w = 64, .h = 64 }, NULL, 1);
    expect_between(&(struct trial){ .n = 2, .w = 66, .h = 40 }, NULL, 1);
    expect_between(&(struct trial){ .n = 4, .w = 64, .h = 64 }, "yuv420p", 1);
    const struct trial trial = { .n = 9, .input = scenes, .cuts = cuts };
    expect_between(&trial, NULL, 4);
    expect_between(&trial, "yuv422p", 2);
}

/* The same bits from one, two and four devices. */
static void test_devices_agree(void)
{
    const struct trial trials[] = {
        { .n = 5, .w = 64, .h = 64, .is_vrt = true, .asked = { .clip = 3 } },
        { .n = 23, .w = 80, .h = 64, .asked = { .tile = 64, .overlap = 12, .clip = 6 } },
        { .n = 23, .w = 80, .h = 64, .asked = { .tile = 64, .overlap = 12, .clip = 6,
                                                .tiling = VRT_TILING_OFFICIAL } },
        /* Between frames. */
        { .n = 3, .w = 120, .h = 64, .asked = { .tile = 64, .overlap = 12 } },
    };

    for (size_t t = 0; t < sizeof(trials) / sizeof(trials[0]); t++) {
        struct vrt_network *network = t == 3 ? new_between() :
                                               new_network(0, false, trials[t].is_vrt);
        const char *input = video(trials[t].n, trials[t].w, trials[t].h);
        char sums[2][64];
        for (int i = 0; i < 2; i++) {
            struct flow_job job = { .cancel_at = -1 };
            restore(&trials[t], input, network, 1 + 3 * i, &job);
            expect_str(job.error.message, "");
            expect_true(job.info.reproducible);
            expect_int(job.last.frames_done, t == 3 ? 6 : trials[t].n);
            expect_int(job.last.n_devices, 1 + 3 * i);
            snprintf(sums[i], sizeof(sums[i]), "%s", fixture_run("md5sum < out.mkv"));
        }
        expect_str(sums[1], sums[0]);
        vrt_network_unref(network);
    }
}

TEST_MAIN_AFTER(fixture_init(),
    { "clips", test_clips },
    { "vrt", test_vrt },
    { "tiles", test_tiles },
    { "official", test_official },
    { "sizes", test_sizes },
    { "scenes", test_scenes },
    { "devices-agree", test_devices_agree },
    { "between", test_between },
)
