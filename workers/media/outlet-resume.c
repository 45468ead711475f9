/* SPDX-License-Identifier: MIT */

/*
 * What an earlier outlet has left is looked at before anything is built on it: each segment's size,
 * head and end, the last one's tail, and that today's encoder would have written the same head.
 * What isn't as it should be is made anew, with all that follows. The last two have their tails
 * still: where one is bad, that costs a segment and not the whole job.
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "frames/tail.h"
#include "workers/media/outlet-impl.h"

#define VRT_LOG_TOPIC "outlet"

/* vrt_outlet_open(), where *r is 0. That the system has no descriptor to give says nothing about
 * the file: it becomes *r. Return: a descriptor, or -1. */
static int open_old(const struct vrt_outlet *outlet, int64_t i, const char *suffix, int *r)
{
    int fd = *r ? -1 : vrt_outlet_open(outlet, i, suffix, O_RDONLY);

    if (fd == -EMFILE || fd == -ENFILE)
        *r = fd;
    return VRT_MAX(fd, -1);
}

static bool has_size(int fd, int64_t size_bytes)
{
    struct stat st;

    return fstat(fd, &st) == 0 && st.st_size == size_bytes;
}

/* Whether segment `i` is on the disk as its record says. */
static bool is_good(const struct vrt_outlet *outlet, int64_t i, int *r)
{
    const struct vrt_segment_record *record = &outlet->params.segments[i];
    VRT_CLEANUP(vrt_closep) int fd = open_old(outlet, i, "seg", r);
    struct vrt_error why = { .id = NULL };
    int64_t n_frames;

    return record->number == i && fd >= 0 && has_size(fd, record->size_bytes) &&
           vrt_joiner_check_segment(fd, (int)i, VRT_JOINER_CHECK_ENDS, &n_frames, &why) == 0 &&
           n_frames == record->n_frames;
}

/* Fills the blender with what the last of the first n segments left. Return: whether it could. */
static bool load_tail(struct vrt_outlet *outlet, int64_t n, int *ret_r)
{
    const struct vrt_segment_record *record = &outlet->params.segments[n - 1];
    const struct vrt_frame_format *format = &outlet->params.encoder->format;
    VRT_CLEANUP(vrt_tail_done) struct vrt_tail tail = { .n = 0 };
    VRT_CLEANUP(vrt_closep) int fd = -1;
    struct vrt_error why = { .id = NULL };
    int r;

    if (!record->tail_bytes)
        return true;
    fd = open_old(outlet, n - 1, "tail", ret_r);
    if (fd < 0 || !has_size(fd, record->tail_bytes))
        return false;
    r = vrt_tail_read(fd, format->width, format->height, &tail, &why);
    if (!r)
        r = vrt_outlet_need_blender(outlet, &why);
    for (int i = 0; !r && i < tail.n; i++) {
        VRT_CLEANUP(vrt_frame_unrefp) struct vrt_frame *frame = NULL;
        r = vrt_blender_add(outlet->blender, VRT_STEAL(tail.pictures[i]), &frame, &why);
        /* Nothing that waits is complete. */
        if (!r && frame)
            r = -EBADMSG;
    }
    if (r)
        outlet->blender = vrt_blender_free(outlet->blender);
    return !r;
}

/* Whether the encoder still writes what goes with segment `i`: it may be another version. */
static bool encoder_fits(const struct vrt_outlet *outlet, int64_t i, int *r)
{
    VRT_CLEANUP(vrt_closep) int fd = open_old(outlet, i, "seg", r);
    struct vrt_error why = { .id = NULL };

    return fd >= 0 && vrt_encoder_check_segment(outlet->params.encoder, fd, &why) == 0;
}

/* How many of the segments can be gone on from; the blender is as it was after them. Where *r
 * becomes -errno nobody knows. */
static int64_t count_good(struct vrt_outlet *outlet, int *r)
{
    int64_t n = 0;

    while (n < (int64_t)outlet->params.n_segments && is_good(outlet, n, r))
        n++;
    if (n > 0 && !encoder_fits(outlet, n - 1, r))
        return 0;
    while (n > 0 && !load_tail(outlet, n, r))
        n--;
    return n;
}

int vrt_outlet_resume(struct vrt_outlet *outlet, struct vrt_outlet_task *task)
{
    const struct vrt_segment_record *segments = outlet->params.segments;
    int r = 0;
    int64_t n = count_good(outlet, &r);

    if (r)
        return vrt_refuse_errno(&task->error, vrt_raise(r), "the job's working files");
    if (n < (int64_t)outlet->params.n_segments)
        vrt_log_warning("job %s: of %zu segments only the first %" PRId64 " are good: the others "
                        "are made again", outlet->params.job_id, outlet->params.n_segments, n);
    outlet->n_segments = task->n_segments = n;
    for (int64_t i = 0; i < n; i++) {
        outlet->n_frames += segments[i].n_frames;
        outlet->size_bytes += segments[i].size_bytes;
    }
    if (n > 0) {
        outlet->next_shard = segments[n - 1].next_shard;
        outlet->n_concealed = segments[n - 1].n_concealed;
    }
    task->is_joined = outlet->is_joined = vrt_outlet_has_joined(outlet);
    return 0;
}
