/* SPDX-License-Identifier: MIT */

/*
 * The flow of shards: decoder -> ready -> devices -> restored -> encoder. Whoever finishes
 * something comes here, and each stage is given what it has room for. Bounds: shards that wait for
 * a device (enough that none ever waits for the decoder), and all that live between decoder and
 * encoder (so that a slow encoder stops the devices, and those the decoder).
 *
 * Before anything flows the encode thread says which of the segments that were given can be gone on
 * from. The decoder begins at the video's start all the same, but what is in them never gets here.
 */

#include <errno.h>

#include "daemon/pipeline/pipeline-impl.h"
#include "daemon/sched/sched.h"

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

static int n_devices_in(uint64_t devices)
{
    return __builtin_popcountll(devices);
}

/* Fails the job by what a task of its own threads says. */
static void fail_by(struct vrt_pipeline *pipeline, int r, const struct vrt_error *why)
{
    struct vrt_error error = *why;

    r = vrt_refuse_errno(&error, r, "the job");
    (void)r;
    vrt_pipeline_fail(pipeline, &error);
}

static void decode_thread_ended(void *ctx, bool abandoned)
{
    struct vrt_pipeline *pipeline = ctx;

    (void)abandoned;
    pipeline->decode_thread = NULL;
    vrt_pipeline_step(pipeline);
}

static void encode_thread_ended(void *ctx, bool abandoned)
{
    struct vrt_pipeline *pipeline = ctx;

    (void)abandoned;
    pipeline->encode_thread = NULL;
    vrt_pipeline_step(pipeline);
}

/* Shards that may live between decoder and encoder. */
static int live_max(const struct vrt_pipeline *pipeline)
{
    int places = VRT_SCHED_IN_FLIGHT * n_devices_in(pipeline->devices);
    int64_t live = 3 * places + READY_SPARE + DECODING_MAX;
    const struct vrt_recipe *recipe = &pipeline->info.recipe;
    const struct vrt_frame_format *in = &pipeline->spec->in, *out = &pipeline->spec->out;
    int64_t shard_bytes = (int64_t)(vrt_frame_format_size_bytes(in) +
                                    vrt_frame_format_size_bytes(out)) * recipe->clip_frames;

    /* What it shares with both neighbours is kept as pictures until those are there. */
    shard_bytes += (int64_t)vrt_picture_bytes(out->width, out->height) * 2 * recipe->clip_overlap;
    if (!pipeline->info.reproducible)
        live = VRT_MAX(live, VRT_MIN(AHEAD_BYTES / shard_bytes, AHEAD_MAX));
    return (int)VRT_MAX(places + READY_SPARE, VRT_MIN(live, LIVE_BYTES / shard_bytes));
}

/* Lets the devices that have nothing of the job make ready what they will need. */
static void prepare_devices(struct vrt_pipeline *pipeline)
{
    for (size_t d = 0; d < vrt_pool_n_devices(pipeline->pool); d++) {
        struct vrt_worker_task *task;
        if (!(pipeline->devices >> d & 1) || pipeline->parts[d].holds)
            continue;
        task = vrt_worker_prepare_new(pipeline->spec, pipeline->parts[d].dtype);
        if (!task)
            continue;
        /* A failure will be met again, and handled, by the first shard. */
        if (vrt_pool_submit(pipeline->pool, d, task, NULL, NULL) == 0)
            pipeline->parts[d].holds = true;
    }
}

static int start_decode_thread(struct vrt_pipeline *pipeline)
{
    const struct vrt_decode_thread_params decode_thread = {
        .outbox = vrt_pool_outbox(pipeline->pool),
        .files = &pipeline->admission.files,
        .expected = &pipeline->admission.input,
        .strict = pipeline->strict,
        .cutter = {
            .rule = pipeline->spec->rule,
            .scene_threshold = pipeline->info.recipe.scene_threshold,
        },
        .first_shard = pipeline->first_shard,
        .cancel = &pipeline->cancel,
        .ended = decode_thread_ended,
        .ctx = pipeline,
    };

    return vrt_fold(vrt_decode_thread_new(&decode_thread, &pipeline->decode_thread));
}

/* Gives the encoder a task; takes it over whatever happens. */
static void post_to_encode_thread(struct vrt_pipeline *pipeline, struct vrt_media_task *task)
{
    int r = task ? vrt_mailbox_post(pipeline->encode_thread, &task->task) : vrt_raise(-ENOMEM);

    if (!r) {
        pipeline->n_encoding++;
        return;
    }
    vrt_media_task_free(task);
    fail_by(pipeline, r, &(struct vrt_error){ 0 });
}

/* Notes what is done already. */
static void note_resumed(struct vrt_pipeline *pipeline, int64_t n_segments)
{
    for (int64_t i = 0; i < n_segments; i++)
        pipeline->frames_resumed += pipeline->segments[i].n_frames;
    pipeline->frames_done = pipeline->frames_resumed;
    pipeline->n_segments_done = n_segments;
    if (n_segments == 0)
        return;
    const struct vrt_segment_record *last = &pipeline->segments[n_segments - 1];
    pipeline->first_shard = pipeline->next_index = pipeline->next_encode = last->next_shard;
    pipeline->n_handed = last->next_shard;
    pipeline->frames_concealed = last->n_concealed;
}

/* The finished file is there: all that is left is to hand it over. */
static void skip_to_end(struct vrt_pipeline *pipeline)
{
    pipeline->at_end = true;
    pipeline->frames_decoded = pipeline->frames_total = pipeline->frames_done;
    pipeline->span_ns = -1;
}

static void resumed(struct vrt_task *base)
{
    VRT_CLEANUP(vrt_media_task_freep) struct vrt_media_task *task =
        vrt_container_of(base, struct vrt_media_task, task);
    const struct vrt_encode_resume *resume =
        vrt_container_of(task, const struct vrt_encode_resume, base);
    struct vrt_pipeline *pipeline = task->ctx;
    int r = 0;

    pipeline->n_encoding--;
    if (base->outcome == VRT_TASK_DONE && !pipeline->is_closing) {
        pipeline->is_resuming = false;
        if (resume->n_segments < (int64_t)pipeline->n_segments && pipeline->segments_cut)
            pipeline->segments_cut(pipeline->ctx, resume->n_segments);
        note_resumed(pipeline, resume->n_segments);
        if (resume->is_joined)
            skip_to_end(pipeline);
        else if (!pipeline->is_closing)
            r = start_decode_thread(pipeline);
        if (pipeline->decode_thread && !pipeline->first_shard && !pipeline->is_held)
            prepare_devices(pipeline);
    } else if (base->outcome == VRT_TASK_FAILED) {
        r = task->result;
    }
    if (r)
        fail_by(pipeline, r, &task->error);
    vrt_pipeline_step(pipeline);
}

int vrt_pipeline_flow_start(struct vrt_pipeline *pipeline)
{
    const struct vrt_encode_thread_params encode_thread = {
        .outbox = vrt_pool_outbox(pipeline->pool),
        .job_id = pipeline->job_id,
        .spool_fd = pipeline->spool_fd,
        .files = &pipeline->admission.files,
        .encoder = &pipeline->admission.encoder,
        .container = pipeline->admission.container,
        .segment_frames = pipeline->info.recipe.segment_frames,
        .segments = pipeline->segments,
        .n_segments = pipeline->n_segments,
        .committed = &pipeline->committed,
        .cancel = &pipeline->cancel,
        .ended = encode_thread_ended,
        .ctx = pipeline,
    };
    int r = vrt_encode_thread_new(&encode_thread, &pipeline->encode_thread);

    if (r)
        return vrt_fold(r);
    pipeline->live_max = live_max(pipeline);
    pipeline->is_resuming = true;
    post_to_encode_thread(pipeline, vrt_encode_resume_new(resumed, pipeline));
    return 0;
}

static void decoded(struct vrt_task *base)
{
    VRT_CLEANUP(vrt_media_task_freep) struct vrt_media_task *task =
        vrt_container_of(base, struct vrt_media_task, task);
    struct vrt_decode_clip *clip = vrt_container_of(task, struct vrt_decode_clip, base);
    struct vrt_pipeline *pipeline = task->ctx;
    int r = 0;

    /* The place that was kept for the shard; it takes it again below if there is one. */
    pipeline->n_decoding--;
    pipeline->n_live--;
    pipeline->decode_ns += task->busy_ns;
    if (base->outcome == VRT_TASK_FAILED)
        fail_by(pipeline, task->result, &task->error);
    if (base->outcome == VRT_TASK_DONE && !pipeline->is_closing) {
        pipeline->frames_concealed = VRT_MAX(pipeline->frames_concealed, clip->n_concealed);
        pipeline->frames_decoded += clip->n_skipped;
        if (clip->at_end && !pipeline->at_end) {
            pipeline->at_end = true;
            pipeline->frames_total = pipeline->frames_decoded + clip->frames.n_new;
            pipeline->span_ns = clip->span_ns;
            vrt_pipeline_warn_all(pipeline, &clip->info->warnings);
        }
        if (clip->frames.n > 0)
            r = vrt_pipeline_add_shard(pipeline, &clip->frames);
        if (r)
            fail_by(pipeline, r, &task->error);
    }
    vrt_pipeline_step(pipeline);
}

static void feed_decoder(struct vrt_pipeline *pipeline)
{
    uint64_t ready = vrt_pool_devices(pipeline->pool).ready & pipeline->devices;
    int wanted = VRT_SCHED_IN_FLIGHT * n_devices_in(ready) + READY_SPARE;

    while (pipeline->decode_thread && !pipeline->at_end && pipeline->n_decoding < DECODING_MAX &&
           pipeline->n_ready + pipeline->n_decoding < wanted &&
           pipeline->n_live < pipeline->live_max) {
        struct vrt_media_task *task = vrt_decode_clip_new(decoded, pipeline);
        int r = task ? 0 : vrt_raise(-ENOMEM);
        if (!r)
            r = vrt_mailbox_post(pipeline->decode_thread, &task->task);
        if (r) {
            vrt_media_task_free(task);
            fail_by(pipeline, r, &(struct vrt_error){ 0 });
            return;
        }
        pipeline->n_decoding++;
        pipeline->n_live++;
    }
}

/* Ends a pipeline that is to be parked. */
static void end_parked(struct vrt_pipeline *pipeline)
{
    const struct vrt_error parked = {
        .id = "job.parked",
        .message = "the job was put by: it goes on later where it is now",
    };

    vrt_pipeline_fail(pipeline, &parked);
}

/* Takes what every task of the encode thread brings. Return: whether it was done. */
static bool note_encoding(struct vrt_pipeline *pipeline, const struct vrt_media_task *task)
{
    pipeline->n_encoding--;
    pipeline->encode_ns += task->busy_ns;
    if (task->task.outcome == VRT_TASK_FAILED)
        fail_by(pipeline, task->result, &task->error);
    return task->task.outcome == VRT_TASK_DONE;
}

/* Tells of a segment that became complete, if one did. */
static void note_segment(struct vrt_pipeline *pipeline, const struct vrt_segment_record *segment)
{
    if (!segment->n_frames)
        return;
    pipeline->n_segments_done++;
    if (pipeline->segment_done)
        pipeline->segment_done(pipeline->ctx, segment);
    /* The encoder may have begun the next one: less is lost than by waiting for its end. */
    if (pipeline->is_parking && pipeline->phase == VRT_PIPELINE_RUNNING)
        end_parked(pipeline);
}

static void encoded(struct vrt_task *base)
{
    VRT_CLEANUP(vrt_media_task_freep) struct vrt_media_task *task =
        vrt_container_of(base, struct vrt_media_task, task);
    const struct vrt_encode_shard *shard =
        vrt_container_of(task, const struct vrt_encode_shard, base);
    struct vrt_pipeline *pipeline = task->ctx;

    if (note_encoding(pipeline, task)) {
        pipeline->n_live--;
        pipeline->n_open = shard->n_open;
        vrt_pipeline_note_frames(pipeline, shard->n_encoded);
        note_segment(pipeline, &shard->segment);
    }
    vrt_pipeline_step(pipeline);
}

static void encoded_last(struct vrt_task *base)
{
    VRT_CLEANUP(vrt_media_task_freep) struct vrt_media_task *task =
        vrt_container_of(base, struct vrt_media_task, task);
    struct vrt_pipeline *pipeline = task->ctx;

    if (note_encoding(pipeline, task))
        note_segment(pipeline,
                     &vrt_container_of(task, const struct vrt_encode_end, base)->segment);
    vrt_pipeline_step(pipeline);
}

static void finished(struct vrt_task *base)
{
    VRT_CLEANUP(vrt_media_task_freep) struct vrt_media_task *task =
        vrt_container_of(base, struct vrt_media_task, task);
    const struct vrt_encode_finish *finish =
        vrt_container_of(task, const struct vrt_encode_finish, base);
    struct vrt_pipeline *pipeline = task->ctx;

    if (note_encoding(pipeline, task)) {
        if (finish->warnings)
            vrt_pipeline_warn_all(pipeline, finish->warnings);
        /* Who cancels comes too late: the file is there, and is said to be. */
        pipeline->error = (struct vrt_error){ 0 };
        pipeline->is_closing = true;
    }
    vrt_pipeline_step(pipeline);
}

static void feed_encoder(struct vrt_pipeline *pipeline)
{
    while (!pipeline->is_closing && pipeline->n_encoding < ENCODING_MAX &&
           vrt_pipeline_next_is_restored(pipeline)) {
        struct vrt_encode_shard *shard = vrt_encode_shard_new(encoded, pipeline);
        if (shard)
            shard->shard = vrt_pipeline_take_restored(pipeline, &shard->frames);
        post_to_encode_thread(pipeline, shard ? &shard->base : NULL);
    }
}

/* Once every frame is encoded: completes the last segment, then makes the file. */
static void finish(struct vrt_pipeline *pipeline)
{
    if (!pipeline->at_end || pipeline->next_encode < pipeline->next_index ||
        pipeline->n_encoding > 0 || pipeline->n_decoding > 0 || pipeline->is_finishing)
        return;
    pipeline->is_finishing = true;
    pipeline->phase = VRT_PIPELINE_FINISHING;
    post_to_encode_thread(pipeline, vrt_encode_end_new(encoded_last, pipeline));
    if (pipeline->is_closing)
        return;
    post_to_encode_thread(pipeline, vrt_encode_finish_new(pipeline->frames_decoded,
                                                          pipeline->span_ns, finished, pipeline));
}

/* Ends a pipeline that is to be parked where nothing is lost. */
static void park(struct vrt_pipeline *pipeline)
{
    bool is_between = pipeline->n_open == 0 && pipeline->n_encoding == 0;
    /* Nobody knows when a device will be there that could complete the segment. */
    bool is_stuck = !pipeline->n_running &&
                    !(pipeline->devices & vrt_pool_devices(pipeline->pool).ready);

    if (pipeline->is_parking && pipeline->phase == VRT_PIPELINE_RUNNING &&
        (is_between || is_stuck || pipeline->is_held || pipeline->is_resuming))
        end_parked(pipeline);
}

/* Held, the devices forget the job when nothing of it runs; afterwards they are made ready. */
static void keep_held(struct vrt_pipeline *pipeline)
{
    if (pipeline->is_held && !pipeline->n_running)
        vrt_pipeline_release_devices(pipeline);
    if (!pipeline->is_held && pipeline->n_ready > 0)
        prepare_devices(pipeline);
}

void vrt_pipeline_flow(struct vrt_pipeline *pipeline)
{
    park(pipeline);
    if (!pipeline->is_closing)
        keep_held(pipeline);
    if (!pipeline->is_closing && !pipeline->is_resuming)
        feed_encoder(pipeline);
    if (!pipeline->is_closing)
        feed_decoder(pipeline);
    if (!pipeline->is_closing && !pipeline->is_resuming)
        finish(pipeline);
    if (!pipeline->is_closing)
        vrt_pipeline_check_devices(pipeline);
    if (pipeline->is_closing)
        return;
    vrt_pipeline_note_idle(pipeline);
    vrt_pipeline_describe(pipeline);
    if (pipeline->n_ready > 0 || pipeline->job.is_held_up)
        vrt_pool_wake(pipeline->pool);
}
