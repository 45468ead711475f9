/* SPDX-License-Identifier: MIT */

/*
 * A shard between decoder and encoder: it waits, is with a device, fails and waits again, or is
 * restored and waits for those before it. What failed goes once more to the same device, then to
 * the others; what fails everywhere fails the job. One that is with a device for too long may be
 * given to a second one: then the first result is taken, and nobody waits for the other.
 */

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "daemon/pipeline/pipeline-impl.h"
#include "frames/clips/clip.h"

#define VRT_LOG_TOPIC "pipeline"

/* A shard that failed so often fails its job, however many devices there are. */
#define FAILURES_MAX 16

/* So often a shard that failed on every device begins anew, unless all it ever got was wrong
 * results: then they are the network's. */
#define ROUNDS_MAX 2

/* A device on which there was no memory so often leaves the job: for the two shards that it held at
 * a time, and for one by itself. */
#define NOMEM_MAX 3

static struct vrt_shard *shard_free(struct vrt_shard *shard)
{
    vrt_shard_frames_done(&shard->frames);
    free(shard);
    return NULL;
}

/* Puts the shard into a list that is sorted by index. */
static void insert_sorted(struct vrt_list *list, struct vrt_shard *shard)
{
    struct vrt_list *at = list;

    while (at->previous != list &&
           vrt_container_of(at->previous, struct vrt_shard, link)->index > shard->index)
        at = at->previous;
    vrt_list_insert_before(at, &shard->link);
}

static void drop_all(struct vrt_list *list)
{
    struct vrt_shard *shard;

    VRT_LIST_FOREACH(shard, list, link) {
        vrt_list_remove(&shard->link);
        shard_free(shard);
    }
}

void vrt_pipeline_drop_shards(struct vrt_pipeline *pipeline)
{
    drop_all(&pipeline->ready);
    drop_all(&pipeline->restored);
    pipeline->n_ready = pipeline->job.n_ready = 0;
}

int vrt_pipeline_add_shard(struct vrt_pipeline *pipeline, struct vrt_shard_frames *frames)
{
    struct vrt_shard *shard = calloc(1, sizeof(*shard));

    if (!shard)
        return vrt_raise(-ENOMEM);
    shard->index = pipeline->next_index++;
    shard->last_failed = -1;
    shard->frames = *frames;
    frames->n = 0;
    pipeline->frames_decoded += shard->frames.n_new;
    pipeline->n_live++;
    pipeline->n_ready++;
    insert_sorted(&pipeline->ready, shard);
    return 0;
}

/* The first one for the encoder, though others before it may be missing. */
static struct vrt_shard *first_restored(const struct vrt_pipeline *pipeline)
{
    return VRT_LIST_FIRST(&pipeline->restored, struct vrt_shard, link);
}

bool vrt_pipeline_next_is_restored(const struct vrt_pipeline *pipeline)
{
    const struct vrt_shard *shard = first_restored(pipeline);

    return shard && shard->index == pipeline->next_encode;
}

int64_t vrt_pipeline_take_restored(struct vrt_pipeline *pipeline,
                                   struct vrt_shard_frames *ret_frames)
{
    struct vrt_shard *shard = first_restored(pipeline);

    *ret_frames = shard->frames;
    shard->frames.n = 0;
    vrt_list_remove(&shard->link);
    shard_free(shard);
    return pipeline->next_encode++;
}

/* Where the shard may go: once more to the device it failed on, else where it didn't fail twice. */
static uint64_t devices_for(const struct vrt_pipeline *pipeline, const struct vrt_shard *shard)
{
    uint64_t devices = pipeline->devices & ~shard->excluded;
    uint64_t again = shard->last_failed < 0 ? 0 : UINT64_C(1) << shard->last_failed;

    again &= devices & vrt_pool_devices(pipeline->pool).ready;
    return again ? again : devices;
}

void vrt_pipeline_describe(struct vrt_pipeline *pipeline)
{
    const struct vrt_shard *head = VRT_LIST_FIRST(&pipeline->ready, struct vrt_shard, link);
    int64_t n_left = INT_MAX, n_clips;

    /* The container's count may be a few off, and scenes add clips: while frames come, there is
     * one more. */
    if (pipeline->at_end) {
        n_left = pipeline->n_ready;
    } else if (pipeline->frames_total >= 0) {
        n_clips = vrt_clip_count(&pipeline->spec->rule, pipeline->frames_total);
        n_left = VRT_MAX(n_clips - pipeline->n_handed, pipeline->n_ready + 1);
    }
    pipeline->job.n_ready = pipeline->is_held ? 0 : pipeline->n_ready;
    pipeline->job.n_left = (int)VRT_MIN(n_left, INT_MAX);
    pipeline->job.n_window = pipeline->live_max;
    pipeline->job.is_held_up = !pipeline->n_ready && !pipeline->is_held &&
        (pipeline->at_end || (pipeline->n_live >= pipeline->live_max && !pipeline->n_decoding &&
                              !pipeline->n_encoding));
    pipeline->job.devices = head ? devices_for(pipeline, head) : 0;
}

/* Says of each device that is lost or in quarantine that the job does without it. */
static void warn_of_absent(struct vrt_pipeline *pipeline)
{
    const uint64_t absent = pipeline->devices & ~vrt_pool_devices(pipeline->pool).ready &
                            ~vrt_pool_devices(pipeline->pool).starting;
    const uint64_t missed = absent & ~pipeline->absent;
    size_t n_infos;

    pipeline->absent = absent;
    for (size_t d = 0; missed && d < vrt_pool_n_devices(pipeline->pool); d++)
        if (missed >> d & 1)
            vrt_pipeline_warn(pipeline, "%s is left out until it works again: %s",
                              vrt_pool_infos(pipeline->pool, &n_infos)[d]->name,
                              vrt_pool_device_error(pipeline->pool, d));
}

void vrt_pipeline_check_devices(struct vrt_pipeline *pipeline)
{
    const struct vrt_shard *head = VRT_LIST_FIRST(&pipeline->ready, struct vrt_shard, link);
    uint64_t ready = vrt_pool_devices(pipeline->pool).ready;
    uint64_t hopeful = vrt_pool_devices(pipeline->pool).hopeful;
    uint64_t able = pipeline->devices & ~(head ? head->excluded : 0);
    struct vrt_error error = { .id = NULL };
    char why[sizeof(head->why)] = "";
    size_t n_infos;
    int r = 0;

    if (pipeline->phase == VRT_PIPELINE_RUNNING)
        warn_of_absent(pipeline);
    if (!head || pipeline->is_held)
        return;
    bool waits = vrt_pipeline_waits_too_long(pipeline, able & ready);
    if (able & ready || (able & hopeful && !waits))
        return;
    snprintf(why, sizeof(why), "%s", head->why);
    for (size_t d = 0; !why[0] && d < vrt_pool_n_devices(pipeline->pool); d++)
        if (pipeline->info.devices >> d & 1 && vrt_pool_device_error(pipeline->pool, d)[0])
            snprintf(why, sizeof(why), "%s: %s", vrt_pool_infos(pipeline->pool, &n_infos)[d]->name,
                     vrt_pool_device_error(pipeline->pool, d));
    if (pipeline->devices & head->excluded && !(able & (ready | hopeful)))
        r = vrt_refuse(&error, -EIO, "device.failed",
                       "the frames from %" PRId64 " on could not be restored on any device: %s",
                       head->frames.in[0]->index, why);
    else
        /* Those that left could do smaller shards, whatever became of the others. */
        r = vrt_refuse(&error, -EIO, pipeline->devices == pipeline->info.devices ?
                       "device.failed" : "device.memory", "no device is left for the job: %s",
                       why);
    (void)r;
    vrt_pipeline_fail(pipeline, &error);
}

/* Makes the shard's task for device `d`. Return: NULL: no memory. */
static struct vrt_worker_run *begin_try(struct vrt_pipeline *pipeline, struct vrt_shard *shard,
                                        size_t d)
{
    struct vrt_part *part = &pipeline->parts[d];
    struct vrt_worker_run *run = vrt_worker_run_new(pipeline->spec, part->dtype);
    size_t n_infos;

    if (!run)
        return NULL;
    vrt_log_debug("job %s: shard %" PRId64 " goes to %s", pipeline->job_id, shard->index,
                  vrt_pool_infos(pipeline->pool, &n_infos)[d]->name);
    run->base.ctx = shard;
    vrt_shard_frames_copy(&shard->frames, &run->frames);
    shard->tries[shard->n_tries++] = (struct vrt_try){ .run = run, .device = d };
    pipeline->n_running++;
    part->in_flight++;
    /* Whatever becomes of it, the device must be told to forget the job. */
    part->holds = true;
    return run;
}

/* Takes the shard's try on device `d` back: it came back, or is not waited for. */
static struct vrt_worker_run *end_try(struct vrt_pipeline *pipeline, struct vrt_shard *shard,
                                      size_t d)
{
    struct vrt_worker_run *run;
    int i = 0;

    while (shard->tries[i].device != d)
        i++;
    run = shard->tries[i].run;
    shard->tries[i] = shard->tries[--shard->n_tries];
    pipeline->n_running--;
    pipeline->parts[d].in_flight--;
    return run;
}

struct vrt_worker_run *vrt_pipeline_take(struct vrt_pool_job *job, size_t d)
{
    struct vrt_pipeline *pipeline = vrt_container_of(job, struct vrt_pipeline, job);
    struct vrt_shard *shard = VRT_LIST_FIRST(&pipeline->ready, struct vrt_shard, link);
    struct vrt_worker_run *run;

    if (!shard || pipeline->is_closing || pipeline->is_held ||
        !(devices_for(pipeline, shard) >> d & 1))
        return NULL;
    run = begin_try(pipeline, shard, d);
    if (!run)
        return NULL;
    vrt_list_remove(&shard->link);
    vrt_list_append(&pipeline->running, &shard->link);
    pipeline->n_ready--;
    pipeline->n_handed++;
    vrt_pipeline_describe(pipeline);
    return run;
}

uint64_t vrt_pipeline_may_copy(const struct vrt_pool_job *job, const void *ctx)
{
    const struct vrt_pipeline *pipeline =
        vrt_container_of(job, const struct vrt_pipeline, job);
    const struct vrt_shard *shard = ctx;
    uint64_t devices = pipeline->devices & ~shard->excluded;

    if (pipeline->is_closing || shard->n_tries != 1)
        return 0;
    if (shard->last_failed >= 0)
        devices &= ~(UINT64_C(1) << shard->last_failed);
    return devices & ~(UINT64_C(1) << shard->tries[0].device);
}

struct vrt_worker_run *vrt_pipeline_copy(struct vrt_pool_job *job, void *ctx, size_t d)
{
    struct vrt_pipeline *pipeline = vrt_container_of(job, struct vrt_pipeline, job);
    struct vrt_shard *shard = ctx;
    struct vrt_worker_run *run = begin_try(pipeline, shard, d);
    size_t n_infos;
    const struct vrt_device_info *const *infos = vrt_pool_infos(pipeline->pool, &n_infos);

    if (!run)
        return NULL;
    vrt_log_info("job %s: shard %" PRId64 " takes long on %s, %s runs it too", pipeline->job_id,
                 shard->index, infos[shard->tries[0].device]->name, infos[d]->name);
    return run;
}

/* The shard is restored: its pictures take the place of the decoder's. */
static void accept(struct vrt_pipeline *pipeline, struct vrt_shard *shard, size_t d,
                   struct vrt_worker_run *run)
{
    struct vrt_part *part = &pipeline->parts[d];

    while (shard->n_tries > 0)
        vrt_pool_job_drop(&pipeline->job, end_try(pipeline, shard, shard->tries[0].device));
    vrt_list_remove(&shard->link);
    for (int i = 0; i < shard->frames.n; i++) {
        shard->frames.in[i] = vrt_frame_unref(shard->frames.in[i]);
        shard->frames.out[i] = VRT_STEAL(run->frames.out[i]);
        shard->frames.shared[i] = VRT_STEAL(run->frames.shared[i]);
    }
    part->shards_done++;
    part->frames_done += shard->frames.n_new;
    part->n_nomem = 0;
    insert_sorted(&pipeline->restored, shard);
    /* This device shows that the shard can be done: those whose results were wrong are at fault. */
    for (size_t e = 0; e < vrt_pool_n_devices(pipeline->pool); e++)
        if (e != d && shard->suspects >> e & 1)
            vrt_pool_blame(pipeline->pool, e, shard->why);
}

static void begin_round(struct vrt_shard *shard)
{
    shard->excluded = 0;
    shard->failed_otherwise = false;
}

/* Notes what the shard went through. */
static void note_failure(struct vrt_pipeline *pipeline, struct vrt_shard *shard, size_t d,
                         const struct vrt_worker_task *task)
{
    bool told = task->task.outcome == VRT_TASK_FAILED;
    uint64_t bit = UINT64_C(1) << d;
    size_t n_infos;
    const char *name = vrt_pool_infos(pipeline->pool, &n_infos)[d]->name;

    /* Never begun: nobody's fault. */
    if (task->task.outcome == VRT_TASK_STOPPED)
        return;
    snprintf(shard->why, sizeof(shard->why), "%s: %s", name,
             told ? task->error.message : "no sign of life");
    vrt_log_warning("job %s: shard %" PRId64 " failed on %s", pipeline->job_id, shard->index,
                    shard->why);
    pipeline->parts[d].shards_failed++;
    if (told && task->result == VRT_BACKEND_E_NOMEM) {
        if (++pipeline->parts[d].n_nomem >= NOMEM_MAX) {
            vrt_pipeline_warn(pipeline, "%s ran out of memory and left the job", name);
            pipeline->devices &= ~bit;
        }
        return;
    }
    if (told && task->result == VRT_DEVICE_EXECUTOR_E_OUTPUT)
        shard->suspects |= bit;
    else
        shard->failed_otherwise = true;
    /* Once more on the same device, then elsewhere. */
    if (shard->last_failed == (int)d)
        shard->excluded |= bit;
    shard->last_failed = shard->last_failed == (int)d ? -1 : (int)d;
    bool all = !(pipeline->devices & ~shard->excluded);
    if (++shard->n_failures >= FAILURES_MAX)
        shard->excluded = pipeline->devices;
    else if (all && shard->failed_otherwise && shard->n_rounds++ < ROUNDS_MAX)
        begin_round(shard);
}

/* The shard goes back to those that wait, unless another device has it too. */
static void requeue(struct vrt_pipeline *pipeline, struct vrt_shard *shard)
{
    if (shard->n_tries > 0)
        return;
    vrt_list_remove(&shard->link);
    insert_sorted(&pipeline->ready, shard);
    pipeline->n_ready++;
    pipeline->n_handed--;
}

void vrt_pipeline_returned(struct vrt_pool_job *job, size_t d, struct vrt_worker_run *run)
{
    struct vrt_pipeline *pipeline = vrt_container_of(job, struct vrt_pipeline, job);
    const struct vrt_worker_task *task = &run->base;
    struct vrt_shard *shard = task->ctx;
    struct vrt_part *part = &pipeline->parts[d];

    end_try(pipeline, shard, d);
    if (!task->task.abandoned) {
        part->times.upload_ns += run->times.upload_ns;
        part->times.compute_ns += run->times.compute_ns;
        part->times.download_ns += run->times.download_ns;
        if (run->job_bytes >= 0)
            part->job_bytes = run->job_bytes;
    }
    if (!pipeline->is_closing && task->task.outcome == VRT_TASK_DONE) {
        accept(pipeline, shard, d, run);
    } else if (!pipeline->is_closing) {
        note_failure(pipeline, shard, d, task);
        requeue(pipeline, shard);
    } else if (!shard->n_tries) {
        vrt_list_remove(&shard->link);
        shard_free(shard);
    }
    vrt_pipeline_step(pipeline);
}
