/* SPDX-License-Identifier: MIT */

/*
 * Frames come in order, so that encoding is a matter of sending them on. A segment ends with a
 * whole shard: what is not in it are the pictures that wait for the next clip, and they are written
 * beside it. Its record is told when all of that, and the folder's entry for it, is on the disk:
 * whatever happens afterwards, nothing of it is computed again. outlet-resume.c goes on from there,
 * outlet-finish.c makes the file.
 */

#include "workers/media/outlet.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "frames/tail.h"
#include "workers/media/outlet-impl.h"

#define VRT_LOG_TOPIC "outlet"

/* As INTAKE_NICE. */
#define OUTLET_NICE 12

#define NAME_BYTES 32

struct vrt_outlet_task *vrt_outlet_task_free(struct vrt_outlet_task *task)
{
    if (!task)
        return NULL;
    vrt_shard_frames_done(&task->frames);
    free(task->warnings);
    free(task);
    return NULL;
}

struct vrt_outlet_task *vrt_outlet_task_new(enum vrt_outlet_request request,
                                        void (*done)(struct vrt_task *task), void *ctx)
{
    struct vrt_outlet_task *task = calloc(1, sizeof(*task));

    if (!task)
        return NULL;
    vrt_task_init(&task->task, done, NULL);
    task->request = request;
    task->ctx = ctx;
    return task;
}

static void file_name(int64_t number, const char *suffix, char name[NAME_BYTES])
{
    snprintf(name, NAME_BYTES, "%05" PRId64 ".%s", number, suffix);
}

int vrt_outlet_open(const struct vrt_outlet *outlet, int64_t number, const char *suffix, int flags)
{
    char name[NAME_BYTES];
    int fd;

    file_name(number, suffix, name);
    fd = openat(outlet->params.spool_fd, name, flags | O_NOFOLLOW | O_CLOEXEC, 0600);
    return fd < 0 ? -errno : fd;
}

void vrt_outlet_remove(const struct vrt_outlet *outlet, int64_t number, const char *suffix)
{
    char name[NAME_BYTES];

    file_name(number, suffix, name);
    if (unlinkat(outlet->params.spool_fd, name, 0) < 0 && errno != ENOENT)
        vrt_log_warning("job %s: %s stays in the spool folder: %s, ignoring",
                        outlet->params.job_id, name, strerror(errno));
}

int vrt_outlet_refuse(int r, struct vrt_error *error)
{
    if (r == -ENOSPC || r == -EDQUOT)
        return vrt_refuse(error, r, "spool.full", "the disk of vrtd's working files is full: free "
                          "some space and try again");
    return vrt_refuse_errno(error, r, "the spool folder");
}

int vrt_outlet_sync(int fd, struct vrt_error *error)
{
    /* Where there is nothing to sync (EINVAL), there is nothing to lose. */
    if (fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP)
        return 0;
    return vrt_outlet_refuse(vrt_raise(-errno), error);
}

int vrt_outlet_need_blender(struct vrt_outlet *outlet, struct vrt_error *error)
{
    if (outlet->blender)
        return 0;
    return vrt_fold(vrt_blender_new(&outlet->params.encoder->format, &outlet->blender, error));
}

/* Opens the next segment's file and an encoder that writes to it. */
static int begin_segment(struct vrt_outlet *outlet, struct vrt_error *error)
{
    int fd = vrt_outlet_open(outlet, outlet->n_segments, "seg", O_RDWR | O_CREAT | O_TRUNC);

    if (fd < 0)
        return vrt_outlet_refuse(vrt_raise(fd), error);
    outlet->segment_fd = fd;
    outlet->n_open = 0;
    return vrt_fold(vrt_encoder_new(outlet->params.encoder, fd, &outlet->encoder, error));
}

/* Writes the pictures that wait for the next clip. */
static int save_tail(struct vrt_outlet *outlet, int64_t *ret_size_bytes, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_closep) int fd = -1;
    struct vrt_tail tail = { .n = 0 };
    int r = outlet->blender ? vrt_blender_waiting(outlet->blender, &tail) : 0;

    *ret_size_bytes = 0;
    if (r)
        return vrt_refuse_errno(error, vrt_fold(r), "blending clips");
    if (!tail.n)
        return 0;
    fd = vrt_outlet_open(outlet, outlet->n_segments, "tail", O_RDWR | O_CREAT | O_TRUNC);
    if (fd < 0)
        return vrt_outlet_refuse(vrt_raise(fd), error);
    r = vrt_tail_write(fd, &tail, ret_size_bytes, error);
    return r ? vrt_fold(r) : vrt_fold(vrt_outlet_sync(fd, error));
}

/* Tails are large, and only a restart from their own segment needs one. Where the last one is
 * damaged that is the segment before. */
static void remove_tails(struct vrt_outlet *outlet)
{
    int64_t committed = atomic_load(outlet->params.committed);

    for (; outlet->n_tails_gone < committed - 1; outlet->n_tails_gone++)
        vrt_outlet_remove(outlet, outlet->n_tails_gone, "tail");
}

/* Completes the segment in work, and makes sure that it stays. */
static int end_segment(struct vrt_outlet *outlet, struct vrt_outlet_task *task)
{
    struct vrt_segment_record record = {
        .number = outlet->n_segments,
        .n_frames = outlet->n_open,
        .next_shard = outlet->next_shard,
        .n_concealed = outlet->n_concealed,
    };
    int r = vrt_encoder_finish(outlet->encoder, &record.size_bytes, &task->error);

    outlet->encoder = vrt_encoder_free(outlet->encoder);
    if (!r)
        r = vrt_outlet_sync(outlet->segment_fd, &task->error);
    if (!r)
        r = save_tail(outlet, &record.tail_bytes, &task->error);
    if (!r)
        r = vrt_outlet_sync(outlet->params.spool_fd, &task->error);
    if (r)
        return vrt_fold(r);
    vrt_closep(&outlet->segment_fd);
    outlet->segment_fd = -1;
    outlet->n_segments++;
    outlet->n_frames += outlet->n_open;
    outlet->size_bytes += record.size_bytes;
    outlet->n_open = 0;
    task->has_segment = true;
    task->segment = record;
    remove_tails(outlet);
    return 0;
}

/* Takes over the frame and sends it to the encoder. */
static int encode_frame(struct vrt_outlet *outlet, struct vrt_frame *frame,
                        struct vrt_outlet_task *task)
{
    int r = outlet->encoder ? 0 : begin_segment(outlet, &task->error);

    if (!r)
        r = vrt_encoder_send(outlet->encoder, frame, &task->error);
    outlet->n_concealed += frame->concealed;
    /* At once: the encoder may hold many, and this thread's share should not add to them. */
    vrt_frame_unref(frame);
    outlet->n_open += !r;
    task->n_encoded += !r;
    return vrt_fold(r);
}

/* Takes over one of a frame's pictures. With the last one *ret_frame is the frame. */
static int blend(struct vrt_outlet *outlet, struct vrt_picture *picture,
                 struct vrt_frame **ret_frame, struct vrt_error *error)
{
    int r = vrt_outlet_need_blender(outlet, error);

    if (r) {
        vrt_picture_unref(picture);
        return vrt_fold(r);
    }
    return vrt_fold(vrt_blender_add(outlet->blender, picture, ret_frame, error));
}

static int encode(struct vrt_outlet *outlet, struct vrt_outlet_task *task)
{
    struct vrt_shard_frames *frames = &task->frames;
    int r = vrt_files_check(outlet->params.files, &task->error);

    for (int i = 0; !r && i < frames->n; i++) {
        struct vrt_frame *frame = VRT_STEAL(frames->out[i]);
        if (atomic_load(outlet->params.cancel)) {
            vrt_frame_unref(frame);
            return vrt_raise(-ECANCELED);
        }
        if (frames->shared[i])
            r = blend(outlet, VRT_STEAL(frames->shared[i]), &frame, &task->error);
        if (!r && frame)
            r = encode_frame(outlet, frame, task);
    }
    outlet->next_shard = task->shard + 1;
    if (!r && outlet->n_open >= outlet->params.segment_frames)
        r = end_segment(outlet, task);
    task->n_open = outlet->n_open;
    return vrt_fold(r);
}

static int perform(struct vrt_outlet *outlet, struct vrt_outlet_task *task)
{
    if (outlet->has_failed)
        return vrt_refuse(&task->error, vrt_raise(-ECANCELED), "cancelled", "cancelled");
    switch (task->request) {
    case VRT_OUTLET_RESUME:
        return vrt_fold(vrt_outlet_resume(outlet, task));
    case VRT_OUTLET_ENCODE:
        return vrt_fold(encode(outlet, task));
    case VRT_OUTLET_END:
        return outlet->encoder ? vrt_fold(end_segment(outlet, task)) : 0;
    case VRT_OUTLET_FINISH:
        break;
    }
    return vrt_fold(vrt_outlet_finish(outlet, task));
}

/* What is half done goes, so that a disk that is full has room again. */
static void clean_up(struct vrt_outlet *outlet)
{
    vrt_encoder_free(outlet->encoder);
    vrt_blender_free(outlet->blender);
    if (outlet->segment_fd >= 0) {
        vrt_closep(&outlet->segment_fd);
        vrt_outlet_remove(outlet, outlet->n_segments, "seg");
        vrt_outlet_remove(outlet, outlet->n_segments, "tail");
    }
    free(outlet);
}

static void run(struct vrt_mailbox *mailbox, void *ctx)
{
    struct vrt_outlet *outlet = ctx;
    struct vrt_task *taken;

    while ((taken = vrt_mailbox_take(mailbox))) {
        struct vrt_outlet_task *task = vrt_container_of(taken, struct vrt_outlet_task, task);
        int64_t start_ns = vrt_clock_now_ns();
        task->result = perform(outlet, task);
        outlet->has_failed = task->result;
        task->busy_ns = vrt_clock_now_ns() - start_ns;
        vrt_mailbox_return(mailbox, taken, task->result ? VRT_TASK_FAILED : VRT_TASK_DONE);
    }
    clean_up(outlet);
}

int vrt_outlet_new(const struct vrt_outlet_params *params, struct vrt_mailbox **ret_mailbox)
{
    struct vrt_outlet *outlet = calloc(1, sizeof(*outlet));
    int r;

    vrt_assert_thread(VRT_THREAD_LOOP);
    if (!outlet)
        return vrt_raise(-ENOMEM);
    outlet->params = *params;
    outlet->segment_fd = -1;
    const struct vrt_mailbox_params mailbox = {
        .name = "vrt-encode",
        .capacity = VRT_OUTLET_CAPACITY,
        .nice = OUTLET_NICE,
        .run = run,
        .run_ctx = outlet,
        .ended = params->ended,
        .ended_ctx = params->ctx,
    };
    r = vrt_mailbox_new(params->outbox, &mailbox, ret_mailbox);
    if (r) {
        free(outlet);
        return vrt_fold(r);
    }
    return 0;
}
