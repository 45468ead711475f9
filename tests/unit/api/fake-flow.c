/* SPDX-License-Identifier: MIT */

#include "tests/unit/api/fake-flow.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "api.h"
#include "base/clock.h"
#include "base/streams.h"
#include "daemon/devices/device-history.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/devices/pool.h"
#include "engine/replica.h"

struct fake_flow fake_flow;

#define SEGMENT 4       /* frames */
#define LAST_MS 1500    /* that the end of "last" takes */
#define SMALL 32        /* how wide tiles are that need less memory */

struct vrt_pipeline {
    struct vrt_pipeline_params params;
    struct vrt_network *network;
    struct vrt_pipeline_info info;
    char name[64];
    uv_timer_t timer;
    enum vrt_pipeline_phase phase;
    int frames_done, frames_total, n_ticks, n_committed;
    bool cancelled, freed, held, was_let;       /* the last: it needn't wait to be admitted */
    struct vrt_error reason;            /* of its end */
};

static const struct vrt_stream_list no_streams;
static const struct vrt_device_info device_infos[2] = {
    { .kind = "cpu", .name = "cpu:0", .description = "a fake", .n_threads = 1 },
    { .kind = "cuda", .name = "cuda:0", .description = "a fake", .card = 3, .uuid = "GPU-1",
      .pci_address = "0000:0a:00.0", .compute_capability = "9.0", .driver_version = "550.1",
      .runtime_version = "12.4" } };

/* What differs of the second: no number twice. */
static const struct vrt_device_snapshot second = {
    .info = &device_infos[1], .in_flight = 2, .shards_done = 21, .shards_failed = 3,
    .frames_done = 84, .n_quarantined = 5, .shard_s = 0.25, .retry_in_s = 12.3,
    .shard_times = { .counts = { [1] = 4, [VRT_HISTOGRAM_N_STEPS] = 17 }, .sum_s = 90.5 },
    .memory_total_bytes = 8000, .memory_free_bytes = 6000, .used_bytes = 1700,
    .replica_bytes = 900, .workspace_bytes = 800, .peak_bytes = 1900, .n_replicas = 6,
    .sensors = { true, 50, 25, 71, 300, 700, "power" }, .last_error = "the fake is lost",
};

int vrt_pool_new(const struct vrt_pool_params *params, struct vrt_pool **ret_pool,
                 struct vrt_error *error)
{
    struct vrt_pool *pool = calloc(1, sizeof(*pool));

    if (!pool)
        return vrt_refuse_errno(error, -ENOMEM, "the fake pool");
    fake_flow = (struct fake_flow){ .n_alive = 0 };
    pool->loop = params->loop;
    uv_timer_init(pool->loop, &pool->timer);
    *ret_pool = pool;
    return 0;
}

static void on_pool_closed(uv_handle_t *handle)
{
    struct vrt_pool *pool = vrt_container_of(handle, struct vrt_pool, timer);

    pool->stopped(pool->ctx);
}

static void on_stop_tick(uv_timer_t *timer)
{
    if (fake_flow.n_errands == 0)
        uv_close((uv_handle_t *)timer, on_pool_closed);
}

void vrt_pool_expect_end(struct vrt_pool *pool)
{
    (void)pool;
    atomic_store(&fake_flow.n_let, INT_MAX);
}

void vrt_pool_stop(struct vrt_pool *pool, void (*stopped)(void *ctx), void *ctx)
{
    pool->stopped = stopped;
    pool->ctx = ctx;
    uv_timer_start(&pool->timer, on_stop_tick, 0, FAKE_FLOW_TICK_MS);
}

struct vrt_pool *vrt_pool_free(struct vrt_pool *pool)
{
    free(pool);
    return NULL;
}

bool vrt_pool_has_abandoned(const struct vrt_pool *pool)
{
    (void)pool;
    return false;
}

size_t vrt_pool_n_devices(const struct vrt_pool *pool)
{
    (void)pool;
    return VRT_ARRAY_SIZE(device_infos);
}

const struct vrt_device_info *const *vrt_pool_infos(const struct vrt_pool *pool,
                                                    size_t *ret_n_infos)
{
    static const struct vrt_device_info *const infos[] = { &device_infos[0], &device_infos[1] };

    (void)pool;
    *ret_n_infos = VRT_ARRAY_SIZE(infos);
    return infos;
}

int64_t vrt_pool_n_ready(const struct vrt_pool *pool)
{
    (void)pool;
    return 9;
}

void vrt_pool_set_memory_fraction(struct vrt_pool *pool, size_t i, double fraction)
{
    (void)pool;
    fake_flow.memory_fractions[i] = fraction;
}

int vrt_pool_replicas(const struct vrt_pool *pool, struct vrt_replica_entry **ret_entries,
                      size_t *ret_n_entries)
{
    struct vrt_replica_entry *entries = calloc(2, sizeof(*entries));

    (void)pool;
    if (!entries)
        return -ENOMEM;
    entries[0] = (struct vrt_replica_entry){
        .device = "cpu:0", .weights = 0xfeed, .dtype = VRT_DTYPE_BF16, .bytes = 4096,
        .state = VRT_REPLICA_PACKING,
    };
    entries[1] = (struct vrt_replica_entry){
        .device = "cuda:1", .weights = 0xd8bdd6e23a34f850, .dtype = VRT_DTYPE_F32, .bytes = 1,
        .state = VRT_REPLICA_IN_USE,        /* of compact-x2 */
    };
    *ret_entries = entries;
    *ret_n_entries = 2;
    return 0;
}

int vrt_pool_choose(const struct vrt_pool *pool, const struct vrt_pool_wish *wish,
                    struct vrt_device_choice *ret_choice, struct vrt_error *error)
{
    (void)pool;
    (void)wish;
    (void)error;
    *ret_choice = (struct vrt_device_choice){ .devices = fake_flow.is_mended ? 2 : 1 };
    return 0;
}

void vrt_pool_device(const struct vrt_pool *pool, size_t i, struct vrt_device_snapshot *ret_device)
{
    (void)pool;
    *ret_device = i ? second : (struct vrt_device_snapshot){
        .info = &device_infos[0], .memory_total_bytes = -1, .memory_free_bytes = -1,
        .peak_bytes = 1000,
    };
    ret_device->state = i && !fake_flow.is_mended ? VRT_DEVICE_QUARANTINED : VRT_DEVICE_READY;
}

const struct vrt_device_history *vrt_pool_history(const struct vrt_pool *pool, size_t i)
{
    static struct vrt_device_history histories[VRT_ARRAY_SIZE(device_infos)];
    struct vrt_device_snapshot device;

    vrt_pool_device(pool, i, &device);
    for (int64_t s = 1; histories[i].n_points < 3; s++)
        vrt_device_history_note(&histories[i], &device, s * VRT_NS_PER_S);
    return &histories[i];
}

static void on_pipeline_closed(uv_handle_t *handle)
{
    struct vrt_pipeline *pipeline = vrt_container_of(handle, struct vrt_pipeline, timer);

    vrt_network_unref(pipeline->network);
    free(pipeline);
}

static void end(struct vrt_pipeline *pipeline, const char *id, const char *message)
{
    struct vrt_error error = { .id = NULL };
    bool was_running = pipeline->phase >= VRT_PIPELINE_RUNNING;

    pipeline->phase = VRT_PIPELINE_ENDED;
    uv_timer_stop(&pipeline->timer);
    if (id)
        vrt_refuse(&error, -EINVAL, id, "%s", message);
    else if (pipeline->params.is_alpha_pass)
        close(openat(pipeline->params.spool_fd, pipeline->params.output_name,
                     O_WRONLY | O_CREAT, 0600));
    if (was_running) {
        fake_flow.n_running--;
        pipeline->params.done(pipeline->params.ctx, id ? &error : NULL);
    } else {
        pipeline->params.admitted(pipeline->params.ctx, &error);
    }
}

static bool is(const struct vrt_pipeline *pipeline, const char *what)
{
    return strncmp(pipeline->name, what, strlen(what)) == 0;
}

static bool has(const struct vrt_pipeline *pipeline, const char *what)
{
    return strstr(pipeline->name, what);
}

/* A segment every SEGMENT frames. */
static void end_segment(struct vrt_pipeline *pipeline)
{
    const struct vrt_pipeline_params *params = &pipeline->params;
    int64_t n = pipeline->frames_done / SEGMENT;

    if (pipeline->frames_done % SEGMENT == 0 && params->segment_done)
        params->segment_done(params->ctx, &(struct vrt_segment_record){
            .number = n - 1,
            .n_frames = SEGMENT,
            .next_shard = n,
            .size_bytes = 100,
        });
}

static void tick_admitting(struct vrt_pipeline *pipeline)
{
    if (is(pipeline, "refuse")) {
        end(pipeline, VRT_E(JOB_INPUT), "the fake was refused");
    } else if (is(pipeline, "other") && pipeline->params.recipe) {
        end(pipeline, VRT_E(INPUT_OTHER), "the fake is another");
    } else if (!is(pipeline, "never")) {
        pipeline->phase = VRT_PIPELINE_ADMITTED;
        uv_timer_stop(&pipeline->timer);
        pipeline->params.admitted(pipeline->params.ctx, NULL);
    }
}

static void tick_running(struct vrt_pipeline *pipeline)
{
    if (has(pipeline, "-large") && pipeline->info.recipe.tile_w > SMALL &&
        !pipeline->params.is_alpha_pass && pipeline->frames_done == pipeline->frames_total) {
        end(pipeline, VRT_E(DEVICE_MEMORY), "the fake is too large");
    } else if (is(pipeline, "fail") && pipeline->frames_done == pipeline->frames_total) {
        end(pipeline, VRT_E(DEVICE_FAILED), "the fake failed");
    } else if (is(pipeline, "media-") && pipeline->n_ticks >= pipeline->frames_total + 2) {
        /* Once all is stored: for that the next one is forgiven. */
        if (pipeline->n_committed >= pipeline->frames_done / SEGMENT)
            end(pipeline, VRT_E(MEDIA_CRASHED), "the fake crashed");
    } else if ((is(pipeline, "fill") && pipeline->held) ||
               (is(pipeline, "full") && pipeline->frames_done == pipeline->frames_total)) {
        end(pipeline, VRT_E(SPOOL_FULL), "the fake is full");
    } else if ((is(pipeline, "run-") && pipeline->frames_done == pipeline->frames_total) ||
               (is(pipeline, "media-") && pipeline->frames_done == 3 * SEGMENT)) {
        pipeline->phase = VRT_PIPELINE_FINISHING;
    } else if (is(pipeline, "last") && pipeline->held) {
        pipeline->phase = VRT_PIPELINE_FINISHING;
        uv_timer_set_repeat(&pipeline->timer, has(pipeline, "-1") ? 1 : LAST_MS);
        uv_timer_again(&pipeline->timer);
    } else if (!pipeline->held) {
        pipeline->frames_done++;
        fake_flow.n_frames++;
        pipeline->params.totals->frames_done++;
        pipeline->params.totals->busy_ns[VRT_STAGE_COMPUTE] += VRT_NS_PER_S / 2;
        end_segment(pipeline);
        /* Before anybody can know that the last one is stored. */
        if (pipeline->params.is_alpha_pass && pipeline->frames_done == pipeline->frames_total)
            end(pipeline, NULL, NULL);
    }
}

static void on_tick(uv_timer_t *timer)
{
    struct vrt_pipeline *pipeline = vrt_container_of(timer, struct vrt_pipeline, timer);

    pipeline->n_ticks++;
    /* Whatever is wanted of it: its admission takes its time. */
    if (is(pipeline, "slow") && pipeline->params.recipe && !pipeline->was_let) {
        if (pipeline->n_ticks == 1)
            atomic_fetch_add(&fake_flow.n_slow, 1);
        if (atomic_load(&fake_flow.n_let) == 0)
            return;
        atomic_fetch_sub(&fake_flow.n_let, 1);
        pipeline->was_let = true;
    }
    if (pipeline->cancelled && !is(pipeline, "stuck"))
        end(pipeline, pipeline->reason.id, pipeline->reason.message);
    else if (pipeline->phase == VRT_PIPELINE_ADMITTING)
        tick_admitting(pipeline);
    else if (pipeline->phase != VRT_PIPELINE_FINISHING)
        tick_running(pipeline);
    else {
        fake_flow.size_bytes_max = pipeline->params.size_bytes_max(pipeline->params.ctx);
        end(pipeline, NULL, NULL);
    }
}

int vrt_pipeline_new(struct vrt_pool *pool, const struct vrt_pipeline_params *params,
                     struct vrt_pipeline **ret_pipeline, struct vrt_error *error)
{
    struct vrt_pipeline *pipeline = calloc(1, sizeof(*pipeline));
    const struct vrt_job_settings *settings = params->settings;
    const struct vrt_recipe *recipe = params->recipe;

    if (!pipeline)
        return vrt_refuse_errno(error, -ENOMEM, "the fake pipeline");
    /* Nothing of it may be lost. */
    if (params->is_alpha_pass)
        vrt_assert(settings->codec == VRT_CODEC_FFV1 && settings->hwaccel == VRT_HWACCEL_OFF &&
                   settings->hwdec == VRT_HWDEC_OFF && settings->quality == VRT_UNKNOWN &&
                   !settings->pixel_format[0] && !settings->encoder_options[0] &&
                   params->output_fd == -1 && !params->reference_name);
    pipeline->params = *params;
    pipeline->network = vrt_network_ref(params->network);
    snprintf(pipeline->name, sizeof(pipeline->name), "%s", params->input_name);
    const char *number = strchr(pipeline->name, '-');
    pipeline->frames_total = number ? (int)strtol(number + 1, NULL, 10) : 3;
    pipeline->info = (struct vrt_pipeline_info){
        .out_codec = (enum vrt_codec)settings->codec,
        .out_quality = (int)settings->quality,
        .out_alpha = has(pipeline, "-alpha") ? VRT_ALPHA_NETWORK : VRT_ALPHA_DROP,
        .out_bitrate = 9, .out_hwaccel = VRT_HWACCEL_NVENC,
        .in_hwdec = VRT_HWDEC_VAAPI, .codec = "mpeg4", .pixel_format = "yuv410p",
        .network = vrt_network_info(params->network), .network_checksum = 0xfeed,
        .recipe = { .clip_frames = 4, .segment_frames = SEGMENT, .clip_overlap = 1, .overlap = 8,
                    .tile_w = params->wants_smaller ? SMALL : recipe ? recipe->tile_w : 64,
                    .tile_h = 48, .encoder_threads = 2, .scene_threshold = 0.5,
                    .strength = 0.75, .tiling = VRT_TILING_OFFICIAL, .times = 3, .every = 2,
                    .fields.deinterlace = VRT_DEINTERLACE_FIELD, .tonemap = VRT_TONEMAP_HABLE },
        .width = 64, .height = 48, .out_width = 128, .out_height = 96, .fps = 25,
        .start_s = 1.5, .duration_s = -1, .reproducible = true, .streams = &no_streams,
        .frame_flops = 2000000000, .n_tiles = 6,
        .frames_total = is(pipeline, "run-") ? pipeline->frames_total : -1,
        .n_shards = is(pipeline, "run-") ? (pipeline->frames_total + 3) / 4 : -1,
    };
    for (size_t i = 0; i < params->n_segments; i++)
        pipeline->frames_done += (int)params->segments[i].n_frames;
    uv_timer_init(pool->loop, &pipeline->timer);
    uv_timer_start(&pipeline->timer, on_tick, FAKE_FLOW_TICK_MS, FAKE_FLOW_TICK_MS);
    fake_flow.n_alive++;
    *ret_pipeline = pipeline;
    return 0;
}

void vrt_pipeline_start(struct vrt_pipeline *pipeline)
{
    vrt_assert(pipeline->phase == VRT_PIPELINE_ADMITTED);
    pipeline->phase = VRT_PIPELINE_RUNNING;
    uv_timer_again(&pipeline->timer);
    if (fake_flow.n_starts < FAKE_FLOW_STARTS_MAX)
        snprintf(fake_flow.starts[fake_flow.n_starts++], sizeof(fake_flow.starts[0]), "%s",
                 pipeline->name);
    fake_flow.n_running++;
    fake_flow.n_running_max = VRT_MAX(fake_flow.n_running_max, fake_flow.n_running);
    if (has(pipeline, "-cut") && pipeline->params.n_segments > 1) {
        pipeline->params.segments_cut(pipeline->params.ctx, 1);
        pipeline->frames_done = SEGMENT;
    }
}

void vrt_pipeline_stop(struct vrt_pipeline *pipeline, const struct vrt_error *reason)
{
    if (pipeline->phase == VRT_PIPELINE_ADMITTED)
        pipeline->phase = VRT_PIPELINE_ENDED;
    if (!pipeline->cancelled)
        pipeline->reason = *reason;
    pipeline->cancelled = true;
}

void vrt_pipeline_cancel(struct vrt_pipeline *pipeline)
{
    const struct vrt_error reason = { .id = "job.cancelled", .message = "the fake was cancelled" };

    vrt_pipeline_stop(pipeline, &reason);
}

void vrt_pipeline_park(struct vrt_pipeline *pipeline)
{
    const struct vrt_error reason = { .id = "job.parked", .message = "the fake was parked" };

    if (pipeline->phase != VRT_PIPELINE_FINISHING)
        vrt_pipeline_stop(pipeline, &reason);
}

void vrt_pipeline_set_priority(struct vrt_pipeline *pipeline, int priority)
{
    pipeline->params.priority = priority;
    fake_flow.priority = priority;
}

void vrt_pipeline_hold(struct vrt_pipeline *pipeline, bool held)
{
    pipeline->held = held;
}

void vrt_pipeline_committed(struct vrt_pipeline *pipeline, int64_t number)
{
    pipeline->n_committed = (int)number + 1;
    fake_flow.n_committed += number >= 0;
}

struct vrt_pipeline *vrt_pipeline_free(struct vrt_pipeline *pipeline)
{
    if (!pipeline)
        return NULL;
    vrt_assert(pipeline->phase == VRT_PIPELINE_ENDED || pipeline->phase == VRT_PIPELINE_ADMITTED);
    vrt_assert(!pipeline->freed);
    pipeline->freed = true;
    fake_flow.n_alive--;
    uv_close((uv_handle_t *)&pipeline->timer, on_pipeline_closed);
    return NULL;
}

const struct vrt_pipeline_info *vrt_pipeline_info(const struct vrt_pipeline *pipeline)
{
    return &pipeline->info;
}

void vrt_pipeline_snapshot(const struct vrt_pipeline *pipeline,
                           struct vrt_pipeline_snapshot *ret_snapshot)
{
    *ret_snapshot = fake_flow.has_snapshot ? fake_flow.snapshot : (struct vrt_pipeline_snapshot){
        .phase = pipeline->phase,
        .frames_total = is(pipeline, "run-") ? pipeline->frames_total : -1,
        .frames_done = pipeline->frames_done, .fps = 25, .left_s = -1, .elapsed_s = 1,
        .bottleneck = VRT_STAGE_COMPUTE, .busy = { 0.1, 0.2, 0.3, 0.4, 0.5 },
        .n_devices = 1, .n_warnings = is(pipeline, "run-") ? 1 : 0,
        .devices[0] = { .info = &device_infos[0], .precision = VRT_PRECISION_F32,
                        .frames_done = pipeline->frames_done, .planned_bytes = 1000,
                        .replica_bytes = 400, .shards_done = 2, .fps = 12.5,
                        .flops_per_s = pipeline->params.wants_speed ? 1e9 : NAN },
    };
}

const char *vrt_pipeline_warning(const struct vrt_pipeline *pipeline, size_t i)
{
    (void)pipeline;
    (void)i;
    return "this is a fake";
}

const char *vrt_stage_name(enum vrt_stage stage)
{
    static const char names[][9] = { "decode", "upload", "compute", "download", "encode" };

    return names[stage];
}
