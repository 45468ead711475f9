/* SPDX-License-Identifier: MIT */

/*
 * What is told of a pipeline while it runs, and afterwards. All of it is kept up to date by the
 * tasks that come back, so that a poll only reads.
 */

#include "base/clock.h"
#include "base/thread.h"
#include "daemon/pipeline/pipeline-impl.h"

/* The rate is that of so long a time, but of so many shards at least: a clip may take minutes, and
 * its frames come at once. */
#define RATE_WINDOW_NS (10 * VRT_NS_PER_S)
#define RATE_SHARDS_MIN 2

/* Before so many frames nobody can say how fast it goes. */
#define RATE_FRAMES_MIN 2

void vrt_pipeline_note_idle(struct vrt_pipeline *pipeline)
{
    bool is_idle = pipeline->is_held && !pipeline->n_running && !pipeline->n_encoding &&
                   !pipeline->n_decoding;
    int64_t now_ns = vrt_clock_now_ns();

    if (is_idle && !pipeline->idle_since_ns) {
        pipeline->idle_since_ns = now_ns;
    } else if (!is_idle && pipeline->idle_since_ns) {
        pipeline->idle_ns += now_ns - pipeline->idle_since_ns;
        pipeline->idle_since_ns = 0;
    }
}

/* How long the job itself took, until now or its end. */
static int64_t ran_ns(const struct vrt_pipeline *pipeline)
{
    int64_t now_ns = pipeline->ended_ns ? pipeline->ended_ns : vrt_clock_now_ns();

    if (!pipeline->started_ns)
        return 0;
    if (pipeline->idle_since_ns)
        now_ns = pipeline->idle_since_ns;
    return now_ns - pipeline->started_ns - pipeline->idle_ns;
}

void vrt_pipeline_note_frames(struct vrt_pipeline *pipeline, int n)
{
    pipeline->frames_done += n;
    pipeline->samples[pipeline->n_samples++ % VRT_PIPELINE_SAMPLES] = (struct vrt_sample){
        .ran_ns = ran_ns(pipeline),
        .frames = pipeline->frames_done,
    };
}

/* Frames per second over the window, or since the start; -1: too early to tell. */
static double rate(const struct vrt_pipeline *pipeline, int64_t until_ns)
{
    const struct vrt_sample start = { .ran_ns = 0, .frames = pipeline->frames_resumed };
    struct vrt_sample from = start;
    size_t n = VRT_MIN(pipeline->n_samples, VRT_PIPELINE_SAMPLES);
    int64_t frames_min = VRT_MAX(RATE_FRAMES_MIN,
                                 RATE_SHARDS_MIN * pipeline->info.recipe.clip_frames);

    /* The youngest sample that is old enough, else the oldest that is kept. */
    for (size_t age = n; age > 0; age--) {
        const struct vrt_sample *sample =
            &pipeline->samples[(pipeline->n_samples - age) % VRT_PIPELINE_SAMPLES];
        bool is_oldest_kept = age == n && pipeline->n_samples > VRT_PIPELINE_SAMPLES;
        bool is_old = until_ns - sample->ran_ns > RATE_WINDOW_NS &&
                      pipeline->frames_done - sample->frames >= frames_min;
        if (is_oldest_kept || is_old)
            from = *sample;
    }
    if (pipeline->phase == VRT_PIPELINE_ENDED || pipeline->phase == VRT_PIPELINE_FINISHING)
        from = start;
    if (pipeline->frames_done - from.frames < RATE_FRAMES_MIN || until_ns <= from.ran_ns)
        return -1;
    return (double)(pipeline->frames_done - from.frames) * VRT_NS_PER_S /
           (double)(until_ns - from.ran_ns);
}

/* The share of the time in which each stage worked. The devices' stages: on average of those that
 * take part, for one that idles while another is busy is a device too many. */
static void fill_busy(const struct vrt_pipeline *pipeline, double elapsed_ns, double *busy)
{
    int n_devices = __builtin_popcountll(pipeline->info.devices);

    busy[VRT_STAGE_DECODE] = (double)pipeline->decode_ns;
    busy[VRT_STAGE_ENCODE] = (double)pipeline->encode_ns;
    for (size_t d = 0; d < VRT_DEVICES_MAX && n_devices > 0; d++) {
        const struct vrt_session_times *times = &pipeline->parts[d].times;
        busy[VRT_STAGE_UPLOAD] += (double)times->upload_ns / n_devices;
        busy[VRT_STAGE_COMPUTE] += (double)times->compute_ns / n_devices;
        busy[VRT_STAGE_DOWNLOAD] += (double)times->download_ns / n_devices;
    }
    for (int stage = 0; stage < VRT_STAGE_COUNT; stage++)
        busy[stage] = elapsed_ns > 0 ? VRT_MIN(busy[stage] / elapsed_ns, 1.0) : 0;
}

static enum vrt_stage find_bottleneck(const double *busy)
{
    enum vrt_stage busiest = VRT_STAGE_COUNT;

    for (int stage = 0; stage < VRT_STAGE_COUNT; stage++)
        if (busy[stage] > 0 && (busiest == VRT_STAGE_COUNT || busy[stage] > busy[busiest]))
            busiest = (enum vrt_stage)stage;
    return busiest;
}

enum vrt_precision vrt_pipeline_precision(enum vrt_dtype dtype)
{
    if (dtype == VRT_DTYPE_F16)
        return VRT_PRECISION_F16;
    return dtype == VRT_DTYPE_BF16 ? VRT_PRECISION_BF16 : VRT_PRECISION_F32;
}

/* The pool may be asked, because that changes nothing in it but a memory of measurements. */
static double speed_of(const struct vrt_pipeline *pipeline, size_t d)
{
    uint64_t checksum = vrt_network_checksum(pipeline->spec->network);

    return vrt_measurements_speed(vrt_pool_measurements(pipeline->pool), checksum,
                                  d)[pipeline->parts[d].dtype];
}

static void fill_devices(const struct vrt_pipeline *pipeline, struct vrt_pipeline_snapshot *to)
{
    size_t n_infos;
    const struct vrt_device_info *const *infos = vrt_pool_infos(pipeline->pool, &n_infos);

    for (size_t d = 0; d < n_infos; d++) {
        const struct vrt_part *part = &pipeline->parts[d];
        if (!part->is_probed)
            continue;
        to->devices[to->n_devices++] = (struct vrt_pipeline_device){
            .info = infos[d],
            .precision = vrt_pipeline_precision(part->dtype),
            .in_flight = part->in_flight,
            .shards_done = part->shards_done,
            .shards_failed = part->shards_failed,
            .frames_done = part->frames_done,
            .planned_bytes = part->job_bytes > 0 ? part->job_bytes : part->planned_bytes,
            .replica_bytes = part->replica_bytes,
            .allowed_bytes = part->allowed_bytes,
            .flops_per_s = speed_of(pipeline, d),
        };
    }
}

void vrt_pipeline_snapshot(const struct vrt_pipeline *pipeline,
                           struct vrt_pipeline_snapshot *ret_snapshot)
{
    int64_t elapsed_ns = ran_ns(pipeline);
    struct vrt_pipeline_snapshot *to = ret_snapshot;

    vrt_assert_thread(VRT_THREAD_LOOP);
    *to = (struct vrt_pipeline_snapshot){
        .phase = pipeline->phase,
        .frames_total = pipeline->frames_total,
        .frames_done = pipeline->frames_done,
        .n_segments_done = pipeline->n_segments_done,
        .frames_concealed = pipeline->frames_concealed,
        .fps = pipeline->started_ns ? rate(pipeline, elapsed_ns) : -1,
        .eta_s = -1,
        .elapsed_s = (double)elapsed_ns / VRT_NS_PER_S,
        .n_warnings = pipeline->n_warnings,
    };
    if (to->fps > 0 && to->frames_total >= 0)
        to->eta_s = (double)VRT_MAX(to->frames_total - to->frames_done, 0) / to->fps;
    fill_busy(pipeline, (double)elapsed_ns, to->busy);
    to->bottleneck = find_bottleneck(to->busy);
    fill_devices(pipeline, to);
}

const struct vrt_pipeline_info *vrt_pipeline_info(const struct vrt_pipeline *pipeline)
{
    return &pipeline->info;
}

const char *vrt_pipeline_warning(const struct vrt_pipeline *pipeline, size_t i)
{
    return pipeline->warnings[i];
}

const char *vrt_stage_name(enum vrt_stage stage)
{
    static const char *const names[VRT_STAGE_COUNT] = {
        [VRT_STAGE_DECODE] = "decode",
        [VRT_STAGE_UPLOAD] = "upload",
        [VRT_STAGE_COMPUTE] = "compute",
        [VRT_STAGE_DOWNLOAD] = "download",
        [VRT_STAGE_ENCODE] = "encode",
    };

    return (unsigned)stage < VRT_STAGE_COUNT ? names[stage] : "";
}
