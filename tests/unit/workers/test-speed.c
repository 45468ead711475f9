/* SPDX-License-Identifier: MIT */
/* workers/speed, and what time a shard's ops take: on devices whose speed is known. */

#include <errno.h>

#include "tests/unit/model/builtin-network.h"
#include "tests/unit/test.h"
#include "tests/unit/workers/bench-device.h"
#include "workers/device/speed.h"

static struct vrt_speed_measurement trial_of(struct bench_executor *bench, int width, int height)
{
    return (struct vrt_speed_measurement){
        .network = bench->network,
        .dtype = VRT_DTYPE_F32,
        .width = width,
        .height = height,
        .watch = { bench_go_on, bench },
    };
}

/* Of one frame, by the graph that a session of it has. */
static double frame_flops(struct bench_executor *bench, int width, int height)
{
    struct vrt_job_spec_size size;
    struct vrt_session_plan plan;
    struct vrt_job_spec *spec;

    expect_int(vrt_speed_spec_new(bench->network, width, height, &spec), 0);
    size = vrt_job_spec_size(spec);
    expect_int(vrt_session_plan(bench->device, spec, &size, VRT_DTYPE_F32, &plan), 0);
    expect_int(vrt_speed_frame_flops(spec, plan.tile_flops), plan.tile_flops);
    spec->grid = vrt_tile_grid_of_size(width, height, width / 2 + 20, spec->needs);
    expect_int(vrt_speed_frame_flops(spec, 10), 10 * spec->grid.x.n * spec->grid.y.n);
    vrt_job_spec_unref(spec);
    return (double)plan.tile_flops;
}

/* A frame is three submissions (to RGB, network, to planes), here of 0.3 s each: so slow a device
 * is judged by one frame of the smallest size. */
static void test_slow(void)
{
    struct vrt_error error = { 0 };
    struct bench_executor bench;
    double flops_per_s = 0;

    bench_executor_init(&bench, "cpu:0", 1, "cpu submit:1- delay=300ms", builtin_network());
    struct vrt_speed_measurement measurement = trial_of(&bench, 1920, 1080);
    expect_int(vrt_speed_measure(bench.executor, &measurement, &flops_per_s, &error), 0);
    double wanted = frame_flops(&bench, 32, 32) / 0.9;
    /* A busy machine is slower still. A larger frame would be by far too fast. */
    if (!(flops_per_s > 0 && flops_per_s <= wanted))
        test_fail("measured %g, not %g at the most", flops_per_s, wanted);
    bench_executor_done(&bench);
}

/* Small frames are no reason to try larger ones than asked for; nothing but the replica is left. */
static void test_small(void)
{
    struct vrt_error error = { 0 };
    struct vrt_device_executor_usage usage;
    struct bench_executor bench;
    double flops_per_s = 0;

    bench_executor_init(&bench, "cpu:0", 1, NULL, builtin_network());
    struct vrt_speed_measurement measurement = trial_of(&bench, 40, 9);
    expect_int(vrt_speed_measure(bench.executor, &measurement, &flops_per_s, &error), 0);
    expect_true(flops_per_s > 1e6 && flops_per_s < 1e14);
    vrt_device_executor_usage(bench.executor, &usage);
    expect_int(usage.used_bytes, usage.replica_bytes);
    expect_int(usage.n_replicas, 1);
    bench_executor_done(&bench);
}

/* Who doesn't want it any more, and a device that can't, or can once, get no number; what comes out
 * may look like nothing: it is about time. */
static void test_no_number(void)
{
    static const struct {
        const char *fault;
        int r;
    } cases[] = {
        { "cpu submit:2 lost", VRT_BACKEND_E_LOST }, { "cpu submit:5 fail", VRT_BACKEND_E_FAILED },
        { "cpu alloc:3- nomem", VRT_BACKEND_E_NOMEM }, { NULL, -ECANCELED },
        { "cpu submit:1- corrupt=nan", 0 },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct vrt_error error = { 0 };
        struct bench_executor bench;
        double flops_per_s = -7;
        bench_executor_init(&bench, "cpu:0", 1, cases[i].fault, builtin_network());
        bench.n_left = cases[i].fault ? -1 : 0;
        struct vrt_speed_measurement measurement = trial_of(&bench, 64, 64);
        expect_int(vrt_speed_measure(bench.executor, &measurement, &flops_per_s, &error),
                   cases[i].r);
        expect_true(cases[i].r ? flops_per_s == -7 : flops_per_s > 0);
        expect_int(error.message[0] != '\0', cases[i].r != 0);
        bench_executor_done(&bench);
    }
}

static void check_by_ops(const char *device)
{
    struct vrt_shard_frames shards[2];
    struct vrt_op_times op_times = { 0 };
    struct vrt_session_times times = { 0 };
    struct vrt_error error = { 0 };
    struct bench_executor bench;
    struct vrt_job_spec *spec;
    int64_t sum_ns = 0, flops = 0;
    const int w = 96, h = 64, n = 2;

    bench_executor_init(&bench, device, 1, NULL, builtin_network());
    expect_int(vrt_speed_spec_new(bench.network, w, h, &spec), 0);
    spec->grid = vrt_tile_grid_of_size(w, h, 64, spec->needs);
    const int n_tiles = spec->grid.x.n * spec->grid.y.n;
    expect_true(n_tiles > 1);
    for (int i = 0; i < 2; i++) {
        const struct vrt_device_executor_order order = { .spec = spec, .dtype = VRT_DTYPE_F32,
                                                .watch = { bench_go_on, &bench },
                                                .op_times = i ? &op_times : NULL };
        expect_int(vrt_speed_shard_init(spec, n, &shards[i]), 0);
        times = (struct vrt_session_times){ 0 };
        expect_int(vrt_device_executor_run(bench.executor, &order, &shards[i], &times, &error), 0);
        expect_int(op_times.n_ops[VRT_OP_CONV2D] > 0, i);
    }
    for (int i = 0; i < n; i++)
        expect_true(bench_same_pixels(shards[0].out[i], shards[1].out[i]));
    /* Ten convolutions a tile, and for each frame the ops around the network. */
    expect_int(op_times.n_ops[VRT_OP_CONV2D], n * n_tiles * 10);
    expect_int(op_times.n_ops[VRT_OP_YUV_TO_RGB], n);
    expect_int(op_times.n_ops[VRT_OP_RGB_TO_YUV], n);
    expect_int(op_times.n_ops[VRT_OP_RANGE], n);
    expect_int(op_times.n_ops[VRT_OP_RESIZE], 0);
    for (int kind = 0; kind < VRT_OP_KIND_COUNT; kind++) {
        sum_ns += op_times.ns[kind];
        flops += op_times.flops[kind];
        expect_int(op_times.ns[kind] > 0, op_times.n_ops[kind] > 0);
    }
    expect_true(sum_ns <= times.compute_ns && sum_ns > times.compute_ns / 4);
    const struct vrt_job_spec_size size = vrt_job_spec_size(spec);
    struct vrt_session_plan plan;
    expect_int(vrt_session_plan(bench.device, spec, &size, VRT_DTYPE_F32, &plan), 0);
    expect_true(flops >= n * vrt_speed_frame_flops(spec, plan.tile_flops));
    for (int i = 0; i < 2; i++)
        vrt_speed_shard_done(&shards[i]);
    vrt_device_executor_release(bench.executor, spec);
    vrt_job_spec_unref(spec);
    bench_executor_done(&bench);
}

/* What clips share is computed twice; a short one has less of it. Only numbers: the network would
 * see a clip's frames one by one. */
static void test_flops(void)
{
    struct vrt_shard_frames frames = { .n = 3, .n_new = 3, .depth = 1 };
    struct bench_executor bench;
    struct vrt_job_spec *spec;

    bench_executor_init(&bench, "ref:0", 1, NULL, builtin_network());
    expect_int(vrt_speed_spec_new(bench.network, 96, 64, &spec), 0);
    expect_int(vrt_speed_frame_flops(spec, 100), 100);
    expect_near(vrt_speed_shard_flops(spec, 100, &frames), 300, 0);
    spec->rule = (struct vrt_clip_rule){ .temporal = true, .overlap = { .size = 6, .shared = 2 } };
    frames = (struct vrt_shard_frames){ .n = 6, .n_new = 4, .depth = 6 };
    expect_int(vrt_speed_frame_flops(spec, 100), 25);
    expect_near(vrt_speed_shard_flops(spec, 100, &frames), 100, 0);
    frames = (struct vrt_shard_frames){ .n = 2, .n_new = 2, .depth = 3 };
    expect_near(vrt_speed_shard_flops(spec, 100, &frames), 50, 0);
    spec->grid = vrt_tile_grid_of_size(96, 64, 64, spec->needs);
    expect_near(vrt_speed_shard_flops(spec, 100, &frames), 50 * spec->grid.x.n * spec->grid.y.n, 0);
    expect_true(spec->grid.x.n > 1);
    vrt_job_spec_unref(spec);
    bench_executor_done(&bench);
}

static void test_by_ops(void)
{
    check_by_ops("ref:0");
    check_by_ops("cpu:0");
}

/* Sizes that no frame has are refused; the smallest and odd ones are not. */
static void test_sizes(void)
{
    static const struct {
        int width, height, r;
    } cases[] = {
        { 8, 8, 0 }, { 9, 17, 0 }, { 1, 1, 0 }, { 0, 8, -EINVAL }, { 16384, 16384, 0 },
        { 20000, 8, -EINVAL },
    };
    struct bench_executor bench;

    bench_executor_init(&bench, "ref:0", 1, NULL, builtin_network());
    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct vrt_job_spec *spec = NULL;
        expect_int(vrt_speed_spec_new(bench.network, cases[i].width, cases[i].height, &spec),
                   cases[i].r);
        vrt_job_spec_unref(spec);
    }
    bench_executor_done(&bench);
}

TEST_MAIN(
    { "slow", test_slow }, { "small", test_small }, { "no-number", test_no_number },
    { "flops", test_flops }, { "by-ops", test_by_ops }, { "sizes", test_sizes },
)
