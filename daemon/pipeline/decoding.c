/* SPDX-License-Identifier: MIT */

#include "daemon/pipeline/decoding.h"

#include <errno.h>

#include "base/thread.h"

/* Shards that the thread is given at a time: one in hand, one to go on with. */
#define DECODING_MAX 2

static void thread_ended(void *ctx, bool abandoned)
{
    struct vrt_decoding *decoding = ctx;

    (void)abandoned;
    decoding->thread = NULL;
    decoding->params.changed(decoding->params.ctx);
}

/* What both uses of the thread share. */
static struct vrt_decode_thread_params thread_params(struct vrt_decoding *decoding)
{
    const struct vrt_job_check *check = decoding->params.check;

    return (struct vrt_decode_thread_params){
        .outbox = decoding->params.outbox,
        .job_id = decoding->params.job_id,
        .files = &check->files,
        .expected = &check->input,
        .range = vrt_job_check_range(check->settings),
        .fields = check->recipe.fields,
        .tonemap = vrt_job_check_tonemap(check),
        .streams = check->settings->streams,
        .keeps_extra = vrt_codec_facts(check->encoder.codec)->has_metadata,
        .is_alpha = check->is_alpha_pass,
        .strict = check->settings->strict,
        .hwdec = check->hwdec,
        .n_decoder_threads = (int)VRT_MAX(check->settings->decoder_threads, 0),
        .cancel = decoding->params.cancel,
        .ended = thread_ended,
        .ctx = decoding,
    };
}

static void admitted(struct vrt_task *base)
{
    struct vrt_media_task *task = vrt_container_of(base, struct vrt_media_task, task);
    struct vrt_decoding *decoding = task->ctx;
    const struct vrt_error error = task->error;
    int r = base->outcome == VRT_TASK_DONE ? 0 : -ECANCELED;

    if (task->result)
        r = task->result;
    vrt_media_task_free(task);
    decoding->params.admitted(decoding->params.ctx, r, &error);
    /* To decode there is a thread of its own. This one's last word takes the next step. */
    if (decoding->thread)
        vrt_mailbox_stop(decoding->thread);
}

int vrt_decoding_admit(struct vrt_decoding *decoding)
{
    struct vrt_decode_thread_params params = thread_params(decoding);
    struct vrt_media_task *task = vrt_decode_check_new(decoding->params.check, admitted,
                                                       decoding);

    params.is_waited_for = true;
    int r = task ? vrt_decode_thread_new(&params, &decoding->thread) : vrt_raise(-ENOMEM);
    if (r < 0) {
        vrt_media_task_free(task);
        return vrt_fold(r);
    }
    r = vrt_mailbox_post(decoding->thread, &task->task);
    vrt_assert(r == 0);
    return 0;
}

int vrt_decoding_start(struct vrt_decoding *decoding, const struct vrt_cutter_params *cutter,
                       int64_t first_shard, const struct vrt_bookmark *behind,
                       int64_t survey_frames)
{
    struct vrt_decode_thread_params params = thread_params(decoding);

    params.cutter = *cutter;
    params.first_shard = first_shard;
    params.behind = *behind;
    params.survey_frames = survey_frames;
    decoding->is_survey = survey_frames > 0;
    return vrt_fold(vrt_decode_thread_new(&params, &decoding->thread));
}

void vrt_decoding_skip(struct vrt_decoding *decoding, int64_t span_ns)
{
    struct vrt_progress *progress = decoding->params.progress;

    decoding->at_end = true;
    decoding->span_ns = span_ns;
    progress->frames_decoded = progress->told.frames_total = progress->told.frames_done;
    progress->told.is_estimated = false;
}

/* Notes what came of a task that went well. Return: as params.decoded. */
static int take(struct vrt_decoding *decoding, struct vrt_decode_clip *clip)
{
    struct vrt_progress *progress = decoding->params.progress;

    progress->told.frames_concealed = VRT_MAX(progress->told.frames_concealed, clip->n_concealed);
    progress->told.frames_repeated = VRT_MAX(progress->told.frames_repeated, clip->n_repeated);
    progress->frames_decoded += clip->n_skipped;
    if (clip->warning[0])
        vrt_progress_warn(progress, "%s", clip->warning);
    if (clip->segment.n_frames > 0)
        decoding->params.surveyed(decoding->params.ctx, &clip->segment);
    if (clip->at_end && !decoding->at_end) {
        decoding->at_end = true;
        decoding->span_ns = clip->span_ns;
        progress->told.frames_total = progress->frames_decoded + clip->frames.n_new;
        progress->told.is_estimated = false;
        vrt_progress_warn_all(progress, &clip->info->warnings);
        if (decoding->is_survey)
            decoding->params.surveyed(decoding->params.ctx, NULL);
    }
    return clip->frames.n > 0 ? decoding->params.decoded(decoding->params.ctx, &clip->frames) : 0;
}

static void decoded(struct vrt_task *base)
{
    VRT_CLEANUP(vrt_media_task_freep) struct vrt_media_task *task =
        vrt_container_of(base, struct vrt_media_task, task);
    struct vrt_decoding *decoding = task->ctx;
    int r = 0;

    decoding->n_tasks--;
    vrt_progress_note_busy(decoding->params.progress, VRT_STAGE_DECODE, task->busy_ns);
    if (base->outcome == VRT_TASK_FAILED)
        r = task->result;
    else if (base->outcome == VRT_TASK_DONE && !decoding->is_stopped)
        r = take(decoding, vrt_container_of(task, struct vrt_decode_clip, base));
    if (r < 0)
        decoding->params.failed(decoding->params.ctx, r, &task->error);
    decoding->params.changed(decoding->params.ctx);
}

void vrt_decoding_feed(struct vrt_decoding *decoding, int n)
{
    while (decoding->thread && !decoding->at_end && !decoding->is_stopped &&
           decoding->n_tasks < VRT_MIN(n, DECODING_MAX)) {
        struct vrt_media_task *task = vrt_decode_clip_new(decoded, decoding);
        int r = task ? vrt_mailbox_post(decoding->thread, &task->task) : vrt_raise(-ENOMEM);
        if (r < 0) {
            vrt_media_task_free(task);
            decoding->params.failed(decoding->params.ctx, r, &(struct vrt_error){ .id = NULL });
            return;
        }
        decoding->n_tasks++;
    }
}

void vrt_decoding_stop(struct vrt_decoding *decoding)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    decoding->is_stopped = true;
    if (decoding->thread)
        vrt_mailbox_stop(decoding->thread);
}
