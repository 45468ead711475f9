/* SPDX-License-Identifier: MIT */

#include "daemon/pipeline/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/op/precision.h"
#include "base/clock.h"
#include "base/log.h"
#include "daemon/devices/pool-job.h"
#include "workers/device/speed.h"

#define VRT_LOG_TOPIC "pipeline"

/* The rate is that of so long a time, but of so many shards at least: a clip may take minutes, and
 * its frames come at once. */
#define RATE_WINDOW_NS (10 * VRT_NS_PER_S)
#define RATE_SHARDS_MIN 2

/* Before so many frames nobody can say how fast it goes. */
#define RATE_FRAMES_MIN 2

void vrt_progress_init(struct vrt_progress *progress, struct vrt_pool *pool, const char *job_id,
                       struct vrt_pipeline_totals *totals)
{
    *progress = (struct vrt_progress){ .pool = pool, .job_id = job_id, .totals = totals };
    progress->told.frames_total = -1;
    for (size_t d = 0; d < VRT_DEVICES_MAX; d++)
        progress->devices[d].planned_bytes = progress->devices[d].job_bytes = -1;
}

void vrt_progress_done(struct vrt_progress *progress)
{
    for (size_t i = 0; i < progress->n_warnings; i++)
        free(progress->warnings[i]);
}

void vrt_progress_warn(struct vrt_progress *progress, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    /* Some come again with each shard. */
    for (size_t i = 0; i < progress->n_warnings; i++)
        if (strcmp(progress->warnings[i], text) == 0)
            return;
    if (progress->n_warnings == VRT_PIPELINE_WARNINGS_MAX)
        return;
    char *copy = strdup(text);
    if (!copy)
        return;
    progress->warnings[progress->n_warnings++] = copy;
    vrt_log_warning("job %s: %s", progress->job_id, text);
}

void vrt_progress_warn_all(struct vrt_progress *progress, const struct vrt_warnings *warnings)
{
    for (int i = 0; i < warnings->n; i++)
        vrt_progress_warn(progress, "%s", warnings->sentences[i]);
    if (warnings->n_lost > 0)
        vrt_progress_warn(progress, "and %d warning%s more", warnings->n_lost,
                          warnings->n_lost == 1 ? "" : "s");
}

void vrt_progress_note_choice(struct vrt_progress *progress,
                              const struct vrt_device_choice *choice, const char *request,
                              uid_t uid)
{
    size_t n_infos, n = 0;
    const struct vrt_device_info *const *infos = vrt_pool_infos(progress->pool, &n_infos);
    char names[256] = "", shown[VRT_API_REQUEST_DEVICE_BYTES];

    for (size_t i = 0; i < choice->n_warnings; i++)
        vrt_progress_warn(progress, "%s", choice->warnings[i]);
    for (size_t d = 0; d < n_infos && n < sizeof(names); d++)
        if (choice->devices >> d & 1)
            n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s", n ? ", " : "",
                                  infos[d]->name);
    if (choice->is_redirected)
        vrt_log_info("job %s: uid %u asked for %s, and gets %s", progress->job_id, (unsigned)uid,
                     vrt_printable(request, shown, sizeof(shown)), names);
}

void vrt_progress_note_probe(struct vrt_progress *progress, size_t d,
                             const struct vrt_probe *probe)
{
    struct vrt_progress_device *device = &progress->devices[d];

    device->is_probed = probe;
    if (!probe)
        return;
    progress->network_checksum = vrt_network_checksum(probe->spec->network);
    device->dtype = probe->dtype;
    device->batch = probe->wanted_batch;
    device->planned_bytes = probe->planned_bytes;
    device->replica_bytes = probe->replica_bytes;
    device->allowed_bytes = probe->allowed_bytes;
}

void vrt_progress_note_run(struct vrt_progress *progress, size_t d,
                           const struct vrt_worker_run *run)
{
    struct vrt_progress_device *device = &progress->devices[d];

    device->in_flight++;
    for (size_t i = 0; run && i < VRT_ARRAY_SIZE(device->runs); i++) {
        if (!device->runs[i]) {
            device->runs[i] = run;
            return;
        }
    }
}

void vrt_progress_forget_run(struct vrt_progress *progress, size_t d,
                             const struct vrt_worker_run *run)
{
    struct vrt_progress_device *device = &progress->devices[d];

    device->in_flight--;
    for (size_t i = 0; i < VRT_ARRAY_SIZE(device->runs); i++)
        if (device->runs[i] == run)
            device->runs[i] = NULL;
}

/* Frames that a device has computed of the shards that it has: as many as that is work. */
static double frames_underway(const struct vrt_progress_device *device)
{
    double frames = 0;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(device->runs); i++) {
        const struct vrt_worker_run *run = device->runs[i];
        if (!run || run->tile_flops <= 0)
            continue;
        const double flops = vrt_speed_shard_flops(run->spec, run->tile_flops, &run->frames);
        const double done = (double)atomic_load_explicit(&run->done_flops, memory_order_relaxed);
        frames += flops > 0 ? run->frames.n_new * VRT_MIN(done / flops, 1) : 0;
    }
    return frames;
}

/* Frames of the job that are computed, but not encoded. */
static double all_underway(const struct vrt_progress *progress)
{
    const int64_t n_encoded = progress->told.frames_done, n_total = progress->told.frames_total;
    double frames = (double)(progress->frames_resumed - n_encoded);

    for (size_t d = 0; d < VRT_DEVICES_MAX; d++)
        frames += (double)progress->devices[d].frames_done +
                  frames_underway(&progress->devices[d]);
    if (n_total >= 0)
        frames = VRT_MIN(frames, (double)(n_total - n_encoded));
    return VRT_MAX(frames, 0);
}

void vrt_progress_note_idle(struct vrt_progress *progress, bool is_idle)
{
    int64_t now_ns = vrt_clock_now_ns();

    if (is_idle && !progress->idle_since_ns) {
        progress->idle_since_ns = now_ns;
    } else if (!is_idle && progress->idle_since_ns) {
        progress->idle_ns += now_ns - progress->idle_since_ns;
        progress->idle_since_ns = 0;
    }
}

/* How long the job itself took, until now or its end. */
static int64_t ran_ns(const struct vrt_progress *progress)
{
    int64_t now_ns = progress->ended_ns ? progress->ended_ns : vrt_clock_now_ns();

    if (!progress->started_ns)
        return 0;
    if (progress->idle_since_ns)
        now_ns = progress->idle_since_ns;
    return now_ns - progress->started_ns - progress->idle_ns;
}

void vrt_progress_note_busy(struct vrt_progress *progress, enum vrt_stage stage, int64_t busy_ns)
{
    *(stage == VRT_STAGE_DECODE ? &progress->decode_ns : &progress->encode_ns) += busy_ns;
    if (progress->totals)
        progress->totals->busy_ns[stage] += busy_ns;
}

void vrt_progress_note_times(struct vrt_progress *progress, size_t d,
                             const struct vrt_session_times *times)
{
    struct vrt_session_times *sum = &progress->devices[d].times;

    sum->upload_ns += times->upload_ns;
    sum->compute_ns += times->compute_ns;
    sum->download_ns += times->download_ns;
    if (!progress->totals)
        return;
    progress->totals->busy_ns[VRT_STAGE_UPLOAD] += times->upload_ns;
    progress->totals->busy_ns[VRT_STAGE_COMPUTE] += times->compute_ns;
    progress->totals->busy_ns[VRT_STAGE_DOWNLOAD] += times->download_ns;
}

void vrt_progress_note_frames(struct vrt_progress *progress, int n)
{
    progress->told.frames_done += n;
    if (progress->totals)
        progress->totals->frames_done += n;
    progress->samples[progress->n_samples++ % VRT_PROGRESS_SAMPLES] = (struct vrt_progress_sample){
        .ran_ns = ran_ns(progress),
        .frames = (double)progress->told.frames_done + all_underway(progress),
    };
}

/* Frames per second over the window, or since the start, of `until`; -1: too early to tell. */
static double rate(const struct vrt_progress *progress, enum vrt_pipeline_phase phase,
                   const struct vrt_progress_sample *until)
{
    const struct vrt_progress_sample start = { .frames = (double)progress->frames_resumed };
    struct vrt_progress_sample from = start;
    size_t n = VRT_MIN(progress->n_samples, VRT_PROGRESS_SAMPLES);
    int64_t frames_min = VRT_MAX(RATE_FRAMES_MIN,
                                 RATE_SHARDS_MIN * progress->clip_frames);

    /* The youngest sample that is old enough, else the oldest that is kept. */
    for (size_t age = n; age > 0; age--) {
        const struct vrt_progress_sample *sample =
            &progress->samples[(progress->n_samples - age) % VRT_PROGRESS_SAMPLES];
        bool is_oldest_kept = age == n && progress->n_samples > VRT_PROGRESS_SAMPLES;
        bool is_old = until->ran_ns - sample->ran_ns > RATE_WINDOW_NS &&
                      until->frames - sample->frames >= (double)frames_min;
        if (is_oldest_kept || is_old)
            from = *sample;
    }
    if (phase == VRT_PIPELINE_ENDED || phase == VRT_PIPELINE_FINISHING)
        from = start;
    if (until->frames - from.frames < RATE_FRAMES_MIN || until->ran_ns <= from.ran_ns)
        return -1;
    return (until->frames - from.frames) * VRT_NS_PER_S / (double)(until->ran_ns - from.ran_ns);
}

/* The share of the time in which each stage worked. The devices' stages: on average of those that
 * take part, for one that idles while another is busy is a device too many. */
static void fill_busy(const struct vrt_progress *progress, double elapsed_ns, double *busy)
{
    int n_devices = __builtin_popcountll(progress->admitted);

    busy[VRT_STAGE_DECODE] = (double)progress->decode_ns;
    busy[VRT_STAGE_ENCODE] = (double)progress->encode_ns;
    for (size_t d = 0; d < VRT_DEVICES_MAX && n_devices > 0; d++) {
        const struct vrt_session_times *times = &progress->devices[d].times;
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

/* The pool may be asked, because that changes nothing in it but a memory of measurements. */
static double speed_of(const struct vrt_progress *progress, size_t d)
{
    return vrt_measurements_speed(vrt_pool_measurements(progress->pool),
                                  progress->network_checksum, d)
        [progress->devices[d].dtype];
}

static void fill_devices(const struct vrt_progress *progress, struct vrt_pipeline_snapshot *to)
{
    size_t n_infos;
    const struct vrt_device_info *const *infos = vrt_pool_infos(progress->pool, &n_infos);

    for (size_t d = 0; d < n_infos; d++) {
        const struct vrt_progress_device *device = &progress->devices[d];
        if (!device->is_probed)
            continue;
        const double underway = frames_underway(device);
        const double frames = (double)device->frames_done + underway;
        to->devices[to->n_devices++] = (struct vrt_pipeline_device){
            .info = infos[d],
            .precision = vrt_precision_of(device->dtype),
            .in_flight = device->in_flight,
            .shards_done = device->shards_done,
            .shards_failed = device->shards_failed,
            .frames_done = device->frames_done,
            .frames_underway = underway,
            .fps = frames >= RATE_FRAMES_MIN && to->elapsed_s > 0 ? frames / to->elapsed_s : -1,
            .planned_bytes = device->job_bytes > 0 ? device->job_bytes : device->planned_bytes,
            .replica_bytes = device->replica_bytes,
            .allowed_bytes = device->allowed_bytes,
            .flops_per_s = speed_of(progress, d),
        };
    }
}

void vrt_progress_snapshot(const struct vrt_progress *progress, enum vrt_pipeline_phase phase,
                           struct vrt_pipeline_snapshot *ret_snapshot)
{
    int64_t elapsed_ns = ran_ns(progress);
    struct vrt_pipeline_snapshot *to = ret_snapshot;

    *to = progress->told;
    to->phase = phase;
    to->frames_underway = all_underway(progress);
    const struct vrt_progress_sample now = {
        .ran_ns = elapsed_ns,
        .frames = (double)to->frames_done + to->frames_underway,
    };
    to->fps = progress->started_ns ? rate(progress, phase, &now) : -1;
    to->left_s = -1;
    to->elapsed_s = (double)elapsed_ns / VRT_NS_PER_S;
    to->n_warnings = progress->n_warnings;
    if (to->fps > 0 && to->frames_total >= 0)
        to->left_s = VRT_MAX((double)to->frames_total - now.frames, 0) / to->fps;
    fill_busy(progress, (double)elapsed_ns, to->busy);
    to->bottleneck = find_bottleneck(to->busy);
    fill_devices(progress, to);
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
