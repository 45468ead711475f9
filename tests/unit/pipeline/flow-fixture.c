/* SPDX-License-Identifier: MIT */

#include "tests/unit/pipeline/flow-fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <unistd.h>

#include "base/clock.h"
#include "frames/process/child.h"
#include "tests/unit/environment.h"
#include "tests/unit/frames/frames-fixture.h"
#include "tests/unit/model/builtin-network.h"
#include "tests/unit/test.h"

static void on_timer(uv_timer_t *timer)
{
    struct flow *flow = vrt_container_of(timer, struct flow, timer);

    for (int i = 0; i < flow->n_jobs; i++) {
        struct flow_job *job = flow->jobs[i];
        struct vrt_pipeline_snapshot now;
        if (job->is_done || !job->pipeline)
            continue;
        vrt_pipeline_snapshot(job->pipeline, &now);
        expect_true(now.frames_done >= job->last.frames_done);
        job->last = now;
        if (job->cancel_at >= 0 && now.frames_done >= job->cancel_at)
            vrt_pipeline_cancel(job->pipeline);
        if (job->park_frames && now.frames_done >= job->park_frames)
            vrt_pipeline_park(job->pipeline);
    }
    for (size_t d = 0; d < vrt_pool_n_devices(flow->pool); d++) {
        struct vrt_device_snapshot device;
        vrt_pool_device(flow->pool, d, &device);
        if (device.state == VRT_DEVICE_QUARANTINED || device.state == VRT_DEVICE_LOST)
            flow->quarantined |= UINT64_C(1) << d;
    }
    if (flow->watch)
        flow->watch(flow);
}

void flow_init(struct flow *flow, const char *spool, struct vrt_pool_params params)
{
    struct vrt_error error = { 0 };

    *flow = (struct flow){ .network = builtin_network() };
    flow->spool_fd = open(spool, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
    expect_true(flow->spool_fd >= 0);
    /* As vrtd has it: one for all flows, which ends with the test. */
    vrt_child_keep_zygote(true);
    expect_int(uv_loop_init(&flow->loop), 0);
    uv_timer_init(&flow->loop, &flow->timer);
    uv_timer_start(&flow->timer, on_timer, 5, 5);
    params.loop = &flow->loop;
    if (vrt_pool_new(&params, &flow->pool, &error))
        test_fail("%s", error.message);
}

void flow_init_cpus(struct flow *flow, int n_devices)
{
    flow_init(flow, fixture_path(""), (struct vrt_pool_params){
        .registry = { .values = TEST_CPUS(n_devices, 1) },
    });
}

static void end_job(struct flow_job *job, const struct vrt_error *error)
{
    expect_true(!job->is_done);
    job->is_done = true;
    if (error) {
        job->error = *error;
        expect_true(error->id && error->message[0]);
    }
    vrt_pipeline_snapshot(job->pipeline, &job->last);
    expect_int(job->last.phase, VRT_PIPELINE_ENDED);
    for (size_t i = 0; i < job->last.n_warnings; i++) {
        size_t n = strlen(job->warnings);
        snprintf(job->warnings + n, sizeof(job->warnings) - n, "%s\n",
                 vrt_pipeline_warning(job->pipeline, i));
    }
    job->pipeline = vrt_pipeline_free(job->pipeline);
    if (--job->flow->n_running == 0)
        uv_stop(&job->flow->loop);
}

static void on_done(void *ctx, const struct vrt_error *error)
{
    end_job(ctx, error);
}

static void on_admitted(void *ctx, const struct vrt_error *error)
{
    struct flow_job *job = ctx;

    if (error) {
        end_job(job, error);
        return;
    }
    job->was_admitted = true;
    job->info = *vrt_pipeline_info(job->pipeline);
    vrt_pipeline_start(job->pipeline);
}

/* The job's folder of working files: "job0" and so on, in the flow's. */
static void open_folder(struct flow *flow, struct flow_job *job)
{
    const struct dirent *entry;
    char name[16];

    snprintf(name, sizeof(name), "job%d", flow->n_jobs);
    expect_true(mkdirat(flow->spool_fd, name, 0700) == 0 || errno == EEXIST);
    job->folder_fd = openat(flow->spool_fd, name, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
    expect_true(job->folder_fd >= 0);
    if (job->keeps)
        return;
    DIR *folder = fdopendir(dup(job->folder_fd));
    expect_true(folder);
    while ((entry = readdir(folder)))
        unlinkat(job->folder_fd, entry->d_name, 0);
    closedir(folder);
}

static void on_segment(void *ctx, const struct vrt_segment_record *segment)
{
    const struct vrt_error stopped = { .id = "test.stopped", .message = "stopped" };
    struct flow_job *job = ctx;

    expect_int(segment->number, job->n_segments);
    expect_true(job->n_segments < FLOW_SEGMENTS_MAX);
    job->segments[job->n_segments++] = *segment;
    vrt_pipeline_committed(job->pipeline, segment->number);
    if (job->n_segments == job->park_at)
        vrt_pipeline_park(job->pipeline);
    if (job->n_segments == job->stop_at)
        vrt_pipeline_stop(job->pipeline, &stopped);
    if (job->n_segments == job->hold_at)
        vrt_pipeline_hold(job->pipeline, true);
}

static void on_cut(void *ctx, int64_t first_number)
{
    struct flow_job *job = ctx;

    expect_true(first_number < job->n_segments);
    job->n_segments = job->n_good = (int)first_number;
    job->n_cuts++;
}

static void settle(int64_t *setting)
{
    if (*setting == 0 || *setting == FLOW_ZERO)
        *setting = *setting == 0 ? VRT_UNKNOWN : 0;
}

/* The settings as a pipeline is given them. */
static struct vrt_job_settings settled(const struct vrt_job_settings *given)
{
    struct vrt_job_settings settings;

    vrt_job_settings_init(&settings);
    if (!given)
        return settings;
    settings = *given;
    settle(&settings.tile);
    settle(&settings.times);
    settle(&settings.overlap);
    settle(&settings.clip);
    settle(&settings.clip_overlap);
    settle(&settings.segment_frames);
    settle(&settings.quality);
    if (!(settings.sigma > 0))
        settings.sigma = NAN;
    if (!(settings.strength > 0))
        settings.strength = NAN;
    if (!(settings.fps > 0))
        settings.fps = NAN;
    if (!(settings.scene_cuts > 0))
        settings.scene_cuts = settings.scene_cuts < 0 ? 0 : NAN;
    return settings;
}

void flow_submit(struct flow *flow, struct flow_job *job, struct vrt_pipeline_params params,
                 const char *output)
{
    const struct vrt_job_settings settings = settled(params.settings);
    struct vrt_error error = { 0 };
    char id[16];

    params.settings = &settings;
    open_folder(flow, job);
    if (!job->keeps)
        job->n_segments = 0;
    job->flow = flow;
    job->pipeline = NULL;
    job->was_admitted = job->is_done = false;
    job->n_cuts = 0;
    job->error = (struct vrt_error){ .id = NULL };
    job->warnings[0] = '\0';
    job->last = (struct vrt_pipeline_snapshot){ .n_devices = 0 };
    job->output_fd = open(output, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    expect_true(job->output_fd >= 0);
    snprintf(id, sizeof(id), "job%d", flow->n_jobs);
    params.job_id = id;
    params.output_fd = job->output_fd;
    params.pipe_fd = -1;
    params.output_name = output;
    params.spool_fd = job->folder_fd;
    if (!params.network && !params.model_name)
        params.network = flow->network;
    params.segments = job->segments;
    params.n_segments = (size_t)job->n_segments;
    params.segment_done = on_segment;
    params.segments_cut = on_cut;
    params.admitted = on_admitted;
    params.done = on_done;
    params.ctx = job;
    flow->jobs[flow->n_jobs++] = job;
    flow->n_running++;
    if (vrt_pipeline_new(flow->pool, &params, &job->pipeline, &error))
        test_fail("%s", error.message);
    close(params.input_fd);
}

void flow_run(struct flow *flow)
{
    while (flow->n_running > 0)
        uv_run(&flow->loop, UV_RUN_DEFAULT);
    for (int i = 0; i < flow->n_jobs; i++) {
        close(flow->jobs[i]->output_fd);
        close(flow->jobs[i]->folder_fd);
    }
    flow->n_jobs = 0;
}

static void on_stopped(void *ctx)
{
    struct flow *flow = ctx;

    flow->stopped = true;
    flow->pool = vrt_pool_free(flow->pool);
}

struct vrt_pipeline_params flow_exact_params(const char *input)
{
    static const struct vrt_job_settings exact = {
        .codec = VRT_CODEC_FFV1,
        .precision = VRT_PRECISION_F32,
    };

    return (struct vrt_pipeline_params){
        .input_name = "in.mp4",
        .input_fd = fixture_open(input),
        .model_fd = -1,
        .devices = "cpu",
        .settings = &exact,
    };
}

void flow_run_for(struct flow *flow, int ms)
{
    for (int64_t end_ns = vrt_clock_now_ns() + ms * VRT_NS_PER_MS; vrt_clock_now_ns() < end_ns;)
        uv_run(&flow->loop, UV_RUN_ONCE);
}

void flow_wait_until_idle(struct flow *flow, const struct flow_job *job,
                          struct vrt_pipeline_snapshot *ret_idle)
{
    struct vrt_pipeline_snapshot before;

    do {
        vrt_pipeline_snapshot(job->pipeline, &before);
        flow_run_for(flow, 10);
        vrt_pipeline_snapshot(job->pipeline, ret_idle);
    } while (ret_idle->elapsed_s > before.elapsed_s);
}

int64_t flow_shards_done(const struct vrt_pipeline_snapshot *now)
{
    int64_t n = 0;

    for (size_t d = 0; d < now->n_devices; d++)
        n += now->devices[d].shards_done;
    return n;
}

/* Whether a thread of this process is called like a device of the CPU. */
static bool has_device_thread(void)
{
    DIR *threads = opendir("/proc/self/task");
    const struct dirent *entry;
    char path[300], name[32];
    bool has = false;

    while (threads && !has && (entry = readdir(threads))) {
        snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
        FILE *file = fopen(path, "re");
        has = file && fgets(name, sizeof(name), file) && strncmp(name, "cpu:", 4) == 0;
        if (file)
            fclose(file);
    }
    if (threads)
        closedir(threads);
    return has;
}

void flow_wait_for_threads(void)
{
    while (has_device_thread())
        usleep(1000);
}

void flow_done(struct flow *flow)
{
    vrt_pool_stop(flow->pool, on_stopped, flow);
    uv_close((uv_handle_t *)&flow->timer, NULL);
    /* The last job's end stops the loop, as flow_run() wants it: then there is more to run. */
    while (uv_run(&flow->loop, UV_RUN_DEFAULT))
        fprintf(stderr, "  stopping\n");
    expect_true(flow->stopped);
    expect_int(uv_loop_close(&flow->loop), 0);
    close(flow->spool_fd);
    vrt_child_keep_zygote(false);
    vrt_network_unref(flow->network);
}
