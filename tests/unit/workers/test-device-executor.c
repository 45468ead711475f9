/* SPDX-License-Identifier: MIT */

/* A device executor: tiles that don't show, memory as planned, results that can't be right. */

#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/unit/model/builtin-network.h"
#include "tests/unit/model/model-fixture.h"
#include "tests/unit/test.h"
#include "tests/unit/workers/bench-device.h"
#include "workers/device/device-executor-impl.h"

#define W 190
#define H 134

/* A bench of the network, which it takes over, on 16-bit frames of width x height. */
static void bench_init_sized(struct bench_executor *bench, const char *device,
                             struct vrt_network *network, int width, int height)
{
    int scale = vrt_network_info(network)->scale;
    struct vrt_frame_format in = bench_format(width, height, 16);
    struct vrt_frame_format out = bench_format(width * scale, height * scale, 16);

    bench_executor_init(bench, device, 2, NULL, network);
    expect_int(vrt_job_spec_new(network, &in, &out, &bench->spec), 0);
    bench->spec->recipe.precision = VRT_PRECISION_F32;
}

static void bench_init(struct bench_executor *bench, const char *device,
                       struct vrt_network *network)
{
    bench_init_sized(bench, device, network, W, H);
}

/* A picture with shading and texture. */
static struct vrt_frame *picture(const struct vrt_frame_format *format)
{
    struct vrt_frame *frame = NULL;

    expect_int(vrt_frame_new(format, &frame), 0);
    for (int p = 0; p < 3; p++) {
        for (int y = 0; y < frame->planes[p].height; y++) {
            uint16_t *row = (uint16_t *)(void *)(frame->planes[p].data +
                                                 (size_t)y * frame->planes[p].stride_bytes);
            for (int x = 0; x < frame->planes[p].width; x++)
                row[x] = (uint16_t)(30000 + 15000 * sin(0.13 * x + p) * cos(0.21 * y) +
                                    (x * 7919 + y * 104729 + p * 31) % 4001);
        }
    }
    return frame;
}

/* Restores one picture. Return: what the device executor did; *ret_out on 0, to be unreferenced. */
static int run(struct bench_executor *bench, enum vrt_dtype dtype, struct vrt_frame **ret_out,
               struct vrt_error *error)
{
    const struct vrt_device_executor_order order = { .spec = bench->spec, .dtype = dtype,
                                          .watch = { bench_go_on, bench } };
    struct vrt_shard_frames frames = { .n = 1, .in = { picture(&bench->spec->in) } };
    struct vrt_session_times times = { 0 };
    int r;

    frames.in[0]->pts = 77;
    frames.in[0]->duration = 3;
    frames.in[0]->index = 5;
    frames.in[0]->concealed = true;
    const int64_t start_ns = vrt_clock_now_ns();
    r = vrt_device_executor_run(bench->executor, &order, &frames, &times, error);
    vrt_frame_unref(frames.in[0]);
    expect_int(frames.out[0] != NULL, r == 0);
    if (r)
        return r;
    expect_int(frames.out[0]->pts, 77);
    expect_int(frames.out[0]->duration, 3);
    expect_int(frames.out[0]->index, 5);
    expect_true(frames.out[0]->concealed);
    expect_true(times.upload_ns > 0 && times.compute_ns > 0 && times.download_ns > 0);
    expect_true(times.upload_ns + times.compute_ns + times.download_ns <=
                vrt_clock_now_ns() - start_ns);
    *ret_out = frames.out[0];
    return 0;
}

struct difference {
    int worst;                      /* in 65535ths of white */
    double psnr_db;
};

static struct difference compare(const struct vrt_frame *a, const struct vrt_frame *b)
{
    double sum = 0, n = 0;
    int worst = 0;

    for (int p = 0; p < 3; p++) {
        for (int y = 0; y < a->planes[p].height; y++) {
            const uint16_t *ra = (const uint16_t *)(const void *)(a->planes[p].data +
                                 (size_t)y * a->planes[p].stride_bytes);
            const uint16_t *rb = (const uint16_t *)(const void *)(b->planes[p].data +
                                 (size_t)y * b->planes[p].stride_bytes);
            for (int x = 0; x < a->planes[p].width; x++, n++) {
                worst = abs(ra[x] - rb[x]) > worst ? abs(ra[x] - rb[x]) : worst;
                sum += pow((ra[x] - rb[x]) / 65535.0, 2);
            }
        }
    }
    return (struct difference){ worst, sum > 0 ? -10 * log10(sum / n) : INFINITY };
}

/* Restores the picture whole and in tiles. */
static struct difference compare_tiles(struct bench_executor *bench, int size)
{
    const struct vrt_frame_format *in = &bench->spec->in;
    struct vrt_frame *whole = NULL, *tiled = NULL;

    expect_int(run(bench, VRT_DTYPE_F32, &whole, NULL), 0);
    vrt_device_executor_release(bench->executor, bench->spec);
    bench->spec->grid = vrt_tile_grid_of_size(in->width, in->height, size, bench->spec->needs);
    expect_true(bench->spec->grid.x.n > 1 && bench->spec->grid.y.n > 1);
    expect_int(run(bench, VRT_DTYPE_F32, &tiled, NULL), 0);
    const struct difference difference = compare(whole, tiled);
    vrt_frame_unref(whole);
    vrt_frame_unref(tiled);
    return difference;
}

/* The overlap is the network's radius. */
static void check_tiles(struct vrt_network *network, int size)
{
    struct bench_executor bench;

    bench_init(&bench, "cpu:0", network);
    expect_true(compare_tiles(&bench, size).worst <= 2);
    bench_executor_done(&bench);
}

/* `value`: of every weight, where it isn't NULL. */
static struct vrt_network *small_esrgan(const float *value)
{
    struct fixture f = { .seed = 3 };
    const struct fixture_esrgan esrgan = { .naming = FIXTURE_NEW, .in = value ? 3 : 12, .out = 3,
                                           .features = 8, .blocks = 1, .growth = 4, .ups = 2 };

    fixture_add_esrgan(&f, &esrgan);
    for (size_t i = 0; value && i < f.data.size_bytes; i += sizeof(*value))
        memcpy(f.data.data + i, value, sizeof(*value));
    return fixture_network(&f);
}

/* The plainest loops are slow: a small picture, but with tiles at every kind of edge. */
static void test_tiles_ref(void)
{
    struct bench_executor bench;

    bench_init_sized(&bench, "ref:0", builtin_network(), 92, 92);
    expect_true(compare_tiles(&bench, 48).worst <= 2);
    expect_int(bench.spec->grid.x.n, 3);
    expect_int(bench.spec->grid.y.n, 3);
    bench_executor_done(&bench);
}

static void test_tiles_cpu(void)
{
    struct fixture gray = { .seed = 9 };
    const struct fixture_compact compact = { .channels = 1, .features = 8, .convs = 2, .scale = 2,
                                             .act = 'p' };

    check_tiles(builtin_network(), 50);
    check_tiles(builtin_network(), 81);
    fixture_add_compact(&gray, &compact);
    check_tiles(fixture_network(&gray), 60);
}

/* With pixel-unshuffle: tiles on its grid, a frame that isn't. */
static void test_tiles_unshuffled(void)
{
    struct vrt_network *network = small_esrgan(NULL);
    struct vrt_tile_needs needs = vrt_tile_needs(vrt_network_info(network)->multiple,
                                                 vrt_network_info(network)->radius, -1);

    expect_int(vrt_network_info(network)->multiple, 2);
    expect_true(vrt_tile_min_size(needs) <= 120);
    check_tiles(network, 120);
}

/* 23 blocks, as the large networks have, but narrow: its radius is far beyond any overlap. The
 * last layer is toned down, so that the output spreads about gray and little of it is clipped. */
static struct vrt_network *deep_esrgan(void)
{
    struct fixture f = { .seed = 5 };
    const struct fixture_esrgan esrgan = { .naming = FIXTURE_NEW, .in = 3, .out = 3,
                                           .features = 16, .blocks = 23, .growth = 8, .ups = 1 };

    fixture_add_esrgan(&f, &esrgan);
    float *end = (float *)(void *)(f.data.data + f.data.size_bytes);
    for (int i = 1; i <= 3; i++)
        end[-i] = 0.5f;
    for (int i = 4; i <= 3 + 3 * 16 * 9; i++)
        end[-i] *= 0.12f;
    return fixture_network(&f);
}

static void test_tiles_deep(void)
{
    struct bench_executor bench;

    bench_init(&bench, "cpu:0", deep_esrgan());
    expect_true(vrt_network_info(bench.network)->radius > 300);
    expect_int(bench.spec->needs.overlap, 32);
    const struct difference difference = compare_tiles(&bench, 110);
    expect_true(difference.psnr_db >= 60);
    expect_true(difference.worst > 0);
    bench_executor_done(&bench);
}

/* What probe promises is what the device has given, to the byte. */
static void test_planned(void)
{
    struct vrt_frame *out = NULL;
    struct vrt_error error = { 0 };
    struct bench_executor bench;
    struct vrt_device_executor_usage usage;

    bench_init(&bench, "cpu:0", builtin_network());
    for (int size = 0; size < 100; size += 50) {
        if (size)
            bench.spec->grid = vrt_tile_grid_of_size(W, H, size, bench.spec->needs);
        struct vrt_probe probe = { .spec = bench.spec };
        expect_int(vrt_device_executor_probe(bench.executor, &probe, &error), 0);
        expect_int(probe.dtype, VRT_DTYPE_F32);
        expect_true(probe.tile_flops > 0);
        expect_int(run(&bench, probe.dtype, &out, NULL), 0);
        vrt_frame_unref(out);
        expect_int(vrt_device_used_bytes(bench.device), probe.planned_bytes);
        expect_int(vrt_device_executor_job_bytes(bench.executor, bench.spec), probe.planned_bytes);
        vrt_device_executor_release(bench.executor, bench.spec);
        vrt_device_executor_usage(bench.executor, &usage);
        expect_int(usage.workspace_bytes, 0);
        expect_int(usage.used_bytes, usage.replica_bytes);
        expect_true(usage.peak_bytes >= probe.planned_bytes);
    }
    expect_int(usage.n_replicas, 1);
    expect_int(vrt_device_executor_trim(bench.executor, INT64_MAX), 0);
    expect_true(vrt_device_used_bytes(bench.device) > 0);
    const int64_t peak_bytes = usage.peak_bytes;
    expect_int(vrt_device_executor_reset_peak(bench.executor), peak_bytes);
    vrt_device_executor_usage(bench.executor, &usage);
    expect_true(usage.peak_bytes < peak_bytes);
    expect_int(usage.peak_bytes, usage.replica_bytes);
    expect_int(vrt_device_executor_trim(bench.executor, 0), usage.replica_bytes);
    expect_int(vrt_device_used_bytes(bench.device), 0);
    expect_int(vrt_device_executor_reset_peak(bench.executor), usage.peak_bytes);
    vrt_device_executor_usage(bench.executor, &usage);
    expect_int(usage.peak_bytes, 0);
    bench_executor_done(&bench);
}

/* Nothing fits: how much is missing, and what would help. */
static void expect_cures(struct bench_executor *bench, int64_t limit_bytes)
{
    static const struct {
        bool exact_tile, exact_clip, is_cut;
        const char *cure;
    } cases[] = {
        { false, false, true, "ask for another device, or see memory_limit in vrtd.conf(5)" },
        { true, true, false, "leave tile out, or see memory_fraction in vrtd.conf(5)" },
        { true, true, true, "ask for a smaller tile, or for none" },
        { false, true, true, "ask for shorter clips, or for none" },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct vrt_probe probe = { .spec = bench->spec, .memory_fraction = 1 };
        struct vrt_error error = { 0 };
        char wanted[200];
        bench->spec->recipe.exact_tile = cases[i].exact_tile;
        bench->spec->recipe.exact_clip = cases[i].exact_clip;
        bench->spec->grid = cases[i].is_cut ? vrt_tile_grid_of_size(W, H, 64, bench->spec->needs) :
                                              vrt_tile_whole(W, H);
        expect_int(vrt_device_executor_probe(bench->executor, &probe, &error), -ENOSPC);
        snprintf(wanted, sizeof(wanted), "the job needs %d MiB of cpu:0, which has %d MiB to give: "
                 "%s", (int)ceil((double)probe.planned_bytes / (1 << 20)),
                 (int)(limit_bytes >> 20), cases[i].cure);
        expect_str(error.message, wanted);
    }
}

/* A device of limited memory is planned, told and held to be as small as that. */
static void test_limited(void)
{
    struct vrt_probe probe = { .memory_fraction = 0.5 };
    struct vrt_device_executor_params params = { .n_sharing = 1 };
    struct vrt_device_executor_usage usage;
    struct vrt_frame *out = NULL;
    struct vrt_error error = { 0 };
    struct bench_executor bench;

    bench_init(&bench, "cpu:0", builtin_network());
    probe.spec = bench.spec;
    expect_int(vrt_device_executor_probe(bench.executor, &probe, &error), 0);
    expect_int(probe.size.grid.x.n * probe.size.grid.y.n, 1);
    int64_t whole_bytes = probe.planned_bytes;
    vrt_device_executor_free(bench.executor);

    /* With half of the limit allowed, something less than the whole frame fits. */
    params.memory_limit_bytes = whole_bytes * 3 / 2;
    expect_int(vrt_device_executor_new(bench.device, &params, &bench.executor), 0);
    expect_int(vrt_device_executor_probe(bench.executor, &probe, &error), 0);
    expect_true(probe.size.grid.x.n * probe.size.grid.y.n > 1);
    expect_true(probe.allowed_bytes <= params.memory_limit_bytes / 2);
    expect_true(probe.planned_bytes <= probe.allowed_bytes);
    /* Who asks says how much: the next may take another share. */
    struct vrt_probe other = { .spec = bench.spec, .memory_fraction = 1 };
    expect_int(vrt_device_executor_probe(bench.executor, &other, &error), 0);
    expect_int(other.allowed_bytes, params.memory_limit_bytes);
    expect_int(other.size.grid.x.n * other.size.grid.y.n, 1);
    other.memory_fraction = 0;
    expect_int(vrt_device_executor_probe(bench.executor, &other, &error), 0);
    expect_int(other.allowed_bytes, (int64_t)(0.8 * (double)params.memory_limit_bytes));
    vrt_device_executor_usage(bench.executor, &usage);
    expect_int(usage.total_bytes, params.memory_limit_bytes);
    expect_int(usage.free_bytes, params.memory_limit_bytes - usage.used_bytes);
    bench.spec->grid = probe.size.grid;
    expect_int(run(&bench, VRT_DTYPE_F32, &out, NULL), 0);
    vrt_frame_unref(out);
    expect_int(vrt_device_used_bytes(bench.device), probe.planned_bytes);
    vrt_device_executor_free(bench.executor);

    /* What was planned elsewhere doesn't fit here. */
    params.memory_limit_bytes = probe.planned_bytes - 1;
    expect_int(vrt_device_executor_new(bench.device, &params, &bench.executor), 0);
    expect_int(run(&bench, VRT_DTYPE_F32, &out, NULL), VRT_BACKEND_E_NOMEM);
    expect_true(vrt_device_used_bytes(bench.device) <= params.memory_limit_bytes);
    vrt_device_executor_free(bench.executor);
    params.memory_limit_bytes = probe.replica_bytes + 10000;
    expect_int(vrt_device_executor_new(bench.device, &params, &bench.executor), 0);
    expect_cures(&bench, params.memory_limit_bytes);
    bench_executor_done(&bench);
}

static int prepare(struct bench_executor *bench, struct vrt_job_spec *spec)
{
    const struct vrt_device_executor_order order = { .spec = spec, .dtype = VRT_DTYPE_F32 };

    return vrt_device_executor_prepare(bench->executor, &order);
}

/* Where there is room for two jobs both stay. Else one that is about to run is not refused for what
 * another one's session takes: that one goes, and comes back with the other job's next shard. */
static void test_room_for_what_is_due(void)
{
    struct vrt_probe probe = { .is_fixed = true, .memory_fraction = 0.9 };
    struct vrt_device_executor_params params = { .n_sharing = 1 };
    struct vrt_error error = { 0 };
    struct vrt_job_spec *other;
    struct bench_executor bench;

    bench_init(&bench, "cpu:0", builtin_network());
    expect_int(vrt_job_spec_new(bench.network, &bench.spec->in, &bench.spec->out, &other), 0);
    other->recipe = bench.spec->recipe;
    probe.spec = bench.spec;
    expect_int(vrt_device_executor_probe(bench.executor, &probe, &error), 0);
    expect_int(prepare(&bench, bench.spec), 0);
    expect_int(prepare(&bench, other), 0);
    expect_true(vrt_device_executor_job_bytes(bench.executor, bench.spec) > 0);
    expect_true(vrt_device_executor_job_bytes(bench.executor, other) > 0);
    vrt_device_executor_free(bench.executor);
    params.memory_limit_bytes = probe.planned_bytes * 3 / 2;
    expect_int(vrt_device_executor_new(bench.device, &params, &bench.executor), 0);
    expect_int(prepare(&bench, bench.spec), 0);

    probe.spec = other;
    expect_int(vrt_device_executor_probe(bench.executor, &probe, &error), -ENOSPC);
    expect_str(error.id, "device.memory");
    probe.is_due = true;
    error = (struct vrt_error){ 0 };
    expect_int(vrt_device_executor_probe(bench.executor, &probe, &error), 0);
    expect_true(vrt_device_executor_job_bytes(bench.executor, bench.spec) > 0);
    for (int i = 0; i < 3; i++) {
        struct vrt_job_spec *const next = i % 2 ? bench.spec : other;
        expect_int(prepare(&bench, next), 0);
        expect_int(vrt_device_executor_job_bytes(bench.executor, i % 2 ? other : bench.spec), -1);
        expect_true(vrt_device_used_bytes(bench.device) <= params.memory_limit_bytes);
    }
    vrt_device_executor_release(bench.executor, other);
    vrt_job_spec_unref(other);
    bench_executor_done(&bench);
}

static void test_wrong_output(void)
{
    static const struct {
        float value;
        const char *why;
    } cases[] = {
        { 1e20f, "not finite" }, { 0, "blank" }, { 2, "where 0 to 1 is a picture" },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct vrt_frame *out = NULL;
        struct vrt_error error = { 0 };
        struct bench_executor bench;
        bench_init(&bench, "cpu:0", small_esrgan(&cases[i].value));
        expect_int(run(&bench, VRT_DTYPE_F32, &out, &error), VRT_DEVICE_EXECUTOR_E_OUTPUT);
        expect_contains(error.message, cases[i].why);
        bench_executor_done(&bench);
    }
}

static void test_cancel(void)
{
    struct vrt_frame *out = NULL;
    struct bench_executor bench;

    bench_init(&bench, "cpu:0", builtin_network());
    bench.spec->grid = vrt_tile_grid_of_size(W, H, 64, bench.spec->needs);
    bench.n_left = 2;
    expect_int(run(&bench, VRT_DTYPE_F32, &out, NULL), -ECANCELED);
    bench.n_left = -1;
    expect_int(run(&bench, VRT_DTYPE_F32, &out, NULL), 0);
    vrt_frame_unref(out);
    bench_executor_done(&bench);
}

/* AUTO is f32, or what is within 50 dB of it and faster; what was measured once isn't again. */
static void test_precision(void)
{
    static const struct {
        double db, f32_speedup;
        enum vrt_dtype dtype;
    } known[] = {
        { 49.9, 0, VRT_DTYPE_F32 }, { 50, 0, VRT_DTYPE_BF16 }, { 60, 0.99, VRT_DTYPE_BF16 },
        { 60, 1, VRT_DTYPE_F32 },
    };
    struct vrt_error error = { 0 };
    struct bench_executor bench;

    bench_init(&bench, "cpu:0", builtin_network());
    struct vrt_probe probe = { .spec = bench.spec };
    bench.spec->recipe.precision = VRT_PRECISION_AUTO;
    for (int i = 0; i < VRT_DTYPE_COUNT; i++)
        probe.fidelity_db[i] = NAN;
    expect_int(vrt_device_executor_probe(bench.executor, &probe, &error), 0);
    if (vrt_device_info(bench.device)->preferred_dtype != VRT_DTYPE_BF16) {
        expect_int(probe.dtype, VRT_DTYPE_F32);
    } else {
        double db = probe.fidelity_db[VRT_DTYPE_BF16];
        expect_true(db > 20 && db < 200);
        expect_int(probe.dtype, db >= 50 ? VRT_DTYPE_BF16 : VRT_DTYPE_F32);
        for (size_t i = 0; i < VRT_ARRAY_SIZE(known); i++) {
            probe.fidelity_db[VRT_DTYPE_BF16] = known[i].db;
            probe.f32_speedup = known[i].f32_speedup;
            expect_int(vrt_device_executor_probe(bench.executor, &probe, &error), 0);
            expect_int(probe.dtype, known[i].dtype);
        }
    }
    bench.spec->recipe.precision = VRT_PRECISION_F16;
    expect_int(vrt_device_executor_probe(bench.executor, &probe, &error), -EINVAL);
    expect_contains(error.message, "cpu:0 can't");
    bench_executor_done(&bench);
}

/* The first device that AUTO would rather be something else on than f32. */
static const char *reduced_device(void)
{
    static char name[32];
    struct vrt_registry *registry;
    size_t n;

    expect_int(vrt_registry_new(&(struct vrt_registry_params){ .values = TEST_CPUS(1, 2) },
                                &registry, NULL), 0);
    const struct vrt_device_info *const *infos = vrt_registry_devices(registry, &n);
    for (size_t i = 0; i < n && !name[0]; i++)
        if (infos[i]->preferred_dtype != VRT_DTYPE_F32)
            snprintf(name, sizeof(name), "%s", infos[i]->name);
    vrt_registry_free(registry);
    if (!name[0])
        test_skip("no device here multiplies f16 or bf16");
    return name;
}

/* A network with weights of so many bytes that a trial of the built-in one fits in their place. */
static struct vrt_network *heavy(void)
{
    struct fixture f = { .seed = 3 };
    const struct fixture_compact compact = { .channels = 3, .features = 400, .convs = 5,
                                             .scale = 2, .act = 'p' };

    fixture_add_compact(&f, &compact);
    return fixture_network(&f);
}

/* No memory to measure what a shorter precision costs: what is idle makes room, and where that is
 * not enough the job has f32, and the next is measured. */
static void test_no_room_to_measure(void)
{
    const char *device = reduced_device();
    struct vrt_error error = { 0 };
    struct vrt_job_spec *spec;
    struct bench_executor bench;

    bench_init(&bench, device, builtin_network());
    struct vrt_network *other = heavy();
    expect_int(vrt_job_spec_new(other, &bench.spec->in, &bench.spec->out, &spec), 0);
    const enum vrt_dtype reduced = vrt_device_info(bench.device)->preferred_dtype;
    spec->recipe.precision = VRT_PRECISION_F32;
    struct vrt_probe idle = { .spec = spec };
    expect_int(vrt_device_executor_probe(bench.executor, &idle, &error), 0);
    const int64_t heavy_bytes = vrt_device_used_bytes(bench.device);
    expect_true(heavy_bytes > 0);

    struct vrt_probe probe = { .spec = bench.spec };
    bench.spec->recipe.precision = VRT_PRECISION_AUTO;
    probe.fidelity_db[reduced] = NAN;
    vrt_device_limit_memory(bench.device, heavy_bytes);
    expect_int(vrt_device_executor_probe(bench.executor, &probe, &error), 0);
    const double db = probe.fidelity_db[reduced];
    expect_true(db > 20 && !probe.is_makeshift);
    expect_int(probe.dtype, db >= 50 ? reduced : VRT_DTYPE_F32);

    /* Its weights have room, and nothing else. */
    vrt_device_executor_trim(bench.executor, 0);
    bench.spec->recipe.precision = VRT_PRECISION_F32;
    expect_int(vrt_device_executor_probe(bench.executor, &probe, &error), 0);
    vrt_device_limit_memory(bench.device, vrt_device_used_bytes(bench.device));
    bench.spec->recipe.precision = VRT_PRECISION_AUTO;
    probe.fidelity_db[reduced] = NAN;
    expect_int(vrt_device_executor_probe(bench.executor, &probe, &error), 0);
    expect_int(probe.dtype, VRT_DTYPE_F32);
    expect_true(isnan(probe.fidelity_db[reduced]) && probe.is_makeshift);

    vrt_device_limit_memory(bench.device, 0);
    expect_int(vrt_device_executor_probe(bench.executor, &probe, &error), 0);
    expect_near(probe.fidelity_db[reduced], db, 0);
    expect_true(!probe.is_makeshift);
    vrt_job_spec_unref(spec);
    vrt_network_unref(other);
    bench_executor_done(&bench);
}

TEST_MAIN(
    { "tiles-ref", test_tiles_ref },
    { "tiles-cpu", test_tiles_cpu },
    { "tiles-unshuffled", test_tiles_unshuffled },
    { "tiles-deep", test_tiles_deep },
    { "planned", test_planned },
    { "limited", test_limited },
    { "room-for-what-is-due", test_room_for_what_is_due },
    { "wrong-output", test_wrong_output },
    { "cancel", test_cancel },
    { "precision", test_precision },
    { "no-room-to-measure", test_no_room_to_measure },
)
