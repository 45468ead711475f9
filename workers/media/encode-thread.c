/* SPDX-License-Identifier: MIT */

/*
 * Frames come in order, so that encoding is a matter of sending them on. A segment ends with a
 * whole shard: what is not in it are the pictures that wait for the next clip, and they are written
 * beside it. Its record is told when all of that, and the folder's entry for it, is on the disk:
 * whatever happens afterwards, nothing of it is computed again. encode-thread-resume.c goes on from
 * there, encode-thread-finish.c makes the file.
 */

#include "workers/media/encode-thread.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "frames/encode/tail.h"
#include "workers/media/encode-thread-impl.h"

#define VRT_LOG_TOPIC "encode"

/* As DECODE_THREAD_NICE. */
#define ENCODE_THREAD_NICE 12

#define NAME_BYTES 32

static void file_name(int64_t number, const char *suffix, char name[NAME_BYTES])
{
    snprintf(name, NAME_BYTES, "%05" PRId64 ".%s", number, suffix);
}

int vrt_encode_thread_open(const struct vrt_encode_thread *encode_thread, int64_t number,
                           const char *suffix, int flags)
{
    char name[NAME_BYTES];
    int fd;

    file_name(number, suffix, name);
    fd = openat(encode_thread->params.spool_fd, name, flags | O_NOFOLLOW | O_CLOEXEC, 0600);
    return fd < 0 ? -errno : fd;
}

void vrt_encode_thread_remove(const struct vrt_encode_thread *encode_thread, int64_t number,
                              const char *suffix)
{
    char name[NAME_BYTES];

    file_name(number, suffix, name);
    if (unlinkat(encode_thread->params.spool_fd, name, 0) < 0 && errno != ENOENT)
        vrt_log_warning("job %s: %s stays in the spool folder: %s, ignoring",
                        encode_thread->params.job_id, name, strerror(errno));
}

int vrt_encode_thread_refuse(int r, struct vrt_error *error)
{
    if (vrt_is_disk_full(r))
        return vrt_refuse(error, r, "spool.full", "the disk of vrtd's working files is full: free "
                          "some space and try again");
    return vrt_refuse_errno(error, r, "the spool folder");
}

int vrt_encode_thread_sync(int fd, struct vrt_error *error)
{
    /* Where there is nothing to sync (EINVAL), there is nothing to lose. */
    if (fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP)
        return 0;
    return vrt_encode_thread_refuse(vrt_raise(-errno), error);
}

int vrt_encode_thread_need_blender(struct vrt_encode_thread *encode_thread, struct vrt_error *error)
{
    if (encode_thread->blender)
        return 0;
    return vrt_fold(vrt_blender_new(&encode_thread->params.made,
                                    &encode_thread->blender, error));
}

int vrt_encode_thread_need_child(struct vrt_encode_thread *encode_thread, enum vrt_hwaccel hwaccel,
                                 struct vrt_error *error)
{
    if (encode_thread->child && encode_thread->child_hwaccel == hwaccel)
        return 0;
    encode_thread->child = vrt_child_free(encode_thread->child);
    encode_thread->child_hwaccel = hwaccel;
    return vrt_fold(vrt_child_new_for(hwaccel, encode_thread->params.cancel, &encode_thread->child,
                                      error));
}

/* Has the process read the transparency, of which the encoder takes what goes with each frame. */
static int need_alpha(struct vrt_encode_thread *encode_thread, struct vrt_error *error)
{
    const struct vrt_encode_thread_params *params = &encode_thread->params;
    VRT_CLEANUP(vrt_closep) int made_fd = -1;

    if (encode_thread->alpha || !params->encoder->format.has_alpha)
        return 0;
    if (!params->alpha.is_alpha) {
        made_fd = openat(params->spool_fd, VRT_ALPHA_FILE,
                         O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        if (made_fd < 0)
            return vrt_encode_thread_refuse(vrt_raise(-errno), error);
    }
    return vrt_fold(vrt_child_reader_open(encode_thread->child,
                                          made_fd < 0 ? params->files->input_fd : made_fd,
                                          &params->alpha, &encode_thread->alpha, error));
}

/* Opens the next segment's file and an encoder that writes to it. */
static int begin_segment(struct vrt_encode_thread *encode_thread, struct vrt_error *error)
{
    struct vrt_encoder_params params = *encode_thread->params.encoder;
    int r = vrt_encode_thread_need_child(encode_thread, params.hwaccel, error);

    if (r < 0)
        return vrt_fold(r);
    r = need_alpha(encode_thread, error);
    if (r < 0)
        return vrt_fold(r);
    if (encode_thread->course.n_frames)
        params.bitrate = vrt_target_size_next(&encode_thread->course);
    int fd = vrt_encode_thread_open(encode_thread, encode_thread->n_segments, "seg",
                                    O_RDWR | O_CREAT | O_TRUNC);
    if (fd < 0)
        return vrt_encode_thread_refuse(vrt_raise(fd), error);
    encode_thread->segment_fd = fd;
    encode_thread->n_open = 0;
    return vrt_fold(vrt_child_encoder_new(encode_thread->child, &params, fd,
                                          &encode_thread->encoder, error));
}

/* Writes the pictures that wait for the next clip. */
static int save_tail(struct vrt_encode_thread *encode_thread, int64_t *ret_size_bytes,
                     struct vrt_error *error)
{
    VRT_CLEANUP(vrt_closep) int fd = -1;
    struct vrt_tail tail = { .n = 0 };
    int r = encode_thread->blender ? vrt_blender_waiting(encode_thread->blender, &tail) : 0;

    *ret_size_bytes = 0;
    if (r < 0)
        return vrt_refuse_errno(error, vrt_fold(r), "blending clips");
    if (!tail.n)
        return 0;
    fd = vrt_encode_thread_open(encode_thread, encode_thread->n_segments, "tail",
                                O_RDWR | O_CREAT | O_TRUNC);
    if (fd < 0)
        return vrt_encode_thread_refuse(vrt_raise(fd), error);
    r = vrt_tail_write(fd, &tail, ret_size_bytes, error);
    return r < 0 ? vrt_fold(r) : vrt_fold(vrt_encode_thread_sync(fd, error));
}

/* Tails are large, and only a restart from their own segment needs one. Where the last one is
 * damaged that is the segment before. */
static void remove_tails(struct vrt_encode_thread *encode_thread)
{
    int64_t committed = atomic_load(encode_thread->params.committed);

    for (; encode_thread->n_tails_gone < committed - 1; encode_thread->n_tails_gone++)
        vrt_encode_thread_remove(encode_thread, encode_thread->n_tails_gone, "tail");
}

int vrt_encode_thread_check_sizes(struct vrt_encode_thread *encode_thread,
                                  struct vrt_error *error)
{
    const int64_t n = encode_thread->n_segments;
    char name[NAME_BYTES];
    struct stat st;

    for (int64_t i = VRT_MAX(n - encode_thread->n_sizes, 0); i < n; i++) {
        file_name(i, "seg", name);
        if (fstatat(encode_thread->params.spool_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
            st.st_size == encode_thread->sizes_bytes[i % VRT_ENCODE_THREAD_SIZES])
            continue;
        encode_thread->child = vrt_child_free(encode_thread->child);
        return vrt_refuse(error, vrt_raise(-EPIPE), "media.crashed", "the process vrt-media wrote "
                          "to a segment that was complete, and was ended");
    }
    return 0;
}

static void note_size(struct vrt_encode_thread *encode_thread, int64_t size_bytes)
{
    encode_thread->sizes_bytes[encode_thread->n_segments % VRT_ENCODE_THREAD_SIZES] = size_bytes;
    encode_thread->n_sizes = VRT_MIN(encode_thread->n_sizes + 1, VRT_ENCODE_THREAD_SIZES);
}

/* Completes the segment in work, and makes sure that it stays. */
static int end_segment(struct vrt_encode_thread *encode_thread,
                       struct vrt_segment_record *ret_record, struct vrt_error *error)
{
    struct vrt_segment_record record = {
        .number = encode_thread->n_segments,
        .n_frames = encode_thread->n_open,
        .next_shard = encode_thread->next_shard,
        .n_concealed = encode_thread->n_concealed,
    };
    int r = vrt_child_encoder_finish(encode_thread->encoder, &record.size_bytes, error);

    encode_thread->encoder = vrt_child_encoder_free(encode_thread->encoder);
    if (r != 0)
        return vrt_fold(r);
    r = vrt_encode_thread_check_sizes(encode_thread, error);
    if (r != 0)
        return vrt_fold(r);
    r = vrt_encode_thread_sync(encode_thread->segment_fd, error);
    if (r != 0)
        return vrt_fold(r);
    r = save_tail(encode_thread, &record.tail_bytes, error);
    if (r != 0)
        return vrt_fold(r);
    r = vrt_encode_thread_sync(encode_thread->params.spool_fd, error);
    if (r != 0)
        return vrt_fold(r);
    vrt_closep(&encode_thread->segment_fd);
    encode_thread->segment_fd = -1;
    note_size(encode_thread, record.size_bytes);
    encode_thread->n_segments++;
    encode_thread->n_frames += encode_thread->n_open;
    encode_thread->size_bytes += record.size_bytes;
    vrt_target_size_note(&encode_thread->course, record.n_frames, record.size_bytes);
    encode_thread->n_open = 0;
    *ret_record = record;
    remove_tails(encode_thread);
    return 0;
}

/* Takes over the frame and sends it to the encoder. */
static int encode_frame(struct vrt_encode_thread *encode_thread, struct vrt_frame *frame,
                        struct vrt_encode_shard *shard)
{
    int r = encode_thread->encoder ? 0 : begin_segment(encode_thread, &shard->base.error);

    if (r == 0)
        r = vrt_child_encoder_send(encode_thread->encoder, frame, &shard->base.error);
    encode_thread->n_concealed += frame->concealed;
    /* At once: the encoder may hold many, and this thread's share should not add to them. */
    vrt_frame_unref(frame);
    encode_thread->n_open += r == 0;
    shard->n_encoded += r == 0;
    return vrt_fold(r);
}

/* Takes over one of a frame's pictures. With the last one *ret_frame is the frame. */
static int blend(struct vrt_encode_thread *encode_thread, struct vrt_picture *picture,
                 struct vrt_frame **ret_frame, struct vrt_error *error)
{
    int r = vrt_encode_thread_need_blender(encode_thread, error);

    if (r < 0) {
        vrt_picture_unref(picture);
        return vrt_fold(r);
    }
    return vrt_fold(vrt_blender_add(encode_thread->blender, picture, ret_frame, error));
}

static int encode_shard(struct vrt_media_thread *base, struct vrt_media_task *task)
{
    struct vrt_encode_thread *encode_thread =
        vrt_container_of(base, struct vrt_encode_thread, base);
    struct vrt_encode_shard *shard = vrt_container_of(task, struct vrt_encode_shard, base);
    struct vrt_shard_frames *frames = &shard->frames;
    int r = vrt_files_check(encode_thread->params.files, &task->error);

    for (int i = 0; r == 0 && i < vrt_shard_n_out(frames); i++) {
        struct vrt_frame *frame = VRT_STEAL(frames->out[i]);
        if (frames->shared[i])
            r = blend(encode_thread, VRT_STEAL(frames->shared[i]), &frame, &task->error);
        if (r == 0 && frame && shard->shard < encode_thread->kept_shard)
            vrt_frame_unref(frame);
        else if (r == 0 && frame)
            r = encode_frame(encode_thread, frame, shard);
    }
    encode_thread->next_shard = shard->shard + 1;
    if (r == 0 && encode_thread->n_open >= encode_thread->params.segment_frames)
        r = end_segment(encode_thread, &shard->segment, &task->error);
    shard->segment.behind = frames->behind;
    shard->n_open = encode_thread->n_open;
    return vrt_fold(r);
}

static int end(struct vrt_media_thread *base, struct vrt_media_task *task)
{
    struct vrt_encode_thread *encode_thread =
        vrt_container_of(base, struct vrt_encode_thread, base);
    struct vrt_encode_end *end = vrt_container_of(task, struct vrt_encode_end, base);

    if (!encode_thread->encoder)
        return 0;
    return vrt_fold(end_segment(encode_thread, &end->segment, &task->error));
}

static void drop_shard(struct vrt_media_task *task)
{
    vrt_shard_frames_done(&vrt_container_of(task, struct vrt_encode_shard, base)->frames);
}

static void drop_finish(struct vrt_media_task *task)
{
    free(vrt_container_of(task, struct vrt_encode_finish, base)->warnings);
}

struct vrt_media_task *vrt_encode_resume_new(void (*done)(struct vrt_task *task), void *ctx)
{
    return vrt_media_task_new(sizeof(struct vrt_encode_resume), vrt_encode_thread_resume, done,
                              ctx);
}

struct vrt_encode_shard *vrt_encode_shard_new(void (*done)(struct vrt_task *task), void *ctx)
{
    struct vrt_encode_shard *shard = vrt_media_task_new(sizeof(*shard), encode_shard, done, ctx);

    if (shard)
        shard->base.drop = drop_shard;
    return shard;
}

struct vrt_media_task *vrt_encode_end_new(void (*done)(struct vrt_task *task), void *ctx)
{
    return vrt_media_task_new(sizeof(struct vrt_encode_end), end, done, ctx);
}

struct vrt_encode_finish *vrt_encode_finish_new(void (*done)(struct vrt_task *task), void *ctx)
{
    struct vrt_encode_finish *finish = vrt_media_task_new(sizeof(*finish),
                                                          vrt_encode_thread_finish, done, ctx);

    if (finish)
        finish->base.drop = drop_finish;
    return finish;
}

/* What is half done goes, so that a disk that is full has room again. */
static void clean_up(struct vrt_media_thread *base)
{
    struct vrt_encode_thread *encode_thread =
        vrt_container_of(base, struct vrt_encode_thread, base);

    vrt_child_encoder_free(encode_thread->encoder);
    vrt_child_reader_close(encode_thread->alpha);
    vrt_child_free(encode_thread->child);
    vrt_blender_free(encode_thread->blender);
    if (encode_thread->segment_fd >= 0) {
        vrt_closep(&encode_thread->segment_fd);
        vrt_encode_thread_remove(encode_thread, encode_thread->n_segments, "seg");
        vrt_encode_thread_remove(encode_thread, encode_thread->n_segments, "tail");
    }
    free(encode_thread);
}

int vrt_encode_thread_new(const struct vrt_encode_thread_params *params,
                          struct vrt_mailbox **ret_mailbox)
{
    struct vrt_encode_thread *encode_thread = calloc(1, sizeof(*encode_thread));

    vrt_assert_thread(VRT_THREAD_LOOP);
    if (!encode_thread)
        return vrt_raise(-ENOMEM);
    encode_thread->base.free = clean_up;
    encode_thread->base.ends_by_failure = true;
    encode_thread->params = *params;
    encode_thread->segment_fd = -1;
    encode_thread->course = (struct vrt_target_size_course){
        .bitrate = params->encoder->bitrate,
        .fps = params->encoder->fps,
        .n_frames = params->n_frames_fitted,
    };
    return vrt_fold(vrt_media_thread_start(&encode_thread->base, &(struct vrt_media_thread_params){
        .outbox = params->outbox,
        .name = "vrt-encode",
        .capacity = VRT_ENCODE_THREAD_CAPACITY,
        .nice = ENCODE_THREAD_NICE,
        .ended = params->ended,
        .ctx = params->ctx,
    }, ret_mailbox));
}
