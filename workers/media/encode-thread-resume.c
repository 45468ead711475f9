/* SPDX-License-Identifier: MIT */

/*
 * What an earlier encode thread has left is looked at before anything is built on it: each
 * segment's size, head and end, the last one's tail, and that today's encoder would have written
 * the same head. What isn't as it should be is made anew, with all that follows. The last two have
 * their tails still: where one is bad, that costs a segment and not the whole job.
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "frames/encode/tail.h"
#include "workers/media/encode-thread-impl.h"

#define VRT_LOG_TOPIC "encode"

/* How often the same is asked of processes that are ended meanwhile. */
#define ASK_TIMES 2

/* vrt_encode_thread_open(), where *r is 0. That the system has no descriptor to give says nothing
 * about the file: it becomes *r. Return: a descriptor, or -1. */
static int open_old(const struct vrt_encode_thread *encode_thread, int64_t i, const char *suffix,
                    int *r)
{
    int fd = *r ? -1 : vrt_encode_thread_open(encode_thread, i, suffix, O_RDONLY);

    if (fd == -EMFILE || fd == -ENFILE)
        *r = fd;
    return VRT_MAX(fd, -1);
}

static bool has_size(int fd, int64_t size_bytes)
{
    struct stat st;

    return fstat(fd, &st) == 0 && st.st_size == size_bytes;
}

/* How many frames segment `i` has; NULL: whether the encoder would have begun it likewise. A
 * process that was ended meanwhile says nothing about the segment: one more is asked, and where
 * there is none *r becomes -errno. Return: 0; -errno. */
static int ask(struct vrt_encode_thread *encode_thread, int64_t i, int fd, int64_t *ret_n_frames,
               int *r)
{
    struct vrt_error why = { .id = NULL };
    int answer = -EPIPE;

    for (int n = 0; *r == 0 && answer == -EPIPE && n < ASK_TIMES; n++) {
        why.id = NULL;
        answer = ret_n_frames ?
                 vrt_child_joiner_check_segment(encode_thread->child, fd, (int)i,
                                                VRT_JOINER_CHECK_ENDS, ret_n_frames, &why) :
                 vrt_child_encoder_check_segment(encode_thread->child,
                                                 encode_thread->params.encoder, fd, &why);
        if (!vrt_error_is(&why, "media.crashed"))
            break;
        encode_thread->child = vrt_child_free(encode_thread->child);
        *r = vrt_encode_thread_need_child(encode_thread,
                                          encode_thread->params.encoder->hwaccel, &why);
    }
    if (answer == -ECANCELED)
        *r = answer;
    return answer;
}

/* Whether segment `i` is on the disk as its record says. */
static bool is_good(struct vrt_encode_thread *encode_thread, int64_t i, int *r)
{
    const struct vrt_segment_record *record = &encode_thread->params.segments[i];
    VRT_CLEANUP(vrt_closep) int fd = open_old(encode_thread, i, "seg", r);
    int64_t n_frames;

    return record->number == i && fd >= 0 && has_size(fd, record->size_bytes) &&
           ask(encode_thread, i, fd, &n_frames, r) == 0 && n_frames == record->n_frames;
}

/* Fills the blender with what the last of the first n segments left. Return: whether it could. */
static bool load_tail(struct vrt_encode_thread *encode_thread, int64_t n, int *ret_r)
{
    const struct vrt_segment_record *record = &encode_thread->params.segments[n - 1];
    const struct vrt_frame_format *format = &encode_thread->params.made;
    VRT_CLEANUP(vrt_tail_done) struct vrt_tail tail = { .n = 0 };
    VRT_CLEANUP(vrt_closep) int fd = -1;
    struct vrt_error why = { .id = NULL };
    int r;

    if (!record->tail_bytes)
        return true;
    fd = open_old(encode_thread, n - 1, "tail", ret_r);
    if (fd < 0 || !has_size(fd, record->tail_bytes))
        return false;
    r = vrt_tail_read(fd, format->width, format->height, &tail, &why);
    if (r == 0)
        r = vrt_encode_thread_need_blender(encode_thread, &why);
    for (int i = 0; r == 0 && i < tail.n; i++) {
        VRT_CLEANUP(vrt_frame_unrefp) struct vrt_frame *frame = NULL;
        r = vrt_blender_add(encode_thread->blender, VRT_STEAL(tail.pictures[i]), &frame, &why);
        /* Nothing that waits is complete. */
        if (r == 0 && frame)
            r = -EBADMSG;
    }
    if (r < 0)
        encode_thread->blender = vrt_blender_free(encode_thread->blender);
    return r == 0;
}

/* Whether the encoder still writes what goes with segment `i`: it may be another version. */
static bool encoder_fits(struct vrt_encode_thread *encode_thread, int64_t i, int *r)
{
    VRT_CLEANUP(vrt_closep) int fd = open_old(encode_thread, i, "seg", r);

    return fd >= 0 && ask(encode_thread, i, fd, NULL, r) == 0;
}

/* How many of the segments can be gone on from; the blender is as it was after them. Where *r
 * becomes -errno nobody knows. */
static int64_t count_good(struct vrt_encode_thread *encode_thread, int *r)
{
    int64_t n = 0;

    while (n < (int64_t)encode_thread->params.n_segments && is_good(encode_thread, n, r))
        n++;
    if (n > 0 && !encoder_fits(encode_thread, n - 1, r))
        return 0;
    while (n > 0 && !load_tail(encode_thread, n, r))
        n--;
    return n;
}

int vrt_encode_thread_resume(struct vrt_media_thread *base, struct vrt_media_task *task)
{
    struct vrt_encode_thread *encode_thread =
        vrt_container_of(base, struct vrt_encode_thread, base);
    struct vrt_encode_resume *resume = vrt_container_of(task, struct vrt_encode_resume, base);
    const struct vrt_segment_record *segments = encode_thread->params.segments;
    const bool is_range = encode_thread->params.is_range;
    int r = encode_thread->params.n_segments && !is_range ?
            vrt_encode_thread_need_child(encode_thread, encode_thread->params.encoder->hwaccel,
                                         &task->error) : 0;
    int64_t n = r != 0 ? 0 : is_range ? (int64_t)encode_thread->params.n_segments :
                count_good(encode_thread, &r);

    if (r != 0)
        return vrt_refuse_errno(&task->error, vrt_raise(r), "the job's working files");
    if (n < (int64_t)encode_thread->params.n_segments)
        vrt_log_warning("job %s: of %zu segments only the first %" PRId64 " are good: the others "
                        "are made again", encode_thread->params.job_id,
                        encode_thread->params.n_segments, n);
    encode_thread->n_segments = resume->n_segments = n;
    for (int64_t i = 0; i < n; i++) {
        encode_thread->n_frames += segments[i].n_frames;
        encode_thread->size_bytes += segments[i].size_bytes;
        vrt_target_size_note(&encode_thread->course, segments[i].n_frames, segments[i].size_bytes);
    }
    if (n > 0) {
        encode_thread->next_shard = segments[n - 1].next_shard;
        encode_thread->kept_shard = encode_thread->next_shard;
        encode_thread->n_concealed = segments[n - 1].n_concealed;
    }
    resume->is_joined = encode_thread->is_joined = vrt_encode_thread_has_joined(encode_thread);
    return 0;
}
