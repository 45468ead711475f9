/* SPDX-License-Identifier: MIT */

/*
 * Several clips in flight, and several frames in one: the same bits as one by one, in the order in
 * which they came, and what fails fails alone
 *
 * A CPU is a device that computes beside the host where the schedule of faults says so; others are
 * looked at as far as there are any.
 */

#include <errno.h>

#include "frames/clips/picture.h"
#include "tests/unit/model/builtin-network.h"
#include "tests/unit/model/vrt-fixture.h"
#include "tests/unit/model/weight-rule.h"
#include "tests/unit/test.h"
#include "tests/unit/workers/bench-device.h"
#include "workers/device/device-executor.h"
#include "workers/device/restore.h"

#define BESIDE "cpu:0 submit:1- takes=20us"
#define N_SHARDS 4
#define N_FRAMES 6                      /* of a shard, at most */
#define TILE 28

enum work {
    FRAMES,                             /* of a network that sees each by itself */
    TILES,                              /* the same, cut */
    CLIPS,
};

struct bench {
    struct vrt_registry *registry;
    struct vrt_device *device;
    struct vrt_device_executor *executor;
    struct vrt_network *network;
    struct vrt_job_spec *spec;
    int n_more;                         /* frames of a shard, of a network that sees no clips */
    int batch;                          /* of them at a time; 0: as suits the device */
};

/* One way of restoring the shards. */
struct restored {
    struct vrt_shard_frames frames[N_SHARDS];
    struct vrt_session_times times[N_SHARDS];
    struct vrt_error errors[N_SHARDS];
    int results[N_SHARDS];
    int n_begun_max;                    /* clips in flight, at most */
    int depth;                          /* frames of a clip */
};

/* A small VRT, whose clips share two frames with the next. */
static struct vrt_network *vrt_network(void)
{
    struct vrt_fixture vrt = { .sizes = vrt_sizes_small(), .seed = 7,
                               .flow_gain = RULE_FLOW_STEADY };
    struct fixture f = { 0 };

    fixture_add_vrt(&f, &vrt);
    return fixture_network(&f);
}

static void bench_init(struct bench *bench, const char *device, const char *fault, enum work work)
{
    static const int sizes[][2] = {
        [FRAMES] = { 24, 16 },
        [TILES] = { 40, 24 },
        [CLIPS] = { 64, 48 },
    };
    const bool is_temporal = work == CLIPS;
    struct vrt_network *network = is_temporal ? vrt_network() : builtin_network();
    const struct vrt_network_info *info = vrt_network_info(network);
    const int w = sizes[work][0], h = sizes[work][1];
    struct vrt_frame_format in = bench_format(w, h, 8);
    struct vrt_frame_format out = bench_format(w * info->scale, h * info->scale, 8);

    *bench = (struct bench){ .network = network };
    bench->device = bench_open(device, 2, fault, &bench->registry);
    expect_int(vrt_job_spec_new(network, &in, &out, &bench->spec), 0);
    bench->spec->recipe.precision = VRT_PRECISION_F32;
    bench->spec->recipe.clip_frames = N_FRAMES;
    if (work == TILES) {
        bench->spec->needs = vrt_tile_needs(info->multiple, info->radius, -1);
        bench->spec->grid = vrt_tile_grid_of_size(w, h, TILE, bench->spec->needs);
        expect_true(bench->spec->grid.x.n > 1);
    }
    if (!is_temporal)
        return;
    bench->spec->rule = (struct vrt_clip_rule){
        .overlap = { .size = N_FRAMES, .shared = 2 },
        .temporal = true,
        .least = info->min_frames,
        .multiple = info->window_frames,
    };
    bench->spec->grid = vrt_tile_whole(w, h);
}

static void bench_done(struct bench *bench)
{
    vrt_job_spec_unref(bench->spec);
    vrt_network_unref(bench->network);
    bench_close(bench->device, bench->registry);
}

static struct vrt_frame *picture(const struct vrt_frame_format *format, int number)
{
    struct vrt_frame *frame = NULL;

    expect_int(vrt_frame_new(format, &frame), 0);
    for (int p = 0; p < 3; p++)
        for (int y = 0; y < format->height; y++)
            for (int x = 0; x < format->width; x++)
                frame->planes[p].data[(size_t)y * frame->planes[p].stride_bytes + (size_t)x] =
                    (uint8_t)(90 + (3 * x + 5 * y + 17 * number + 31 * p) % 97);
    frame->pts = frame->index = number;
    return frame;
}

static bool go_on(void *ctx)
{
    (void)ctx;
    return true;
}

/* Shards of 1, 2, 3, ... frames, or clips of a VRT that share frames with their neighbours. */
static void make_shards(const struct bench *bench, struct restored *restored)
{
    const bool is_temporal = bench->spec->rule.temporal;
    int number = 0;

    *restored = (struct restored){ .n_begun_max = 0 };
    for (int s = 0; s < N_SHARDS; s++) {
        struct vrt_shard_frames *frames = &restored->frames[s];
        frames->n = frames->depth = is_temporal ? N_FRAMES : 1 + s + bench->n_more;
        for (int i = 0; i < frames->n; i++) {
            const bool is_shared = is_temporal && (i < 2 ? s > 0 : i >= 4 && s + 1 < N_SHARDS);
            frames->in[i] = picture(&bench->spec->in, number + i);
            frames->shares[i] = (struct vrt_share){
                .n = is_shared ? 2 : 1,
                .weight = is_shared ? 0.5f : 1,
                .total = 1,
            };
        }
        number += is_temporal ? N_FRAMES - 2 : frames->n;
    }
}

static void free_shards(struct restored *restored)
{
    for (int s = 0; s < N_SHARDS; s++)
        vrt_shard_frames_done(&restored->frames[s]);
}

/* Begins each shard when the one before it is with the device. */
static void restore(struct bench *bench, struct restored *restored)
{
    struct vrt_device_executor_shard shards[N_SHARDS];
    struct vrt_device_executor_shard *running[N_SHARDS];
    size_t n = 0;
    int next = 0;

    make_shards(bench, restored);
    while (next < N_SHARDS || n > 0) {
        if (next < N_SHARDS && (n == 0 || !vrt_restore_has_more(running[n - 1]))) {
            struct vrt_device_executor_shard *shard = &shards[next];
            *shard = (struct vrt_device_executor_shard){
                .order = {
                    .spec = bench->spec,
                    .dtype = VRT_DTYPE_F32,
                    .batch = bench->batch,
                    .watch = { go_on, NULL },
                },
                .frames = &restored->frames[next],
                .times = &restored->times[next],
                .error = &restored->errors[next],
            };
            expect_int(vrt_device_executor_begin(bench->executor, shard), 0);
            expect_true(vrt_device_executor_is_ready(bench->executor, &shard->order));
            running[n++] = shard;
            next++;
        }
        vrt_restore_advance(running, n);
        restored->depth = vrt_session_depth(running[0]->session);
        restored->n_begun_max = VRT_MAX(restored->n_begun_max,
                                        vrt_session_n_begun(running[0]->session));
        while (n > 0 && vrt_restore_is_done(running[0])) {
            restored->results[running[0] - shards] = running[0]->result;
            n--;
            memmove(running, running + 1, n * sizeof(running[0]));
        }
    }
}

static void expect_same(const struct restored *a, const struct restored *b)
{
    for (int s = 0; s < N_SHARDS; s++) {
        expect_int(a->results[s], 0);
        expect_int(b->results[s], 0);
        for (int i = 0; i < a->frames[s].n; i++) {
            const struct vrt_frame *frame = a->frames[s].out[i];
            const struct vrt_picture *picture = a->frames[s].shared[i];
            expect_int(frame != NULL, b->frames[s].out[i] != NULL);
            expect_int(picture != NULL, b->frames[s].shared[i] != NULL);
            expect_int((frame != NULL) + (picture != NULL), 1);
            if (frame)
                expect_true(bench_same_pixels(frame, b->frames[s].out[i]));
            else
                expect_int(memcmp(picture->rgb, b->frames[s].shared[i]->rgb,
                                  vrt_picture_bytes(picture->width, picture->height)), 0);
        }
    }
}

/* The bytes that one clip at a time takes, with the weights. */
static int64_t least_bytes(const struct bench *bench)
{
    const struct vrt_job_spec_size size = vrt_job_spec_size(bench->spec);
    struct vrt_replica *replica;
    struct vrt_session_plan plan;
    size_t n;
    const struct vrt_param *params = vrt_network_params(bench->network, &n);

    expect_int(vrt_session_plan(bench->device, bench->spec, &size, VRT_DTYPE_F32, &plan), 0);
    expect_int(vrt_replica_new(bench->device, params, n, VRT_DTYPE_F32, &replica), 0);
    const int64_t bytes = (int64_t)(vrt_replica_bytes(bench->device, replica) + plan.bytes);
    vrt_replica_free(bench->device, replica);
    return bytes;
}

/* With all that the device likes to have in flight, and, where there is no memory for that, with
 * one at a time. */
static void check_bits(const char *device, const char *fault, enum work work)
{
    struct restored several, single;
    struct vrt_device_executor_params params = { .n_sharing = 1 };
    struct bench bench;

    bench_init(&bench, device, fault, work);
    bench.batch = work == FRAMES ? 3 : 0;
    expect_int(vrt_device_executor_new(bench.device, &params, &bench.executor), 0);
    restore(&bench, &several);
    vrt_device_executor_free(bench.executor);
    params.memory_limit_bytes = least_bytes(&bench);
    expect_int(vrt_device_executor_new(bench.device, &params, &bench.executor), 0);
    restore(&bench, &single);
    vrt_device_executor_free(bench.executor);

    expect_int(several.n_begun_max, vrt_device_info(bench.device)->n_in_flight);
    expect_int(single.n_begun_max, 1);
    if (bench.batch)
        expect_int(several.depth, vrt_device_info(bench.device)->n_pixels ? bench.batch : 1);
    else
        expect_true(work == CLIPS || several.depth > 1 ||
                    vrt_device_info(bench.device)->n_pixels <= 1);
    expect_int(single.depth, work == CLIPS ? N_FRAMES : 1);
    expect_same(&several, &single);
    free_shards(&several);
    free_shards(&single);
    bench_done(&bench);
}

static void test_bits(void)
{
    for (int work = FRAMES; work <= CLIPS; work++)
        check_bits("cpu:0", BESIDE, (enum work)work);
}

/* A machine's, or a simulator's. */
static void check_accelerators(enum work work)
{
    struct vrt_registry *registry;
    size_t n_checked = 0, n;

    test_has_driver = true;
    expect_int(vrt_registry_new(&(struct vrt_registry_params){ .values = TEST_CPUS(1, 2) },
                                &registry, NULL), 0);
    const struct vrt_device_info *const *infos = vrt_registry_devices(registry, &n);
    for (size_t i = 0; i < n; i++) {
        if (infos[i]->n_in_flight == 1 || (n_checked > 0 && infos[i]->index > 0))
            continue;
        check_bits(infos[i]->name, NULL, work);
        n_checked++;
    }
    vrt_registry_free(registry);
    if (n_checked == 0)
        test_skip("no device here computes beside the host");
}

static void test_accelerator_frames(void)
{
    check_accelerators(FRAMES);
}

/* Many frames, one by one: a timeline is made of them (tests/simulators/timeline.py). */
static void test_accelerator_many(void)
{
    struct vrt_device_executor_params params = { .memory_limit_bytes = 0 };
    struct restored restored;
    struct bench bench;
    struct vrt_registry *registry;
    size_t n, i = 0;

    test_has_driver = true;
    expect_int(vrt_registry_new(&(struct vrt_registry_params){ .values = TEST_CPUS(1, 2) },
                                &registry, NULL), 0);
    const struct vrt_device_info *const *infos = vrt_registry_devices(registry, &n);
    while (i < n && infos[i]->n_in_flight == 1)
        i++;
    if (i == n)
        test_skip("no device here computes beside the host");
    bench_init(&bench, infos[i]->name, NULL, FRAMES);
    bench.spec->recipe.clip_frames = 1;
    expect_int(vrt_device_executor_new(bench.device, &params, &bench.executor), 0);
    bench.n_more = 4;
    restore(&bench, &restored);
    for (int s = 0; s < N_SHARDS; s++)
        expect_int(restored.results[s], 0);
    free_shards(&restored);
    vrt_device_executor_free(bench.executor);
    bench_done(&bench);
    vrt_registry_free(registry);
}

static void test_accelerator_tiles(void)
{
    check_accelerators(TILES);
}

static void test_accelerator_clips(void)
{
    check_accelerators(CLIPS);
}

/* Of all calls to the device each fails once: its shard fails with it, or all that are in flight
 * where the device is lost; the others come out as ever, and nothing is left behind. There are no
 * more calls than 10 frames take that come in 5 clips, of 3 at most. */
static void test_failures(void)
{
    static const struct {
        const char *name;
        int n;
    } calls[] = { { "write", 5 }, { "submit", 25 }, { "read", 5 }, { "finish", 5 } };
    struct vrt_device_executor_params params = { .n_sharing = 1 };

    for (size_t c = 0; c < VRT_ARRAY_SIZE(calls); c++) {
        int number = 0, n_failed;
        do {
            struct restored restored;
            struct bench bench;
            char fault[96];
            snprintf(fault, sizeof(fault), BESIDE "; %s:%d fail", calls[c].name, ++number);
            bench_init(&bench, "cpu:0", fault, FRAMES);
            bench.batch = 3;
            expect_int(vrt_device_executor_new(bench.device, &params, &bench.executor), 0);
            restore(&bench, &restored);
            n_failed = 0;
            for (int s = 0; s < N_SHARDS; s++) {
                expect_true(restored.results[s] == 0 ||
                            restored.results[s] == VRT_BACKEND_E_FAILED);
                for (int i = 0; i < restored.frames[s].n; i++)
                    expect_int(restored.frames[s].out[i] != NULL, restored.results[s] == 0);
                n_failed += restored.results[s] != 0;
            }
            free_shards(&restored);
            vrt_device_executor_free(bench.executor);
            bench_done(&bench);
        } while (n_failed > 0);
        expect_int(number - 1, calls[c].n);
    }
}

TEST_MAIN(
    { "bits", test_bits }, { "failures", test_failures },
    { "accelerator-frames", test_accelerator_frames },
    { "accelerator-many", test_accelerator_many },
    { "accelerator-tiles", test_accelerator_tiles },
    { "accelerator-clips", test_accelerator_clips },
)
