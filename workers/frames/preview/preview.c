/* SPDX-License-Identifier: MIT */

#include "frames/preview/preview.h"

#include <errno.h>

#include "frames/decode/reader.h"
#include "frames/join/join-streams.h"

/* Of a video that doesn't say how many frames it has in a second. */
#define FPS_DEFAULT 25

/* Of the decoder: others wait for theirs. */
#define THREADS 2

/* One video, as far as a frame of it. */
struct view {
    int fd;
    const char *name, *streams;
    const atomic_bool *cancel;
    struct vrt_reader *reader;      /* NULL: closed */
    struct vrt_frame *frame;        /* NULL: none */
    int64_t time_ns;                /* of the frame, after the first of the range's start */
};

static void view_done(struct view *view)
{
    view->frame = vrt_frame_unref(view->frame);
    view->reader = vrt_reader_close(view->reader);
}

static int64_t ticks_ns(const struct view *view, int64_t ticks)
{
    struct vrt_rational base = vrt_reader_info(view->reader)->time_base;

    return (int64_t)((double)ticks * base.num / base.den * 1e9 + 0.5);
}

/* How long a frame is shown, on average. */
static int64_t frame_ns(const struct view *view)
{
    struct vrt_rational fps = vrt_reader_info(view->reader)->fps;

    return (int64_t)(1e9 / (fps.num > 0 ? (double)fps.num / fps.den : FPS_DEFAULT));
}

/* Opens the video at `start_ns`, anew where it was open. */
static int seek(struct view *view, int64_t start_ns, struct vrt_error *error)
{
    const struct vrt_reader_params params = {
        .range = { .start_ns = start_ns },
        .n_threads = THREADS,
        .name = view->name,
        .streams = view->streams,
        .cancel = view->cancel,
    };

    view_done(view);
    int r = vrt_reader_open(view->fd, &params, &view->reader, error);
    return r < 0 ? vrt_fold(r) : vrt_fold(vrt_reader_next(view->reader, &view->frame, error));
}

/*
 * Goes on to the first frame that is `after_ns` behind the first frame there was, of which
 * `first_pts` is the time. Half a frame earlier is asked for: containers round.
 */
static int seek_behind(struct view *view, int64_t start_ns, int64_t after_ns,
                       struct vrt_error *error)
{
    int64_t first_pts = view->frame->pts;
    int64_t target_ns = start_ns + after_ns - frame_ns(view) / 2;

    if (after_ns <= 0)
        return 0;
    int r = seek(view, VRT_MAX(target_ns, 0), error);
    if (r < 0)
        return vrt_fold(r);
    view->time_ns = ticks_ns(view, view->frame->pts - first_pts);
    return 0;
}

/* The frame of `after` that is wanted, and how far behind its first one it is. */
static int find_after(const struct vrt_preview *preview, struct view *after,
                      struct vrt_error *error)
{
    int r = seek(after, 0, error);

    if (r < 0)
        return vrt_fold(r);
    int64_t duration_ns = vrt_reader_info(after->reader)->duration_ns;
    if (preview->time_ns < 0)
        return vrt_fold(seek_behind(after, 0, duration_ns / 2, error));
    if (duration_ns > 0 && preview->time_ns >= duration_ns)
        return vrt_refuse(error, vrt_raise(-ERANGE), "input.part", "%s is %.10g s long: it shows "
                          "nothing at %.10g s", preview->after_name, (double)duration_ns / 1e9,
                          (double)preview->time_ns / 1e9);
    /* In the time of the last frame nothing begins. */
    int64_t last_ns = duration_ns - frame_ns(after);
    return vrt_fold(seek_behind(after, 0, duration_ns > 0 ? VRT_MIN(preview->time_ns, last_ns) :
                                                            preview->time_ns, error));
}

/* The frame that `after` was made of: as far behind the first one that was restored. */
static int find_before(const struct vrt_preview *preview, int64_t behind_ns, struct view *before,
                       struct vrt_error *error)
{
    int r = seek(before, 0, error);

    if (r < 0)
        return vrt_fold(r);
    int64_t first_pts = before->frame->pts, start_ns = 0;
    if (preview->start_ns > 0) {
        r = seek(before, preview->start_ns, error);
        if (r < 0)
            return vrt_fold(r);
        start_ns = ticks_ns(before, before->frame->pts - first_pts);
    }
    return vrt_fold(seek_behind(before, start_ns, behind_ns, error));
}

int vrt_preview_make(struct vrt_preview *preview, struct vrt_error *error)
{
    VRT_CLEANUP(view_done) struct view before = {
        .fd = preview->before_fd,
        .name = preview->before_name,
        .streams = preview->before_streams,
        .cancel = preview->cancel,
    };
    VRT_CLEANUP(view_done) struct view after = {
        .fd = preview->after_fd,
        .name = preview->after_name,
        .streams = VRT_JOIN_RESTORED_SPECIFIER,
        .cancel = preview->cancel,
    };

    int r = find_after(preview, &after, error);
    if (r == 0)
        r = find_before(preview, after.time_ns, &before, error);
    if (r == 0)
        r = vrt_pair_write(preview->picture_fd, before.frame, after.frame, &preview->size, error);
    preview->shown_ns = after.time_ns;
    return vrt_fold(r);
}
