/* SPDX-License-Identifier: MIT */

/*
 * The decode thread's input: where it begins to be read, and what is done when that, or hardware,
 * proves to be of no use. Whatever is done, the cutter sees the frames that reading all of the
 * input by software gives.
 */

#include <errno.h>
#include <stdio.h>

#include "backend/checksum.h"
#include "base/log.h"
#include "workers/media/decode-thread-impl.h"

#define VRT_LOG_TOPIC "decode"

/* Devices and encoder were set up for what admission saw, and trust that it comes. */
static int check_expected(const struct vrt_decode_thread *decode_thread, struct vrt_error *error)
{
    const struct vrt_reader_info *is = vrt_input_info(decode_thread->own.input);
    const struct vrt_reader_info *was = decode_thread->expected;

    if (vrt_frame_format_same_planes(&is->format, &was->format) &&
        is->time_base.num == was->time_base.num && is->time_base.den == was->time_base.den)
        return 0;
    return vrt_refuse(error, vrt_raise(-ESTALE), "input.changed",
                      "%s is another video than it was when the job was submitted",
                      decode_thread->files->input_name);
}

/* What decodes now. */
static enum vrt_hwdec hwdec_of(const struct vrt_decode_thread *decode_thread)
{
    return decode_thread->own.is_by_software ? VRT_HWDEC_OFF : decode_thread->hwdec;
}

static int open_by(struct vrt_decode_thread *decode_thread, enum vrt_hwdec hwdec,
                   struct vrt_error *error)
{
    struct vrt_input_params params = {
        .files = decode_thread->files,
        .reader = {
            .range = decode_thread->range,
            .first = decode_thread->own.goes_on ? decode_thread->behind.first : 0,
            .first_pts = decode_thread->behind.first_pts,
            .fields = decode_thread->fields,
            .tonemap = decode_thread->tonemap,
            .streams = decode_thread->streams,
            .n_threads = decode_thread->n_decoder_threads,
            .hwdec = hwdec,
            .keeps_extra = decode_thread->keeps_extra,
            .is_alpha = decode_thread->is_alpha,
            .strict = decode_thread->strict,
            .name = decode_thread->files->input_name,
        },
        .fps = decode_thread->expected->fps,
        /* A picture is decoded once more when it is written. */
        .is_last = !decode_thread->expected->is_still,
    };
    int r = 0;

    if (decode_thread->own.input)
        return 0;
    if (!decode_thread->own.cutter)
        r = vrt_cutter_new(&decode_thread->cutter_params, &decode_thread->own.cutter);
    if (r != 0)
        return vrt_refuse_errno(error, r, decode_thread->files->input_name);
    r = vrt_files_check(decode_thread->files, error);
    if (r != 0)
        return vrt_fold(r);
    if (!decode_thread->own.child)
        r = vrt_child_new_for(vrt_hwdec_hwaccel(hwdec), decode_thread->cancel,
                              &decode_thread->own.child, error);
    if (r != 0)
        return vrt_fold(r);
    params.child = decode_thread->own.child;
    r = vrt_input_open(&params, &decode_thread->own.input, error);
    if (r != 0)
        return vrt_fold(r);
    return vrt_fold(check_expected(decode_thread, error));
}

void vrt_decode_thread_close_input(struct vrt_decode_thread *decode_thread)
{
    if (decode_thread->own.input)
        decode_thread->own.n_decoded += vrt_input_info(decode_thread->own.input)->n_decoded;
    decode_thread->own.input = vrt_input_close(decode_thread->own.input);
}

/* Reads as many frames as were given out before, from the beginning, and drops them. */
static int catch_up(struct vrt_decode_thread *decode_thread, int64_t n, struct vrt_error *error)
{
    int64_t pts = decode_thread->own.last_pts;

    for (int64_t i = 0; i < n; i++) {
        VRT_CLEANUP(vrt_frame_unrefp) struct vrt_frame *frame = NULL;
        int r = vrt_input_next(decode_thread->own.input, &frame, error);
        if (r < 0)
            return vrt_fold(r);
        if (r == 0)
            pts = frame->pts;
        if (r == 0 && (i < n - 1 || pts == decode_thread->own.last_pts))
            continue;
        if (!decode_thread->hwdec)
            return vrt_refuse(error, vrt_raise(-ESTALE), "input.damaged", "%s is damaged, and what "
                              "can be decoded of it differs from time to time: submit it anew",
                              decode_thread->files->input_name);
        return vrt_refuse(error, vrt_raise(-ESTALE), "input.codec",
                          "%s decoded %s to other frames than software does: submit it anew "
                          "without hardware (--hwaccel off)",
                          vrt_hwdec_names[decode_thread->hwdec], decode_thread->files->input_name);
    }
    return 0;
}

/*
 * Goes on by software where hardware failed by `r`: by a process of its own, since what it was that
 * failed nobody knows, and from the beginning, since a frame is exact only if everything before it
 * was seen. Return: 0; `r`: that wasn't it; -errno.
 */
static int leave_hardware(struct vrt_decode_thread *decode_thread, int r, struct vrt_error *error)
{
    const char *name = vrt_hwdec_names[decode_thread->hwdec];
    const struct vrt_input *input = decode_thread->own.input;
    const int64_t n = input ? vrt_input_info(input)->n_frames : 0;

    if (!hwdec_of(decode_thread) || r == -ECANCELED)
        return r;
    if (n > 0)
        snprintf(decode_thread->own.warning, sizeof(decode_thread->own.warning), "%s failed after "
                 "%lld frames, and software decodes, the same frames: %.150s", name, (long long)n,
                 error->message);
    else
        snprintf(decode_thread->own.warning, sizeof(decode_thread->own.warning), "%s fails, so "
                 "software decodes, the same frames: %.150s", name, error->message);
    *error = (struct vrt_error){ .id = NULL };
    decode_thread->own.is_by_software = true;
    vrt_decode_thread_close_input(decode_thread);
    decode_thread->own.child = vrt_child_free(decode_thread->own.child);
    r = open_by(decode_thread, VRT_HWDEC_OFF, error);
    return r < 0 ? vrt_fold(r) : vrt_fold(catch_up(decode_thread, n, error));
}

/* Goes on with an input that is read from its beginning, where the frames to come may be others
 * than by one that isn't: `why`. */
static int leave_bookmark(struct vrt_decode_thread *decode_thread, const char *why,
                          struct vrt_error *error)
{
    vrt_log_info("job %s: all of its input is decoded, since %s", decode_thread->job_id, why);
    *error = (struct vrt_error){ .id = NULL };
    decode_thread->own.goes_on = false;
    vrt_decode_thread_close_input(decode_thread);
    return vrt_fold(open_by(decode_thread, hwdec_of(decode_thread), error));
}

/* What a frame shows, and what comes with it. */
static uint64_t sum_of(const struct vrt_frame *frame)
{
    const size_t sample_bytes = vrt_frame_format_sample_bytes(&frame->format);
    const struct vrt_frame_extra *extra = &frame->extra;
    uint64_t sum = (uint64_t)extra->n_captions << 32 | (uint64_t)extra->n_hdr10plus;
    size_t at = 0;

    for (int i = 0; i < vrt_frame_format_n_planes(&frame->format); i++) {
        const struct vrt_plane *plane = &frame->planes[i];
        const size_t row_bytes = (size_t)plane->width * sample_bytes;
        for (int y = 0; y < plane->height; y++) {
            sum += vrt_checksum_bytes(plane->data + (size_t)y * plane->stride_bytes, at, row_bytes);
            at += (row_bytes + 7) / 8 * 8;
        }
    }
    sum += vrt_checksum_bytes(extra->captions, at, (size_t)extra->n_captions);
    at += ((size_t)extra->n_captions + 7) / 8 * 8;
    return sum + vrt_checksum_bytes(extra->hdr10plus, at, (size_t)extra->n_hdr10plus);
}

/* What the frames from the bookmark's first to the last that was read show, in this order, and what
 * else it says: a number that isn't as it was marked leads astray, too. */
static int64_t checksum(const struct vrt_decode_thread *decode_thread,
                        const struct vrt_bookmark *bookmark)
{
    struct vrt_bookmark said = *bookmark;

    said.checksum = 0;
    uint64_t sum = vrt_checksum_bytes(&said, 0, sizeof(said));
    for (int64_t i = bookmark->first; i < bookmark->n_read; i++)
        sum = sum * 0x9e3779b97f4a7c15u + decode_thread->own.sums[i % VRT_DECODE_SUMS];
    return (int64_t)(sum & INT64_MAX);
}

/* Gives the cutter one frame more, or tells it that there is none. Return: 0; VRT_READER_LOST;
 * -errno. */
static int read_frame(struct vrt_decode_thread *decode_thread, struct vrt_error *error)
{
    struct vrt_frame *frame;
    int r = vrt_input_next(decode_thread->own.input, &frame, error);

    if (r < 0) {
        r = leave_hardware(decode_thread, r, error);
        if (r == 0)
            r = vrt_input_next(decode_thread->own.input, &frame, error);
    }
    if (r == VRT_READER_LOST)
        return r;
    if (r == VRT_READER_END) {
        decode_thread->own.at_end = true;
        vrt_cutter_end(decode_thread->own.cutter);
        return 0;
    }
    if (r != 0)
        return vrt_fold(r);
    if (frame->index == 0)
        decode_thread->own.first_pts = frame->pts;
    decode_thread->own.last_pts = frame->pts;
    decode_thread->own.last_duration = VRT_MAX(frame->duration, 1);
    if (!decode_thread->cutter_params.rule.temporal)
        frame->repeats = decode_thread->own.last &&
                         vrt_frame_same_samples(decode_thread->own.last, frame);
    if (decode_thread->own.goes_on || vrt_input_info(decode_thread->own.input)->can_go_on)
        decode_thread->own.sums[frame->index % VRT_DECODE_SUMS] = sum_of(frame);
    vrt_frame_unref(decode_thread->own.last);
    decode_thread->own.last = vrt_frame_ref(frame);
    vrt_cutter_push(decode_thread->own.cutter, frame);
    return 0;
}

int vrt_decode_thread_read(struct vrt_decode_thread *decode_thread, struct vrt_error *error)
{
    int r = read_frame(decode_thread, error);

    if (r != VRT_READER_LOST)
        return vrt_fold(r);
    const int64_t n = vrt_input_info(decode_thread->own.input)->n_frames;
    r = leave_bookmark(decode_thread, "something in it is damaged or out of order", error);
    if (r == 0)
        r = catch_up(decode_thread, n, error);
    return r < 0 ? vrt_fold(r) : vrt_fold(read_frame(decode_thread, error));
}

void vrt_decode_thread_mark(const struct vrt_decode_thread *decode_thread,
                            struct vrt_bookmark *bookmark)
{
    if (!bookmark->first ||
        !vrt_input_info(decode_thread->own.input)->can_go_on) {
        *bookmark = (struct vrt_bookmark){ .first = 0 };
        return;
    }
    bookmark->last_pts = decode_thread->own.last_pts;
    bookmark->begin_pts = decode_thread->own.first_pts;
    bookmark->n_new = decode_thread->own.n_new;
    bookmark->n_repeated = decode_thread->own.n_repeated;
    bookmark->n_held = decode_thread->own.n_held;
    bookmark->checksum = checksum(decode_thread, bookmark);
}

/* Has the input, and the cutter, stand where the bookmark is. Return: 0; VRT_READER_LOST: what is
 * there isn't what was; -errno. */
static int find_bookmark(struct vrt_decode_thread *decode_thread, struct vrt_error *error)
{
    const struct vrt_bookmark *bookmark = &decode_thread->behind;

    if (vrt_cutter_go_on(decode_thread->own.cutter, bookmark) < 0)
        return VRT_READER_LOST;
    for (int64_t i = bookmark->first; i < bookmark->n_read; i++) {
        int r = read_frame(decode_thread, error);
        if (r != 0)
            return r < 0 ? vrt_fold(r) : r;
        if (decode_thread->own.at_end)
            return VRT_READER_LOST;
    }
    if (decode_thread->own.last_pts != bookmark->last_pts ||
        checksum(decode_thread, bookmark) != bookmark->checksum)
        return VRT_READER_LOST;
    decode_thread->own.first_pts = bookmark->begin_pts;
    decode_thread->own.n_new = bookmark->n_new;
    decode_thread->own.n_repeated = bookmark->n_repeated;
    decode_thread->own.n_held = bookmark->n_held;
    decode_thread->own.next_shard = decode_thread->first_shard;
    vrt_log_info("job %s: decoding goes on at frame %lld of its input", decode_thread->job_id,
                 (long long)bookmark->first);
    return 0;
}

int vrt_decode_thread_open(struct vrt_decode_thread *decode_thread, struct vrt_decode_clip *clip)
{
    struct vrt_error *error = &clip->base.error;

    if (decode_thread->own.input)
        return 0;
    decode_thread->own.goes_on = decode_thread->behind.first > 0 && !decode_thread->hwdec;
    int r = open_by(decode_thread, hwdec_of(decode_thread), error);
    if (r < 0)
        r = leave_hardware(decode_thread, r, error);
    if (!decode_thread->own.goes_on)
        return vrt_fold(r);
    if (r == 0)
        r = find_bookmark(decode_thread, error);
    if (r == 0)
        clip->n_skipped = decode_thread->own.n_new;
    /* What it died of, or was silent over, reading from the beginning may not meet. */
    if (r == -ETIMEDOUT || r == -EPIPE) {
        vrt_decode_thread_close_input(decode_thread);
        decode_thread->own.child = vrt_child_free(decode_thread->own.child);
        r = VRT_READER_LOST;
    }
    if (r != VRT_READER_LOST)
        return vrt_fold(r);
    decode_thread->own.cutter = vrt_cutter_free(decode_thread->own.cutter);
    decode_thread->own.last = vrt_frame_unref(decode_thread->own.last);
    decode_thread->own.at_end = false;
    return vrt_fold(leave_bookmark(decode_thread, "what it holds where decoding should go on isn't "
                                   "what it was", error));
}
