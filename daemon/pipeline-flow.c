/* SPDX-License-Identifier: MIT */

/*
 * The flow of shards: decoder -> ready -> devices -> restored -> encoder. Whoever finishes
 * something comes here, and each stage is given what it has room for. Bounds: shards that wait for
 * a device (enough that none ever waits for the decoder), and all that live between decoder and
 * encoder (so that a slow encoder stops the devices, and those the decoder).
 */

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/pipeline-impl.h"
#include "daemon/sched.h"
#include "frames/clip.h"

#define VRT_LOG_TOPIC "pipeline"

/* Shards that wait, beyond one for each place with a device. */
#define READY_SPARE 2

/* Tasks with the decoder and the encoder: one in hand, one to go on with. */
#define DECODING_MAX 2
#define ENCODING_MAX 2

/* Shards that live take no more of the host's memory, as far as every device still gets its own.
 * Among unlike devices more may run ahead of a slow one, within AHEAD_BYTES. */
#define LIVE_BYTES (INT64_C(1) << 30)
#define AHEAD_BYTES (INT64_C(256) << 20)
#define AHEAD_MAX 64

/* A shard that failed so often fails its job, however many devices there are. */
#define FAILURES_MAX 16

/* So often a shard that failed on every device begins anew, unless its results were wrong. */
#define ROUNDS_MAX 2

/* A device on which there was no memory so often leaves the job. */
#define NOMEM_MAX 2

static int n_devices_in(uint64_t devices)
{
    return __builtin_popcountll(devices);
}

static struct vrt_shard *shard_free(struct vrt_shard *shard)
{
    for (int i = 0; i < shard->frames.n; i++) {
        vrt_frame_unref(shard->frames.in[i]);
        vrt_frame_unref(shard->frames.out[i]);
    }
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

void vrt_pipeline_flow_drop(struct vrt_pipeline *pipeline)
{
    drop_all(&pipeline->ready);
    drop_all(&pipeline->restored);
    pipeline->n_ready = pipeline->job.n_ready = 0;
}

/* Fails the job by what a task of its own threads says. */
static void fail_by(struct vrt_pipeline *pipeline, int r, const struct vrt_error *why)
{
    struct vrt_error error = *why;

    r = vrt_refuse_errno(&error, r, "the job");
    (void)r;
    vrt_pipeline_fail(pipeline, &error);
}

static void intake_ended(void *ctx, bool abandoned)
{
    struct vrt_pipeline *pipeline = ctx;

    (void)abandoned;
    pipeline->intake = NULL;
    vrt_pipeline_step(pipeline);
}

static void outlet_ended(void *ctx, bool abandoned)
{
    struct vrt_pipeline *pipeline = ctx;

    (void)abandoned;
    pipeline->outlet = NULL;
    vrt_pipeline_step(pipeline);
}

/* Shards that may live between decoder and encoder. */
static int live_max(const struct vrt_pipeline *pipeline)
{
    int places = VRT_SCHED_IN_FLIGHT * n_devices_in(pipeline->devices);
    int64_t live = 3 * places + READY_SPARE + DECODING_MAX;
    int64_t shard_bytes = (int64_t)(vrt_frame_format_size_bytes(&pipeline->work->in) +
                                    vrt_frame_format_size_bytes(&pipeline->work->out)) *
                          pipeline->info.recipe.clip_frames;

    if (!pipeline->info.reproducible)
        live = VRT_MAX(live, VRT_MIN(AHEAD_BYTES / shard_bytes, AHEAD_MAX));
    return (int)VRT_MAX(places + READY_SPARE, VRT_MIN(live, LIVE_BYTES / shard_bytes));
}

/* Lets the devices make ready what they will need, while the first shard is decoded. */
static void prepare_devices(struct vrt_pipeline *pipeline)
{
    for (size_t d = 0; d < vrt_pool_n_devices(pipeline->pool); d++) {
        struct vrt_worker_task *task;
        if (!(pipeline->devices >> d & 1))
            continue;
        task = vrt_worker_task_new(VRT_WORKER_PREPARE, NULL, NULL);
        if (!task)
            continue;
        task->work = vrt_work_ref(pipeline->work);
        task->dtype = pipeline->parts[d].dtype;
        /* A failure will be met again, and handled, by the first shard. */
        if (vrt_pool_submit(pipeline->pool, d, task, NULL, NULL) == 0)
            pipeline->parts[d].work_bytes = 0;
    }
}

int vrt_pipeline_flow_start(struct vrt_pipeline *pipeline)
{
    const struct vrt_intake_params intake = {
        .outbox = vrt_pool_outbox(pipeline->pool),
        .files = &pipeline->admission.files,
        .expected = &pipeline->admission.input,
        .strict = pipeline->strict,
        .cancel = &pipeline->cancel,
        .ended = intake_ended,
        .ctx = pipeline,
    };
    const struct vrt_outlet_params outlet = {
        .outbox = vrt_pool_outbox(pipeline->pool),
        .job_id = pipeline->job_id,
        .spool_fd = pipeline->spool_fd,
        .files = &pipeline->admission.files,
        .encoder = &pipeline->admission.encoder,
        .container = pipeline->admission.container,
        .segment_frames = pipeline->info.recipe.segment_frames,
        .cancel = &pipeline->cancel,
        .ended = outlet_ended,
        .ctx = pipeline,
    };
    int r = vrt_outlet_new(&outlet, &pipeline->outlet);

    if (!r)
        r = vrt_intake_new(&intake, &pipeline->intake);
    if (r)
        return vrt_fold(r);
    pipeline->live_max = live_max(pipeline);
    prepare_devices(pipeline);
    vrt_pipeline_flow(pipeline);
    return 0;
}

static void decoded(struct vrt_task *base)
{
    VRT_CLEANUP(vrt_intake_task_freep) struct vrt_intake_task *task =
        vrt_container_of(base, struct vrt_intake_task, task);
    struct vrt_pipeline *pipeline = task->ctx;
    struct vrt_shard *shard;

    /* The place that was kept for the shard; it takes it again below if there is one. */
    pipeline->n_decoding--;
    pipeline->n_live--;
    pipeline->decode_ns += task->busy_ns;
    if (base->outcome == VRT_TASK_FAILED)
        fail_by(pipeline, task->result, &task->error);
    if (base->outcome == VRT_TASK_DONE && !pipeline->is_closing) {
        pipeline->frames_concealed = VRT_MAX(pipeline->frames_concealed, task->n_concealed);
        if (task->at_end && !pipeline->at_end) {
            pipeline->at_end = true;
            pipeline->frames_total = pipeline->frames_decoded + task->frames.n;
            pipeline->span_ns = task->span_ns;
            vrt_pipeline_warn_all(pipeline, &task->info->warnings);
        }
        shard = task->frames.n > 0 ? calloc(1, sizeof(*shard)) : NULL;
        if (shard) {
            shard->index = pipeline->next_index++;
            shard->last_failed = -1;
            shard->frames = task->frames;
            task->frames.n = 0;
            pipeline->frames_decoded += shard->frames.n;
            pipeline->n_live++;
            pipeline->n_ready++;
            insert_sorted(&pipeline->ready, shard);
        } else if (task->frames.n > 0) {
            fail_by(pipeline, vrt_raise(-ENOMEM), &task->error);
        }
    }
    vrt_pipeline_step(pipeline);
}

static void feed_decoder(struct vrt_pipeline *pipeline)
{
    uint64_t ready = vrt_pool_ready_devices(pipeline->pool) & pipeline->devices;
    int wanted = VRT_SCHED_IN_FLIGHT * n_devices_in(ready) + READY_SPARE;

    while (!pipeline->at_end && pipeline->n_decoding < DECODING_MAX &&
           pipeline->n_ready + pipeline->n_decoding < wanted &&
           pipeline->n_live < pipeline->live_max) {
        struct vrt_intake_task *task = vrt_intake_task_new(VRT_INTAKE_DECODE, decoded, pipeline);
        int r = task ? 0 : vrt_raise(-ENOMEM);
        if (!r) {
            task->clip_frames = pipeline->info.recipe.clip_frames;
            r = vrt_mailbox_post(pipeline->intake, &task->task);
        }
        if (r) {
            vrt_intake_task_free(task);
            fail_by(pipeline, r, &(struct vrt_error){ 0 });
            return;
        }
        pipeline->n_decoding++;
        pipeline->n_live++;
    }
}

static void encoded(struct vrt_task *base)
{
    VRT_CLEANUP(vrt_outlet_task_freep) struct vrt_outlet_task *task =
        vrt_container_of(base, struct vrt_outlet_task, task);
    struct vrt_pipeline *pipeline = task->ctx;

    pipeline->n_encoding--;
    pipeline->encode_ns += task->busy_ns;
    if (base->outcome == VRT_TASK_FAILED) {
        fail_by(pipeline, task->result, &task->error);
    } else if (base->outcome == VRT_TASK_DONE && task->request == VRT_OUTLET_ENCODE) {
        pipeline->n_live--;
        vrt_pipeline_note_frames(pipeline, task->frames.n);
    } else if (base->outcome == VRT_TASK_DONE) {
        if (task->warnings)
            vrt_pipeline_warn_all(pipeline, task->warnings);
        /* Who cancels comes too late: the file is there, and is said to be. */
        pipeline->error = (struct vrt_error){ 0 };
        pipeline->is_closing = true;
    }
    vrt_pipeline_step(pipeline);
}

/* Gives the encoder a task; takes it over whatever happens. */
static void post_to_outlet(struct vrt_pipeline *pipeline, struct vrt_outlet_task *task)
{
    int r = task ? vrt_mailbox_post(pipeline->outlet, &task->task) : vrt_raise(-ENOMEM);

    if (!r) {
        pipeline->n_encoding++;
        return;
    }
    vrt_outlet_task_free(task);
    fail_by(pipeline, r, &(struct vrt_error){ 0 });
}

static void feed_encoder(struct vrt_pipeline *pipeline)
{
    struct vrt_shard *shard;

    while (!pipeline->is_closing && pipeline->n_encoding < ENCODING_MAX &&
           (shard = VRT_LIST_FIRST(&pipeline->restored, struct vrt_shard, link)) &&
           shard->index == pipeline->next_encode) {
        struct vrt_outlet_task *task = vrt_outlet_task_new(VRT_OUTLET_ENCODE, encoded, pipeline);
        if (task) {
            task->frames = shard->frames;
            shard->frames.n = 0;
            vrt_list_remove(&shard->link);
            shard_free(shard);
            pipeline->next_encode++;
        }
        post_to_outlet(pipeline, task);
    }
}

/* Once every frame is encoded: makes the file. */
static void finish(struct vrt_pipeline *pipeline)
{
    struct vrt_outlet_task *task;

    if (!pipeline->at_end || pipeline->next_encode < pipeline->next_index ||
        pipeline->n_encoding > 0 || pipeline->n_decoding > 0 || pipeline->is_finishing)
        return;
    pipeline->is_finishing = true;
    pipeline->phase = VRT_PIPELINE_FINISHING;
    task = vrt_outlet_task_new(VRT_OUTLET_FINISH, encoded, pipeline);
    if (task) {
        task->n_frames = pipeline->frames_decoded;
        task->span_ns = pipeline->span_ns;
    }
    post_to_outlet(pipeline, task);
}

/* Where the shard may go: once more to the device it failed on, else where it didn't fail twice. */
static uint64_t devices_for(const struct vrt_pipeline *pipeline, const struct vrt_shard *shard)
{
    uint64_t devices = pipeline->devices & ~shard->excluded;
    uint64_t again = shard->last_failed < 0 ? 0 : UINT64_C(1) << shard->last_failed;

    again &= devices & vrt_pool_ready_devices(pipeline->pool);
    return again ? again : devices;
}

/* Tells the pool what is to be handed out. */
static void describe(struct vrt_pipeline *pipeline)
{
    const struct vrt_shard *head = VRT_LIST_FIRST(&pipeline->ready, struct vrt_shard, link);
    int64_t n_left = INT_MAX;

    /* The container's count may be a few off: while frames come, there is one more. */
    if (pipeline->at_end)
        n_left = pipeline->n_ready;
    else if (pipeline->frames_total >= 0)
        n_left = VRT_MAX(vrt_clip_n_shards(pipeline->frames_total,
                                           pipeline->info.recipe.clip_frames) -
                         pipeline->n_handed, pipeline->n_ready + 1);
    pipeline->job.n_ready = pipeline->n_ready;
    pipeline->job.n_left = (int)VRT_MIN(n_left, INT_MAX);
    pipeline->job.n_window = pipeline->live_max;
    pipeline->job.devices = head ? devices_for(pipeline, head) : 0;
}

void vrt_pipeline_check_devices(struct vrt_pipeline *pipeline)
{
    const struct vrt_shard *head = VRT_LIST_FIRST(&pipeline->ready, struct vrt_shard, link);
    uint64_t ready = vrt_pool_ready_devices(pipeline->pool);
    uint64_t hopeful = vrt_pool_hopeful_devices(pipeline->pool);
    uint64_t able = pipeline->devices & ~(head ? head->excluded : 0);
    struct vrt_error error = { .id = "device.failed" };
    const char *why = head ? head->why : "";
    int r = 0;

    if (!head)
        return;
    bool waits = vrt_pipeline_waits_too_long(pipeline, able & ready);
    if (able & ready || (able & hopeful && !waits))
        return;
    if (!pipeline->devices)
        error.id = "device.memory";
    for (size_t d = 0; !why[0] && d < vrt_pool_n_devices(pipeline->pool); d++)
        if (pipeline->info.devices >> d & 1)
            why = vrt_pool_device_error(pipeline->pool, d);
    if (pipeline->devices & head->excluded && !(able & (ready | hopeful)))
        r = vrt_refuse(&error, -EIO, error.id,
                       "the frames from %" PRId64 " on could not be restored on any device: %s",
                       head->frames.in[0]->index, why);
    else
        r = vrt_refuse(&error, -EIO, error.id, "no device is left for the job: %s", why);
    (void)r;
    vrt_pipeline_fail(pipeline, &error);
}

void vrt_pipeline_flow(struct vrt_pipeline *pipeline)
{
    feed_encoder(pipeline);
    if (!pipeline->is_closing)
        feed_decoder(pipeline);
    if (!pipeline->is_closing)
        finish(pipeline);
    if (!pipeline->is_closing)
        vrt_pipeline_check_devices(pipeline);
    if (pipeline->is_closing)
        return;
    describe(pipeline);
    if (pipeline->n_ready > 0)
        vrt_pool_wake(pipeline->pool);
}

struct vrt_worker_task *vrt_pipeline_take(struct vrt_pool_job *job, size_t d)
{
    struct vrt_pipeline *pipeline = vrt_container_of(job, struct vrt_pipeline, job);
    struct vrt_shard *shard = VRT_LIST_FIRST(&pipeline->ready, struct vrt_shard, link);
    struct vrt_worker_task *task;

    if (!shard || pipeline->is_closing || !(devices_for(pipeline, shard) >> d & 1))
        return NULL;
    task = vrt_worker_task_new(VRT_WORKER_RUN, NULL, shard);
    if (!task)
        return NULL;
    task->work = vrt_work_ref(pipeline->work);
    task->dtype = pipeline->parts[d].dtype;
    task->frames.n = shard->frames.n;
    for (int i = 0; i < shard->frames.n; i++)
        task->frames.in[i] = vrt_frame_ref(shard->frames.in[i]);
    shard->task = task;
    vrt_list_remove(&shard->link);
    vrt_list_append(&pipeline->running, &shard->link);
    pipeline->n_ready--;
    pipeline->n_running++;
    pipeline->n_handed++;
    pipeline->parts[d].in_flight++;
    describe(pipeline);
    return task;
}

/* The shard is restored: its pictures take the place of the decoder's. */
static void accept(struct vrt_pipeline *pipeline, struct vrt_shard *shard, size_t d,
                   struct vrt_worker_task *task)
{
    struct vrt_part *part = &pipeline->parts[d];

    for (int i = 0; i < shard->frames.n; i++) {
        shard->frames.in[i] = vrt_frame_unref(shard->frames.in[i]);
        shard->frames.out[i] = VRT_STEAL(task->frames.out[i]);
    }
    part->shards_done++;
    part->frames_done += shard->frames.n;
    part->n_nomem = 0;
    insert_sorted(&pipeline->restored, shard);
    /* This device shows that the shard can be done: those whose results were wrong are at fault. */
    for (size_t e = 0; e < vrt_pool_n_devices(pipeline->pool); e++)
        if (e != d && shard->suspects >> e & 1)
            vrt_pool_blame(pipeline->pool, e, shard->why);
}

/* The shard goes back to those that wait, with what it went through. */
static void retry(struct vrt_pipeline *pipeline, struct vrt_shard *shard, size_t d,
                  const struct vrt_worker_task *task)
{
    bool told = task->task.outcome == VRT_TASK_FAILED;
    uint64_t bit = UINT64_C(1) << d;
    size_t n_infos;
    const char *name = vrt_pool_infos(pipeline->pool, &n_infos)[d]->name;

    insert_sorted(&pipeline->ready, shard);
    pipeline->n_ready++;
    pipeline->n_handed--;
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
    if (told && task->result == VRT_RUNNER_E_OUTPUT)
        shard->suspects |= bit;
    /* Once more on the same device, then elsewhere. */
    if (shard->last_failed == (int)d)
        shard->excluded |= bit;
    shard->last_failed = shard->last_failed == (int)d ? -1 : (int)d;
    bool all = !(pipeline->devices & ~shard->excluded);
    if (++shard->n_failures >= FAILURES_MAX)
        shard->excluded = pipeline->devices;
    else if (all && !shard->suspects && shard->n_rounds++ < ROUNDS_MAX)
        shard->excluded = 0;
}

void vrt_pipeline_returned(struct vrt_pool_job *job, size_t d, struct vrt_worker_task *task)
{
    struct vrt_pipeline *pipeline = vrt_container_of(job, struct vrt_pipeline, job);
    struct vrt_shard *shard = task->ctx;
    struct vrt_part *part = &pipeline->parts[d];

    shard->task = NULL;
    vrt_list_remove(&shard->link);
    pipeline->n_running--;
    part->in_flight--;
    if (!task->task.abandoned) {
        part->times.upload_ns += task->times.upload_ns;
        part->times.compute_ns += task->times.compute_ns;
        part->times.download_ns += task->times.download_ns;
        if (task->work_bytes >= 0)
            part->work_bytes = task->work_bytes;
    }
    if (pipeline->is_closing)
        shard_free(shard);
    else if (task->task.outcome == VRT_TASK_DONE)
        accept(pipeline, shard, d, task);
    else
        retry(pipeline, shard, d, task);
    vrt_pipeline_step(pipeline);
}
