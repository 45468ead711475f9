/* SPDX-License-Identifier: MIT */

/*
 * Memory of networks that see clips: planned to the byte, and the largest clip and tile that it
 * has room for
 */

#include <errno.h>

#include "model/test-picture.h"
#include "tests/unit/test.h"
#include "tests/unit/model/vrt-fixture.h"
#include "tests/unit/model/weight-rule.h"
#include "tests/unit/workers/bench-device.h"
#include "workers/plan/colour-graph.h"
#include "workers/plan/fidelity.h"
#include "workers/device/session/fit.h"

#define W 136
#define H 96
#define CLIP 6
#define N_FITS_MAX 64

struct bench {
    struct vrt_registry *registry;
    struct vrt_device *device;
    struct vrt_network *network;
    struct vrt_job_spec *spec;
};

/* A VRT on frames of W x H, in clips of `frames`: small; or, with features that outweigh its flows
 * as those of all real ones do, untrained. */
static void bench_init(struct bench *bench, enum vrt_tile_joint joint, int frames, bool is_small)
{
    struct vrt_fixture vrt = { .sizes = vrt_sizes_small(), .seed = is_small ? 7 : 0,
                               .flow_gain = RULE_FLOW_STEADY };
    struct fixture f = { 0 };
    struct vrt_frame_format in = bench_format(W, H, 8);
    struct vrt_frame_format out = bench_format(2 * W, 2 * H, 8);

    if (!is_small) {
        vrt.sizes.features = 60;
        vrt.sizes.tail_features = 90;
    }
    fixture_add_vrt(&f, &vrt);
    bench->network = fixture_network(&f);
    bench->device = bench_open("cpu:0", 2, NULL, &bench->registry);
    expect_int(vrt_job_spec_new(bench->network, &in, &out, &bench->spec), 0);

    const struct vrt_network_info *network = vrt_network_info(bench->network);
    bench->spec->rule = (struct vrt_clip_rule){
        .overlap = { .size = frames, .shared = 2 },
        .temporal = true,
        .least = network->min_frames,
        .multiple = network->window_frames,
    };
    bench->spec->needs = vrt_tile_needs_blended(joint, network->multiple, network->min_size, 20);
    bench->spec->grid = vrt_tile_whole(W, H);
}

static void bench_done(struct bench *bench)
{
    vrt_job_spec_unref(bench->spec);
    vrt_network_unref(bench->network);
    bench_close(bench->device, bench->registry);
}

/* Not every processor multiplies bf16. */
static bool has_type(const struct bench *bench, enum vrt_dtype dtype)
{
    return dtype == VRT_DTYPE_F32 || dtype == vrt_device_info(bench->device)->preferred_dtype;
}

static struct vrt_replica *new_replica(const struct bench *bench, enum vrt_dtype dtype)
{
    struct vrt_replica *replica;
    size_t n;
    const struct vrt_param *params = vrt_network_params(bench->network, &n);

    expect_int(vrt_replica_new(bench->device, params, n, dtype, &replica), 0);
    return replica;
}

/* A session takes exactly what was planned: in one piece, and in tiles of either kind, with any
 * number of clips in flight. */
static void test_plan_is_exact(void)
{
    static const struct {
        enum vrt_tile_joint joint;
        int frames, tile;
        enum vrt_dtype dtype;
    } cases[] = {
        { VRT_TILES_FEATHERED, 6, 0, VRT_DTYPE_F32 },
        { VRT_TILES_FEATHERED, 6, 0, VRT_DTYPE_BF16 },
        { VRT_TILES_FEATHERED, 3, 96, VRT_DTYPE_F32 },
        { VRT_TILES_AVERAGED, 3, 64, VRT_DTYPE_BF16 },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct vrt_session_plan plan;
        struct vrt_session *session;
        struct bench bench;

        bench_init(&bench, cases[i].joint, cases[i].frames, true);
        if (!has_type(&bench, cases[i].dtype)) {
            bench_done(&bench);
            continue;
        }
        if (cases[i].tile)
            bench.spec->grid = vrt_tile_grid_of_size(W, H, cases[i].tile, bench.spec->needs);
        struct vrt_replica *replica = new_replica(&bench, cases[i].dtype);
        const int64_t before = vrt_device_used_bytes(bench.device);
        const struct vrt_job_spec_size size = vrt_job_spec_size(bench.spec);

        expect_int(vrt_session_plan(bench.device, bench.spec, &size, cases[i].dtype, &plan), 0);
        expect_int(vrt_device_used_bytes(bench.device), before);
        const struct vrt_session_params params = {
            .spec = bench.spec,
            .replica = replica,
            .dtype = cases[i].dtype,
            .n_in_flight = 1 + (int)i % VRT_DEVICE_IN_FLIGHT,
            .batch = size.frames,
        };
        const size_t planned = plan.bytes + (size_t)(params.n_in_flight - 1) * plan.slot_bytes;
        expect_int(vrt_session_new(bench.device, &params, &session), 0);
        expect_int(vrt_session_bytes(session), planned);
        expect_int(vrt_device_used_bytes(bench.device) - before, planned);
        vrt_session_free(session);
        expect_int(vrt_device_used_bytes(bench.device), before);
        vrt_replica_free(bench.device, replica);
        bench_done(&bench);
    }
}

static bool is_same(const struct vrt_fit *a, const struct vrt_fit *b)
{
    return a->size.frames == b->size.frames && a->size.grid.x.size == b->size.grid.x.size &&
           a->size.grid.y.size == b->size.grid.y.size && a->size.grid.x.n == b->size.grid.x.n &&
           a->size.grid.y.n == b->size.grid.y.n && a->plan.bytes == b->plan.bytes;
}

/* From all that is wanted down to the smallest, each time with one byte too few for the last:
 * never more than is allowed, ever smaller, and found again with exactly what it needs. */
static int descend(struct bench *bench, struct vrt_fit_params *params, struct vrt_fit *fits)
{
    int n = 0, r;

    params->spec = bench->spec;
    params->allowed_bytes = -1;
    while ((r = vrt_fit_find(bench->device, params, &fits[n])) == 0) {
        const struct vrt_fit *fit = &fits[n];
        struct vrt_fit again;

        if (n > 0) {
            expect_true((int64_t)fit->plan.bytes <= params->allowed_bytes);
            expect_true(vrt_fit_is_smaller(&fit->size, &fits[n - 1].size));
            expect_true(!vrt_fit_is_smaller(&fits[n - 1].size, &fit->size));
        }
        params->allowed_bytes = (int64_t)fit->plan.bytes;
        expect_int(vrt_fit_find(bench->device, params, &again), 0);
        expect_true(is_same(&again, fit));
        params->allowed_bytes--;
        expect_true(++n < N_FITS_MAX);
    }
    /* What it says then is the smallest there is. */
    expect_int(r, -ENOSPC);
    expect_true(is_same(&fits[n], &fits[n - 1]));
    return n;
}

static void test_descend(void)
{
    static const enum vrt_tile_joint joints[] = { VRT_TILES_FEATHERED, VRT_TILES_AVERAGED };

    for (size_t i = 0; i < sizeof(joints) / sizeof(joints[0]); i++) {
        struct vrt_fit_params params = { .dtype = VRT_DTYPE_F32 };
        struct vrt_fit fits[N_FITS_MAX];
        struct bench bench;

        bench_init(&bench, joints[i], CLIP, false);
        const int least = vrt_network_info(bench.network)->window_frames;
        int n = descend(&bench, &params, fits);
        expect_true(n > 4);
        /* The whole clip and frame first; a single window in the least of tiles last. */
        expect_int(fits[0].size.frames, CLIP);
        expect_int(fits[0].size.grid.x.n * fits[0].size.grid.y.n, 1);
        expect_int(fits[n - 1].size.frames, least);
        expect_true(fits[n - 1].size.grid.x.size < 72 && fits[n - 1].size.grid.y.size < 72);
        for (int k = 0; k < n; k++) {
            const int frames = fits[k].size.frames;

            /* Whole windows; and short ones before tiles are cut smaller than is good. */
            expect_int(frames % least, 0);
            if (frames > least && fits[k].size.grid.x.n > 1)
                expect_true(fits[k].size.grid.x.size >= 128);
        }
        bench_done(&bench);
    }
}

/* What was asked for stays: where that is too much, nothing fits. */
static void test_exact(void)
{
    struct vrt_fit_params params = { .dtype = VRT_DTYPE_F32 };
    struct vrt_fit fits[N_FITS_MAX];
    struct bench bench;

    bench_init(&bench, VRT_TILES_FEATHERED, CLIP, false);
    bench.spec->recipe.exact_clip = true;
    int n = descend(&bench, &params, fits);
    expect_true(n > 1);
    for (int k = 0; k < n; k++)
        expect_int(fits[k].size.frames, CLIP);

    bench.spec->recipe.exact_clip = false;
    bench.spec->recipe.exact_tile = true;
    n = descend(&bench, &params, fits);
    expect_true(n > 1);
    for (int k = 0; k < n; k++)
        expect_int(fits[k].size.grid.x.n * fits[k].size.grid.y.n, 1);

    bench.spec->recipe.exact_clip = true;
    expect_int(descend(&bench, &params, fits), 1);
    bench.spec->recipe.exact_clip = bench.spec->recipe.exact_tile = false;
    params.is_fixed = true;
    expect_int(descend(&bench, &params, fits), 1);
    bench_done(&bench);
}

/* A size that proved to be too large is followed by clearly smaller ones, and soon by none, though
 * nobody says how much memory there is. */
static void test_smaller(void)
{
    static const struct {
        bool exact_tile, exact_clip;
        int n_max;
    } cases[] = {
        { false, false, 12 }, { true, false, 2 }, { false, true, 12 }, { true, true, 0 },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct vrt_fit_params params = {
            .dtype = VRT_DTYPE_F32, .allowed_bytes = -1, .smaller = true,
        };
        struct bench bench;
        struct vrt_fit fit;
        int64_t bytes = INT64_MAX;
        int n = 0, r;

        bench_init(&bench, VRT_TILES_FEATHERED, CLIP, false);
        bench.spec->recipe.exact_tile = cases[i].exact_tile;
        bench.spec->recipe.exact_clip = cases[i].exact_clip;
        params.spec = bench.spec;
        while ((r = vrt_fit_find(bench.device, &params, &fit)) == 0) {
            const struct vrt_job_spec_size old = vrt_job_spec_size(bench.spec);
            expect_true(vrt_fit_is_smaller(&fit.size, &old));
            expect_true((int64_t)fit.plan.bytes < bytes);
            bytes = (int64_t)fit.plan.bytes;
            bench.spec->grid = fit.size.grid;
            bench.spec->rule.overlap.size = fit.size.frames;
            n++;
        }
        expect_int(r, -ENOSPC);
        expect_true(n <= cases[i].n_max && (n > 0) == (cases[i].n_max > 0));
        bench_done(&bench);
    }
}

static int run_trial(void *ctx, enum vrt_dtype dtype, float *out)
{
    struct bench *bench = ctx;
    struct vrt_replica *replica = new_replica(bench, dtype);
    int r = vrt_test_picture_run(bench->device, bench->network, replica, dtype, out);

    vrt_replica_free(bench->device, replica);
    return r;
}

/* Precision is measured on a clip: nothing is lost in the same, something in bf16. */
static void test_fidelity(void)
{
    struct bench bench;
    double db;

    bench_init(&bench, VRT_TILES_FEATHERED, CLIP, true);
    struct vrt_fidelity_params params = {
        .network = bench.network, .dtype = VRT_DTYPE_F32, .run = run_trial, .ctx = &bench,
    };
    expect_int(vrt_fidelity_measure(&params, &db), 0);
    expect_near(db, 200, 0);
    params.dtype = VRT_DTYPE_BF16;
    if (has_type(&bench, params.dtype)) {
        expect_int(vrt_fidelity_measure(&params, &db), 0);
        expect_true(db > 30 && db < 120);
    }
    bench_done(&bench);
}

/* Where a frame's chroma lies is where the ops take it to lie. */
static void test_chroma_sites(void)
{
    static const int sites[][2] = {
        { VRT_CHROMA_LOCATION_LEFT, VRT_CHROMA_LEFT },
        { VRT_CHROMA_LOCATION_CENTER, VRT_CHROMA_CENTER },
        { VRT_CHROMA_LOCATION_TOP_LEFT, VRT_CHROMA_TOP_LEFT },
    };
    struct vrt_frame_format format = bench_format(W, H, 8);
    struct vrt_op_colour op;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(sites); i++) {
        format.chroma_location = sites[i][0];
        expect_int(vrt_colour_op_of(&format, &op), 0);
        expect_int(op.site, sites[i][1]);
    }
    format.matrix = VRT_FRAME_MATRIX_COUNT;
    expect_int(vrt_colour_op_of(&format, &op), -EINVAL);
}

TEST_MAIN(
    { "plan-is-exact", test_plan_is_exact },
    { "descend", test_descend },
    { "exact", test_exact },
    { "smaller", test_smaller },
    { "fidelity", test_fidelity },
    { "chroma-sites", test_chroma_sites },
)
