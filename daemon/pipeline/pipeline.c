/* SPDX-License-Identifier: MIT */

/*
 * A pipeline's life: made, admitted, started, ended. pipeline-admit.c is its first phase,
 * pipeline-flow.c and pipeline-shards.c its second, pipeline-progress.c what is told of both.
 *
 * Whatever happens ends in vrt_pipeline_step(), which does what is due then. A failure only marks
 * the pipeline as closing; it has ended when the last of what it had under way has come back, and
 * so nothing ever comes back to a pipeline that is gone. Success goes the same way: the finished
 * file marks the pipeline as closing, without an error.
 *
 * Under way are at most the decode and encode threads, shards with devices, and probes: end()
 * comes when there is none of these. Nobody waits for any of them. The threads look at `cancel`, a
 * device between tiles at its task's own flag; one that hangs is abandoned by the pool, which
 * returns its shards as lost. What comes back late finds is_closing set, and is dropped.
 *
 * vrt_pipeline_fail() takes no step: its callers go on to use the pipeline, which a step may free.
 * If nothing comes back to the pipeline after it, the pool's tick steps it.
 */

#include "daemon/pipeline/pipeline.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "daemon/pipeline/pipeline-impl.h"

#define VRT_LOG_TOPIC "pipeline"

/* What is submitted doesn't wait longer for a device, however long jobs may: vrtctl waits for 60 s,
 * and is to be told why. */
#define SUBMIT_PATIENCE_S 45.0

static struct vrt_pipeline *pipeline_of(struct vrt_pool_job *job)
{
    return vrt_container_of(job, struct vrt_pipeline, job);
}

static void on_tick(struct vrt_pool_job *job)
{
    vrt_pipeline_step(pipeline_of(job));
}

/* The queue cancels its jobs before the pool stops; this is for those that nobody cancelled. */
static void on_stop(struct vrt_pool_job *job)
{
    struct vrt_pipeline *pipeline = pipeline_of(job);
    const struct vrt_error error = {
        .id = "job.interrupted",
        .message = "the daemon was stopped before the job's end",
    };

    vrt_pipeline_fail(pipeline, &error);
}

static const struct vrt_pool_job_ops job_ops = {
    .take = vrt_pipeline_take,
    .may_copy = vrt_pipeline_may_copy,
    .copy = vrt_pipeline_copy,
    .returned = vrt_pipeline_returned,
    .tick = on_tick,
    .stop = on_stop,
};

/* Copies `text`, where there is any, to *ret_copy. */
static int copy_text(const char *text, char **ret_copy)
{
    if (!text)
        return 0;
    *ret_copy = strdup(text);
    return *ret_copy ? 0 : vrt_raise(-ENOMEM);
}

/* Duplicates `fd`, where there is one, to *ret_fd. */
static int copy_fd(int fd, int *ret_fd)
{
    if (fd < 0)
        return 0;
    *ret_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return *ret_fd < 0 ? vrt_raise(-errno) : 0;
}

static int copy_segments(struct vrt_pipeline *pipeline, const struct vrt_pipeline_params *params)
{
    if (!params->n_segments)
        return 0;
    pipeline->segments = calloc(params->n_segments, sizeof(*pipeline->segments));
    if (!pipeline->segments)
        return vrt_raise(-ENOMEM);
    memcpy(pipeline->segments, params->segments, params->n_segments * sizeof(*params->segments));
    pipeline->n_segments = params->n_segments;
    return 0;
}

static int copy_params(struct vrt_pipeline *pipeline, const struct vrt_pipeline_params *params)
{
    const struct {
        const char *text;
        char **copy;
    } texts[] = {
        { params->job_id, &pipeline->job_id },
        { params->input_name, &pipeline->input_name },
        { params->output_name, &pipeline->output_name },
        { params->model_name ? params->model_name : "the model", &pipeline->model_name },
        { params->devices ? params->devices : "auto", &pipeline->request },
        { params->codec, &pipeline->codec },
        { params->preset, &pipeline->preset },
    };
    const struct {
        int fd;
        int *copy;
    } fds[] = {
        { params->input_fd, &pipeline->input_fd },
        { params->output_fd, &pipeline->output_fd },
        { params->spool_fd, &pipeline->spool_fd },
        { params->network ? -1 : params->model_fd, &pipeline->model_fd },
    };
    int r = copy_segments(pipeline, params);

    for (size_t i = 0; !r && i < VRT_ARRAY_SIZE(texts); i++)
        r = copy_text(texts[i].text, texts[i].copy);
    for (size_t i = 0; !r && i < VRT_ARRAY_SIZE(fds); i++)
        r = copy_fd(fds[i].fd, fds[i].copy);
    pipeline->fallback = params->fallback;
    pipeline->strict = params->strict;
    pipeline->wants_speed = params->wants_speed;
    pipeline->wants_smaller = params->wants_smaller;
    pipeline->admitted = params->admitted;
    pipeline->done = params->done;
    pipeline->segment_done = params->segment_done;
    pipeline->segments_cut = params->segments_cut;
    pipeline->ctx = params->ctx;
    pipeline->job.priority = params->priority;
    pipeline->job.uid = params->uid;
    return r;
}

static void fill_admission(struct vrt_pipeline *pipeline, const struct vrt_pipeline_params *params)
{
    pipeline->admission = (struct vrt_admission){
        .files = {
            .input_fd = pipeline->input_fd,
            .output_fd = pipeline->output_fd,
            .input_name = pipeline->input_name,
            .output_name = pipeline->output_name,
        },
        .model_fd = pipeline->model_fd,
        .spool_fd = pipeline->spool_fd,
        .model_name = pipeline->model_name,
        .codec = pipeline->codec,
        .preset = pipeline->preset,
        .quality = params->quality,
        .tile = params->tile,
        .overlap = params->overlap,
        .clip = params->clip,
        .segment_frames = params->segment_frames,
        .precision = params->recipe ? params->recipe->precision : params->precision,
        .has_recipe = params->recipe,
        .has_fingerprint = params->fingerprint,
        .network_checksum = params->network_checksum,
        .strict = params->strict,
        .cancel = &pipeline->cancel,
        .network = params->network ? vrt_network_ref(params->network) : NULL,
    };
    if (params->recipe)
        pipeline->admission.recipe = *params->recipe;
    if (params->fingerprint)
        pipeline->admission.fingerprint = *params->fingerprint;
}

static struct vrt_pipeline *pipeline_alloc(struct vrt_pool *pool)
{
    struct vrt_pipeline *pipeline = calloc(1, sizeof(*pipeline));

    if (!pipeline)
        return NULL;
    pipeline->pool = pool;
    pipeline->job.ops = &job_ops;
    pipeline->input_fd = pipeline->output_fd = pipeline->spool_fd = pipeline->model_fd = -1;
    vrt_list_init(&pipeline->job.link);
    vrt_list_init(&pipeline->ready);
    vrt_list_init(&pipeline->restored);
    vrt_list_init(&pipeline->running);
    atomic_init(&pipeline->cancel, false);
    pipeline->frames_total = -1;
    atomic_init(&pipeline->committed, -1);
    for (size_t d = 0; d < VRT_DEVICES_MAX; d++)
        pipeline->parts[d].planned_bytes = pipeline->parts[d].job_bytes = -1;
    return pipeline;
}

int vrt_pipeline_new(struct vrt_pool *pool, const struct vrt_pipeline_params *params,
                     struct vrt_pipeline **ret_pipeline, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_pipeline_freep) struct vrt_pipeline *pipeline = NULL;
    int r;

    vrt_assert_thread(VRT_THREAD_LOOP);
    if (vrt_pool_is_stopping(pool))
        return vrt_refuse(error, -ESHUTDOWN, "shutting_down", "the daemon is about to stop");
    pipeline = pipeline_alloc(pool);
    if (!pipeline)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the job");
    r = copy_params(pipeline, params);
    if (r)
        return vrt_refuse_errno(error, r, "the job's files");
    fill_admission(pipeline, params);
    r = vrt_pipeline_admit(pipeline);
    if (r)
        return vrt_refuse_errno(error, r, "the job's thread");
    /* The thread runs, but what it returns comes by the loop, and so not before this. */
    vrt_pool_job_add(pool, &pipeline->job);
    *ret_pipeline = VRT_STEAL(pipeline);
    return 0;
}

void vrt_pipeline_start(struct vrt_pipeline *pipeline)
{
    struct vrt_error error = { 0 };
    int r;

    vrt_assert_thread(VRT_THREAD_LOOP);
    if (pipeline->phase == VRT_PIPELINE_ENDED)
        return;
    vrt_assert(pipeline->phase == VRT_PIPELINE_ADMITTED && pipeline->output_fd >= 0);
    pipeline->phase = VRT_PIPELINE_RUNNING;
    pipeline->started_ns = vrt_clock_now_ns();
    pipeline->no_device_ns = 0;
    r = vrt_pipeline_flow_start(pipeline);
    if (r) {
        r = vrt_refuse_errno(&error, r, "the job's threads");
        vrt_pipeline_fail(pipeline, &error);
    }
}

/* Nothing new is begun, and what is under way is told to stop. Calls nobody back. It is done at
 * each step of the end: success has set is_closing alone, and once more does no harm. The flags are
 * for failures: a pipeline that has succeeded has nothing under way that should break off. */
static void close_down(struct vrt_pipeline *pipeline)
{
    struct vrt_shard *shard;

    pipeline->is_closing = true;
    pipeline->job.n_ready = 0;
    if (pipeline->error.message[0]) {
        atomic_store(&pipeline->cancel, true);
        VRT_LIST_FOREACH(shard, &pipeline->running, link)
            for (int i = 0; i < shard->n_tries; i++)
                atomic_store(&shard->tries[i].run->base.task.cancel, true);
    }
    if (pipeline->decode_thread)
        vrt_mailbox_stop(pipeline->decode_thread);
    if (pipeline->encode_thread)
        vrt_mailbox_stop(pipeline->encode_thread);
    vrt_pipeline_drop_shards(pipeline);
    vrt_pipeline_forsake_probes(pipeline);
}

void vrt_pipeline_fail(struct vrt_pipeline *pipeline, const struct vrt_error *error)
{
    if (pipeline->phase == VRT_PIPELINE_ENDED || pipeline->is_closing)
        return;
    pipeline->error = *error;
    /* Nothing is under way: there is no thread, and no device knows of it. */
    if (pipeline->phase == VRT_PIPELINE_ADMITTED) {
        pipeline->phase = VRT_PIPELINE_ENDED;
        vrt_pool_job_remove(pipeline->pool, &pipeline->job);
        return;
    }
    close_down(pipeline);
}

/* If the devices can't be told, no memory is lost for good: a device executor gives up sessions of
 * other jobs when it needs room, and a device that was lost holds nothing. */
void vrt_pipeline_release_devices(struct vrt_pipeline *pipeline)
{
    for (size_t d = 0; d < vrt_pool_n_devices(pipeline->pool); d++) {
        struct vrt_worker_task *task;
        if (!pipeline->parts[d].holds)
            continue;
        task = vrt_worker_release_new(pipeline->spec);
        if (!task)
            continue;
        pipeline->parts[d].holds = false;
        if (vrt_pool_submit(pipeline->pool, d, task, NULL, NULL))
            vrt_log_debug("job %s: device %zu has forgotten it already", pipeline->job_id, d);
    }
}

/* The last step: nothing of the pipeline is under way any more. The callback may free it. */
static void end(struct vrt_pipeline *pipeline)
{
    bool was_admitting = pipeline->phase == VRT_PIPELINE_ADMITTING;
    const struct vrt_error *error = pipeline->error.message[0] ? &pipeline->error : NULL;

    pipeline->phase = VRT_PIPELINE_ENDED;
    pipeline->ended_ns = vrt_clock_now_ns();
    if (!was_admitting)
        vrt_pipeline_release_devices(pipeline);
    vrt_pool_job_remove(pipeline->pool, &pipeline->job);
    (was_admitting ? pipeline->admitted : pipeline->done)(pipeline->ctx, error);
}

void vrt_pipeline_step(struct vrt_pipeline *pipeline)
{
    bool is_flowing = pipeline->phase == VRT_PIPELINE_RUNNING ||
                      pipeline->phase == VRT_PIPELINE_FINISHING;

    if (!pipeline->is_closing) {
        if (pipeline->phase == VRT_PIPELINE_ADMITTING)
            vrt_pipeline_admit_step(pipeline);
        else if (is_flowing)
            vrt_pipeline_flow(pipeline);
        return;
    }
    close_down(pipeline);
    if (pipeline->phase != VRT_PIPELINE_ENDED && !pipeline->decode_thread &&
        !pipeline->encode_thread &&
        !pipeline->n_running && !vrt_pipeline_probing(pipeline))
        end(pipeline);
}

/* As vrt_pipeline_step(), but it never calls back. */
static void go_on(struct vrt_pipeline *pipeline)
{
    bool is_flowing = pipeline->phase == VRT_PIPELINE_RUNNING ||
                      pipeline->phase == VRT_PIPELINE_FINISHING;

    if (is_flowing && !pipeline->is_closing)
        vrt_pipeline_flow(pipeline);
}

void vrt_pipeline_stop(struct vrt_pipeline *pipeline, const struct vrt_error *reason)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    vrt_pipeline_fail(pipeline, reason);
}

void vrt_pipeline_cancel(struct vrt_pipeline *pipeline)
{
    const struct vrt_error error = { .id = "job.cancelled", .message = "the job was cancelled" };

    vrt_pipeline_stop(pipeline, &error);
}

void vrt_pipeline_park(struct vrt_pipeline *pipeline)
{
    const struct vrt_error error = {
        .id = "job.parked",
        .message = "the job was put by before it began",
    };

    vrt_assert_thread(VRT_THREAD_LOOP);
    pipeline->is_parking = true;
    if (pipeline->phase <= VRT_PIPELINE_ADMITTED)
        vrt_pipeline_fail(pipeline, &error);
    go_on(pipeline);
}

void vrt_pipeline_hold(struct vrt_pipeline *pipeline, bool held)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    pipeline->is_held = held;
    go_on(pipeline);
}

void vrt_pipeline_committed(struct vrt_pipeline *pipeline, int64_t number)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    if (number > atomic_load(&pipeline->committed))
        atomic_store(&pipeline->committed, number);
}

void vrt_pipeline_set_priority(struct vrt_pipeline *pipeline, int priority)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    pipeline->job.priority = priority;
    vrt_pool_wake(pipeline->pool);
}

struct vrt_pipeline *vrt_pipeline_free(struct vrt_pipeline *pipeline)
{
    if (!pipeline)
        return NULL;
    vrt_assert(!pipeline->decode_thread && !pipeline->encode_thread && !pipeline->n_running);
    if (pipeline->phase == VRT_PIPELINE_ADMITTED)
        vrt_pool_job_remove(pipeline->pool, &pipeline->job);
    vrt_pipeline_drop_shards(pipeline);
    vrt_admission_done(&pipeline->admission);
    vrt_job_spec_unref(pipeline->spec);
    free(pipeline->segments);

    int *const fds[] = { &pipeline->input_fd, &pipeline->output_fd, &pipeline->spool_fd,
                         &pipeline->model_fd };
    for (size_t i = 0; i < VRT_ARRAY_SIZE(fds); i++)
        vrt_closep(fds[i]);
    char *const texts[] = { pipeline->job_id, pipeline->input_name, pipeline->output_name,
                            pipeline->model_name, pipeline->request, pipeline->codec,
                            pipeline->preset };
    for (size_t i = 0; i < VRT_ARRAY_SIZE(texts); i++)
        free(texts[i]);
    for (size_t i = 0; i < pipeline->n_warnings; i++)
        free(pipeline->warnings[i]);
    free(pipeline);
    return NULL;
}

bool vrt_pipeline_waits_too_long(struct vrt_pipeline *pipeline, bool any)
{
    int64_t now_ns = vrt_clock_now_ns();
    double patience_s = vrt_pool_params(pipeline->pool)->patience_s;

    /* Somebody waits for the answer to what is being submitted. */
    if (!pipeline->admission.has_recipe)
        patience_s = VRT_MIN(patience_s, SUBMIT_PATIENCE_S);
    if (any)
        pipeline->no_device_ns = 0;
    else if (!pipeline->no_device_ns)
        pipeline->no_device_ns = now_ns;
    return !any && (double)(now_ns - pipeline->no_device_ns) > patience_s * VRT_NS_PER_S;
}

void vrt_pipeline_warn(struct vrt_pipeline *pipeline, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    /* Some come again with each shard. */
    for (size_t i = 0; i < pipeline->n_warnings; i++)
        if (strcmp(pipeline->warnings[i], text) == 0)
            return;
    if (pipeline->n_warnings == VRT_PIPELINE_WARNINGS_MAX)
        return;
    char *copy = strdup(text);
    if (!copy)
        return;
    pipeline->warnings[pipeline->n_warnings++] = copy;
    vrt_log_warning("job %s: %s", pipeline->job_id, text);
}

void vrt_pipeline_warn_all(struct vrt_pipeline *pipeline, const struct vrt_warnings *warnings)
{
    for (int i = 0; i < warnings->n; i++)
        vrt_pipeline_warn(pipeline, "%s", warnings->sentences[i]);
    if (warnings->n_lost > 0)
        vrt_pipeline_warn(pipeline, "and %d warning%s more", warnings->n_lost,
                          warnings->n_lost == 1 ? "" : "s");
}
