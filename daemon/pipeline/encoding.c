/* SPDX-License-Identifier: MIT */

#include "daemon/pipeline/encoding.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/thread.h"
#include "workers/plan/output-size.h"

/* Shards that the thread is given at a time: one in hand, one to go on with. */
#define ENCODING_MAX 2

int vrt_encoding_init(struct vrt_encoding *encoding, const struct vrt_encoding_params *params)
{
    *encoding = (struct vrt_encoding){ .params = *params };
    atomic_init(&encoding->committed, -1);
    atomic_init(&encoding->compared, 0);
    if (!params->n_segments)
        return 0;
    encoding->segments = calloc(params->n_segments, sizeof(*encoding->segments));
    if (!encoding->segments)
        return vrt_raise(-ENOMEM);
    memcpy(encoding->segments, params->segments, params->n_segments * sizeof(*params->segments));
    return 0;
}

void vrt_encoding_done(struct vrt_encoding *encoding)
{
    free(encoding->segments);
}

static void thread_ended(void *ctx, bool abandoned)
{
    struct vrt_encoding *encoding = ctx;

    (void)abandoned;
    encoding->thread = NULL;
    encoding->params.changed(encoding->params.ctx);
}

/* Gives the thread a task; takes it over whatever happens. */
static void post(struct vrt_encoding *encoding, struct vrt_media_task *task)
{
    int r = task ? vrt_mailbox_post(encoding->thread, &task->task) : vrt_raise(-ENOMEM);

    if (r == 0) {
        if (!encoding->n_tasks++)
            encoding->moved_ns = vrt_clock_now_ns();
        return;
    }
    vrt_media_task_free(task);
    encoding->params.failed(encoding->params.ctx, r, &(struct vrt_error){ .id = NULL });
}

/* Notes what is done already. */
static void note_resumed(struct vrt_encoding *encoding, int64_t n_good)
{
    struct vrt_progress *progress = encoding->params.progress;

    for (int64_t i = 0; i < n_good; i++)
        progress->frames_resumed += encoding->segments[i].n_frames;
    progress->told.frames_done = progress->frames_resumed;
    progress->told.n_segments_done = n_good;
    if (n_good == 0)
        return;
    const bool is_range = encoding->params.part->kind == VRT_PIPELINE_RANGE;
    encoding->next_shard = is_range ? encoding->params.part->prime_shard :
                                      encoding->segments[n_good - 1].next_shard;
    encoding->behind = is_range ? encoding->params.part->prime :
                                  encoding->segments[n_good - 1].behind;
    progress->told.frames_concealed = encoding->segments[n_good - 1].n_concealed;
}

static void resumed(struct vrt_task *base)
{
    VRT_CLEANUP(vrt_media_task_freep) struct vrt_media_task *task =
        vrt_container_of(base, struct vrt_media_task, task);
    const struct vrt_encode_resume *resume =
        vrt_container_of(task, const struct vrt_encode_resume, base);
    struct vrt_encoding *encoding = task->ctx;

    encoding->n_tasks--;
    if (base->outcome == VRT_TASK_DONE && !encoding->is_stopped) {
        encoding->is_resuming = false;
        note_resumed(encoding, resume->n_segments);
        encoding->params.resumed(encoding->params.ctx, resume->n_segments, resume->is_joined);
    } else if (base->outcome == VRT_TASK_FAILED) {
        encoding->params.failed(encoding->params.ctx, task->result, &task->error);
    }
    encoding->params.changed(encoding->params.ctx);
}

int vrt_encoding_start(struct vrt_encoding *encoding, int spool_fd, int64_t segment_frames)
{
    const struct vrt_job_check *check = encoding->params.check;
    const struct vrt_reader_range range = vrt_job_check_range(check->settings);
    const struct vrt_encode_thread_params params = {
        .outbox = encoding->params.outbox,
        .job_id = encoding->params.job_id,
        .spool_fd = spool_fd,
        .files = &check->files,
        .encoder = &check->encoder,
        .made = vrt_output_made(&check->input.format, vrt_network_info(check->network)->scale,
                                &check->encoder.format),
        /* Hardware may write another head at another bitrate. */
        .n_frames_fitted = check->settings->target_size_bytes == VRT_UNKNOWN ||
                           check->encoder.hwaccel ? 0 :
                           VRT_MAX(vrt_job_check_n_frames(check), 1),
        .container = check->container,
        .is_part = range.start_ns > 0 || range.duration_ns > 0,
        .streams = check->settings->streams,
        .times = check->recipe.times,
        .alpha = vrt_job_check_alpha(check),
        .is_alpha_pass = check->is_alpha_pass,
        .segment_frames = segment_frames,
        .segments = encoding->segments,
        .n_segments = encoding->params.n_segments,
        .is_range = encoding->params.part->kind == VRT_PIPELINE_RANGE,
        .committed = &encoding->committed,
        .compared = &encoding->compared,
        .cancel = encoding->params.cancel,
        .ended = thread_ended,
        .ctx = encoding,
    };
    int r = vrt_encode_thread_new(&params, &encoding->thread);

    if (r < 0)
        return vrt_fold(r);
    encoding->is_resuming = true;
    post(encoding, vrt_encode_resume_new(resumed, encoding));
    return 0;
}

/* Takes what every task brings. Return: whether it was done. */
static bool note_encoding(struct vrt_encoding *encoding, const struct vrt_media_task *task)
{
    encoding->n_tasks--;
    encoding->moved_ns = vrt_clock_now_ns();
    vrt_progress_note_busy(encoding->params.progress, VRT_STAGE_ENCODE, task->busy_ns);
    if (task->task.outcome == VRT_TASK_FAILED)
        encoding->params.failed(encoding->params.ctx, task->result, &task->error);
    return task->task.outcome == VRT_TASK_DONE;
}

/* Tells of the segment that became complete, if one did. */
static void note_segment(struct vrt_encoding *encoding, const struct vrt_segment_record *segment)
{
    if (!segment->n_frames)
        return;
    encoding->n_made++;
    encoding->params.progress->told.n_segments_done++;
    encoding->params.segment_done(encoding->params.ctx, segment);
}

static void encoded(struct vrt_task *base)
{
    VRT_CLEANUP(vrt_media_task_freep) struct vrt_media_task *task =
        vrt_container_of(base, struct vrt_media_task, task);
    const struct vrt_encode_shard *shard =
        vrt_container_of(task, const struct vrt_encode_shard, base);
    struct vrt_encoding *encoding = task->ctx;

    if (note_encoding(encoding, task)) {
        encoding->n_open = shard->n_open;
        vrt_progress_note_frames(encoding->params.progress, shard->n_encoded);
        note_segment(encoding, &shard->segment);
    }
    encoding->params.changed(encoding->params.ctx);
}

static void encoded_last(struct vrt_task *base)
{
    VRT_CLEANUP(vrt_media_task_freep) struct vrt_media_task *task =
        vrt_container_of(base, struct vrt_media_task, task);
    struct vrt_encoding *encoding = task->ctx;

    if (note_encoding(encoding, task)) {
        note_segment(encoding,
                     &vrt_container_of(task, const struct vrt_encode_end, base)->segment);
        if (encoding->params.part->kind == VRT_PIPELINE_RANGE)
            encoding->params.finished(encoding->params.ctx);
    }
    encoding->params.changed(encoding->params.ctx);
}

static void finished(struct vrt_task *base)
{
    VRT_CLEANUP(vrt_media_task_freep) struct vrt_media_task *task =
        vrt_container_of(base, struct vrt_media_task, task);
    const struct vrt_encode_finish *finish =
        vrt_container_of(task, const struct vrt_encode_finish, base);
    struct vrt_encoding *encoding = task->ctx;
    struct vrt_pipeline_snapshot *told = &encoding->params.progress->told;

    if (note_encoding(encoding, task)) {
        if (finish->warnings)
            vrt_progress_warn_all(encoding->params.progress, finish->warnings);
        told->is_compared = finish->is_compared;
        told->compared_size = finish->compared_size;
        told->means = finish->means;
        encoding->params.finished(encoding->params.ctx);
    }
    encoding->params.changed(encoding->params.ctx);
}

bool vrt_encoding_has_room(const struct vrt_encoding *encoding)
{
    return !encoding->is_stopped && !encoding->is_resuming && encoding->n_tasks < ENCODING_MAX;
}

void vrt_encoding_add(struct vrt_encoding *encoding, int64_t shard,
                      struct vrt_shard_frames *frames)
{
    struct vrt_encode_shard *task = vrt_encode_shard_new(encoded, encoding);

    if (!task) {
        vrt_shard_frames_done(frames);
        post(encoding, NULL);
        return;
    }
    task->shard = shard;
    task->frames = *frames;
    post(encoding, &task->base);
}

void vrt_encoding_finish(struct vrt_encoding *encoding, int64_t n_frames, int64_t span_ns,
                         int64_t size_bytes_max)
{
    encoding->is_finishing = true;
    post(encoding, vrt_encode_end_new(encoded_last, encoding));
    if (encoding->is_stopped || encoding->params.part->kind == VRT_PIPELINE_RANGE)
        return;
    struct vrt_encode_finish *finish = vrt_encode_finish_new(finished, encoding);
    if (finish) {
        finish->n_frames = n_frames;
        finish->span_ns = span_ns;
        finish->size_bytes_max = size_bytes_max;
    }
    post(encoding, finish ? &finish->base : NULL);
}

void vrt_encoding_committed(struct vrt_encoding *encoding, int64_t number)
{
    if (number > atomic_load(&encoding->committed))
        atomic_store(&encoding->committed, number);
}

void vrt_encoding_stop(struct vrt_encoding *encoding)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    encoding->is_stopped = true;
    if (encoding->thread)
        vrt_mailbox_stop(encoding->thread);
}
