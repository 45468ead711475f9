/* SPDX-License-Identifier: MIT */

/*
 * The thread lives twice: for the admission, and from the start to the end of the job. In between a
 * job may wait for hours, and should hold neither a decoder nor its threads.
 */

#include "workers/media/decode-thread.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "workers/media/decode-thread-impl.h"

#define VRT_LOG_TOPIC "decode"

/* Far below the loop: five codec threads on a processor have five shares of it, and a niceness of
 * 12 makes them a third of one that answers. A little above devices that compute there: one that
 * waits for frames wastes more than it would have computed meanwhile. An admission has the loop's
 * priority: its submitter waits, and where devices use every core a background thread would lose a
 * time slice with each read. */
#define DECODE_THREAD_NICE 12

/* No video is longer, and sums of a few such numbers don't overflow. */
#define SPAN_NS_MAX (INT64_MAX / 1024)

struct admit {
    struct vrt_media_task base;
    struct vrt_job_check *check;
};

/* Nanoseconds from the first frame to the last one, as they become. */
static int64_t span_ns(const struct vrt_decode_thread *decode_thread)
{
    const struct vrt_reader_info *info = vrt_input_info(decode_thread->own.input);
    double tick_s = (double)info->time_base.num / info->time_base.den;
    const struct vrt_clip_rule *rule = &decode_thread->cutter_params.rule;
    double ticks = 0;

    /* What is shown behind the last frame, to its end. */
    if (vrt_clip_is_between(rule)) {
        const struct vrt_clip_shown shown = vrt_clip_shown(rule, info->n_frames - 1);
        const int last = shown.first + (shown.n - 1) * VRT_MAX(rule->every, 1);
        ticks = (double)decode_thread->own.last_duration * last / rule->times;
    }

    ticks += (double)(decode_thread->own.last_pts - decode_thread->own.first_pts);
    double ns = ticks * tick_s * VRT_NS_PER_S + 0.5;

    /* A container may claim any times. */
    return ns < (double)SPAN_NS_MAX ? (int64_t)ns : SPAN_NS_MAX;
}

/* Says where no frames were made: of the clips that hold one frame the last ends no scene. */
static void warn_of_held(const struct vrt_decode_thread *decode_thread,
                         struct vrt_warnings *warnings)
{
    const long long n = (long long)decode_thread->own.n_held - 1;

    if (n > 0)
        vrt_warnings_add(warnings, "in %lld place%s, where scenes change, no frame was made "
                         "between two: the last of a scene is shown on", n, n == 1 ? "" : "s");
}

/* No shards are left: tells all that is known of the video. */
static int finish(struct vrt_decode_thread *decode_thread, struct vrt_decode_clip *clip)
{
    clip->at_end = true;
    clip->info = malloc(sizeof(*clip->info));
    if (!clip->info)
        return vrt_refuse_errno(&clip->base.error, vrt_raise(-ENOMEM),
                                decode_thread->files->input_name);
    *clip->info = *vrt_input_info(decode_thread->own.input);
    clip->span_ns = clip->info->n_frames > 0 ? span_ns(decode_thread) : 0;
    warn_of_held(decode_thread, &clip->info->warnings);
    return 0;
}

/* Frames of a clip that repeat the one before in it. */
static int count_repeated(const struct vrt_cut *cut)
{
    int n = 0;

    for (int i = 1; i < cut->clip.n; i++)
        n += cut->frames[i]->repeats;
    return n;
}

/* The clip as a shard's frames. */
static void take_clip(const struct vrt_decode_thread *decode_thread, const struct vrt_cut *cut,
                      struct vrt_shard_frames *ret_frames)
{
    ret_frames->times = decode_thread->cutter_params.rule.times;
    ret_frames->every = decode_thread->cutter_params.rule.every;
    ret_frames->first = cut->shown.first;
    ret_frames->span = cut->span;
    ret_frames->n = cut->clip.n;
    ret_frames->n_new = cut->clip.n_new;
    ret_frames->n_repeated = count_repeated(cut);
    ret_frames->depth = cut->clip.depth;
    ret_frames->behind = cut->behind;
    memcpy(ret_frames->in, cut->frames, sizeof(ret_frames->in));
    memcpy(ret_frames->shares, cut->shares, sizeof(ret_frames->shares));
}

/* Reads as far as the next clip is known. Return: 0, *ret_is_cut: there is one; -errno. */
static int next_clip(struct vrt_decode_thread *decode_thread, struct vrt_cut *cut, bool *ret_is_cut,
                     struct vrt_error *error)
{
    bool is_cut;

    while (!(is_cut = vrt_cutter_next(decode_thread->own.cutter, cut)) &&
           !decode_thread->own.at_end) {
        int r = vrt_decode_thread_read(decode_thread, error);
        if (r != 0)
            return vrt_fold(r);
    }
    *ret_is_cut = is_cut;
    if (!is_cut)
        return 0;
    decode_thread->own.next_shard++;
    decode_thread->own.n_held += !cut->clip.depth;
    decode_thread->own.n_repeated += count_repeated(cut);
    decode_thread->own.n_new += cut->clip.n_new;
    vrt_decode_thread_mark(decode_thread, &cut->behind);
    return 0;
}

static void drop_frames(struct vrt_decode_clip *clip, struct vrt_cut *cut)
{
    clip->n_skipped += cut->clip.n_new;
    for (int i = 0; i < cut->clip.n; i++)
        cut->frames[i] = vrt_frame_unref(cut->frames[i]);
}

/* What was restored before is decoded all the same where no bookmark leads beyond it: where a frame
 * is, and what it looks like, is exact only if everything before it was seen. */
static int skip_clips(struct vrt_decode_thread *decode_thread, struct vrt_decode_clip *clip)
{
    struct vrt_cut cut = { 0 };
    bool is_cut = true;
    int r = 0;

    while (r == 0 && is_cut && decode_thread->own.next_shard < decode_thread->first_shard) {
        r = next_clip(decode_thread, &cut, &is_cut, &clip->base.error);
        if (r == 0 && is_cut)
            drop_frames(clip, &cut);
    }
    return vrt_fold(r);
}

/* Reads as far as a segment ends, and drops all of it. */
static int survey(struct vrt_decode_thread *decode_thread, struct vrt_decode_clip *clip)
{
    struct vrt_segment_course *course = &decode_thread->own.course;
    struct vrt_cut cut = { 0 };
    bool is_cut = true, ends = false;
    int r = 0;

    if (!course->segment_frames)
        vrt_segment_course_init(course, &decode_thread->cutter_params.rule,
                                decode_thread->survey_frames);
    while (r == 0 && is_cut && !ends) {
        r = next_clip(decode_thread, &cut, &is_cut, &clip->base.error);
        if (r != 0 || !is_cut)
            continue;
        ends = vrt_segment_course_add(course, &cut, &clip->segment);
        drop_frames(clip, &cut);
    }
    if (!ends)
        (void)vrt_segment_course_end(course, &clip->segment);
    return vrt_fold(r);
}

static int decode_clip(struct vrt_media_thread *base, struct vrt_media_task *task)
{
    struct vrt_decode_thread *decode_thread =
        vrt_container_of(base, struct vrt_decode_thread, base);
    struct vrt_decode_clip *clip = vrt_container_of(task, struct vrt_decode_clip, base);
    struct vrt_cut cut = { 0 };
    bool is_cut = false;
    int r = vrt_decode_thread_open(decode_thread, clip);

    if (r != 0)
        return vrt_fold(r);
    r = decode_thread->survey_frames ? survey(decode_thread, clip) :
        skip_clips(decode_thread, clip);
    if (r != 0)
        return vrt_fold(r);
    r = decode_thread->survey_frames ? 0 : next_clip(decode_thread, &cut, &is_cut, &task->error);
    if (r != 0)
        return vrt_fold(r);
    if (is_cut)
        take_clip(decode_thread, &cut, &clip->frames);
    memcpy(clip->warning, decode_thread->own.warning, sizeof(clip->warning));
    decode_thread->own.warning[0] = '\0';
    clip->n_concealed = vrt_input_info(decode_thread->own.input)->n_concealed;
    clip->n_repeated = decode_thread->own.n_repeated;
    if (!vrt_cutter_is_done(decode_thread->own.cutter))
        return 0;
    return vrt_fold(finish(decode_thread, clip));
}

static int admit(struct vrt_media_thread *base, struct vrt_media_task *task)
{
    (void)base;
    return vrt_fold(vrt_job_check_run(vrt_container_of(task, struct admit, base)->check,
                                      &task->error));
}

static void drop_clip(struct vrt_media_task *task)
{
    struct vrt_decode_clip *clip = vrt_container_of(task, struct vrt_decode_clip, base);

    vrt_shard_frames_done(&clip->frames);
    free(clip->info);
}

struct vrt_media_task *vrt_decode_check_new(struct vrt_job_check *check,
                                            void (*done)(struct vrt_task *task), void *ctx)
{
    struct admit *task = vrt_media_task_new(sizeof(*task), admit, done, ctx);

    if (!task)
        return NULL;
    task->check = check;
    return &task->base;
}

struct vrt_media_task *vrt_decode_clip_new(void (*done)(struct vrt_task *task), void *ctx)
{
    struct vrt_decode_clip *clip = vrt_media_task_new(sizeof(*clip), decode_clip, done, ctx);

    if (!clip)
        return NULL;
    clip->base.drop = drop_clip;
    return &clip->base;
}

static void free_decode_thread(struct vrt_media_thread *base)
{
    struct vrt_decode_thread *decode_thread =
        vrt_container_of(base, struct vrt_decode_thread, base);

    vrt_decode_thread_close_input(decode_thread);
    if (decode_thread->own.n_decoded)
        vrt_log_debug("job %s: %lld pictures of its input were decoded", decode_thread->job_id,
                      (long long)decode_thread->own.n_decoded);
    vrt_cutter_free(decode_thread->own.cutter);
    vrt_frame_unref(decode_thread->own.last);
    vrt_child_free(decode_thread->own.child);
    free(decode_thread);
}

int vrt_decode_thread_new(const struct vrt_decode_thread_params *params,
                          struct vrt_mailbox **ret_mailbox)
{
    struct vrt_decode_thread *decode_thread = calloc(1, sizeof(*decode_thread));

    vrt_assert_thread(VRT_THREAD_LOOP);
    if (!decode_thread)
        return vrt_raise(-ENOMEM);
    decode_thread->base.free = free_decode_thread;
    decode_thread->job_id = params->job_id;
    decode_thread->files = params->files;
    decode_thread->expected = params->expected;
    decode_thread->range = params->range;
    decode_thread->streams = params->streams;
    decode_thread->fields = params->fields;
    decode_thread->tonemap = params->tonemap;
    decode_thread->keeps_extra = params->keeps_extra;
    decode_thread->is_alpha = params->is_alpha;
    decode_thread->strict = params->strict;
    decode_thread->n_decoder_threads = params->n_decoder_threads;
    decode_thread->hwdec = params->hwdec;
    decode_thread->cutter_params = params->cutter;
    decode_thread->first_shard = params->first_shard;
    decode_thread->behind = params->behind;
    decode_thread->survey_frames = params->survey_frames;
    decode_thread->cancel = params->cancel;
    return vrt_fold(vrt_media_thread_start(&decode_thread->base, &(struct vrt_media_thread_params){
        .outbox = params->outbox,
        .name = "vrt-decode",
        .capacity = VRT_DECODE_THREAD_CAPACITY,
        .nice = params->is_waited_for ? 0 : DECODE_THREAD_NICE,
        .ended = params->ended,
        .ctx = params->ctx,
    }, ret_mailbox));
}
