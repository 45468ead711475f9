/* SPDX-License-Identifier: MIT */

/*
 * Frames come in order, so that encoding is a matter of sending them on. The output's own
 * descriptor is not touched before every segment is complete: what a user sees there is what was
 * there before, then a whole file, or nothing.
 */

#include "workers/outlet.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "workers/blender.h"

#define VRT_LOG_TOPIC "outlet"

/* Below the loop, above the devices: see INTAKE_NICE. */
#define OUTLET_NICE 2

#define NAME_BYTES 96

struct outlet {
    /* immutable */
    struct vrt_outlet_params params;

    struct {                            /* the outlet's thread */
        int *segment_fds;               /* in order */
        int n_segments;
        struct vrt_encoder *encoder;    /* of the last segment; NULL: that is complete */
        struct vrt_blender *blender;    /* NULL: no shards shared a frame yet */
        int64_t segment_frames;         /* in it */
        bool is_written;                /* the output holds the result, as far as we know */
        bool is_finished;               /* and that is what it should be */
    } own;
};

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

static void segment_name(const struct outlet *outlet, int i, char name[NAME_BYTES])
{
    snprintf(name, NAME_BYTES, "%s-%05d.seg", outlet->params.job_id, i);
}

/* Opens the next segment's file and an encoder that writes to it. */
static int begin_segment(struct outlet *outlet, struct vrt_error *error)
{
    size_t n = (size_t)outlet->own.n_segments + 1;
    int *fds = realloc(outlet->own.segment_fds, n * sizeof(*fds));
    char name[NAME_BYTES];
    int fd;

    if (!fds)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "a segment");
    outlet->own.segment_fds = fds;
    segment_name(outlet, outlet->own.n_segments, name);
    fd = openat(outlet->params.spool_fd, name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return vrt_refuse_errno(error, vrt_raise(-errno), "the spool folder");
    fds[outlet->own.n_segments++] = fd;
    outlet->own.segment_frames = 0;
    return vrt_fold(vrt_encoder_new(outlet->params.encoder, fd, &outlet->own.encoder, error));
}

static int end_segment(struct outlet *outlet, struct vrt_error *error)
{
    int64_t size_bytes;
    int r = vrt_encoder_finish(outlet->own.encoder, &size_bytes, error);

    outlet->own.encoder = vrt_encoder_free(outlet->own.encoder);
    return vrt_fold(r);
}

/* Takes over the frame and sends it to the encoder. */
static int encode_frame(struct outlet *outlet, struct vrt_frame *frame,
                        struct vrt_outlet_task *task)
{
    int r = outlet->own.encoder ? 0 : begin_segment(outlet, &task->error);

    if (!r)
        r = vrt_encoder_send(outlet->own.encoder, frame, &task->error);
    /* At once: the encoder may hold many, and this thread's share should not add to them. */
    vrt_frame_unref(frame);
    if (!r && ++outlet->own.segment_frames == outlet->params.segment_frames)
        r = end_segment(outlet, &task->error);
    task->n_encoded += !r;
    return vrt_fold(r);
}

/* Takes over one of a frame's pictures. With the last one *ret_frame is the frame. */
static int blend(struct outlet *outlet, struct vrt_picture *picture, struct vrt_frame **ret_frame,
                 struct vrt_error *error)
{
    int r = outlet->own.blender ? 0 : vrt_blender_new(&outlet->params.encoder->format,
                                                      &outlet->own.blender, error);

    if (r) {
        vrt_picture_unref(picture);
        return vrt_fold(r);
    }
    return vrt_fold(vrt_blender_add(outlet->own.blender, picture, ret_frame, error));
}

static int encode(struct outlet *outlet, struct vrt_outlet_task *task)
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
    return vrt_fold(r);
}

/*
 * Asks before the output loses what it holds whether the result, which has at least the segments'
 * size, has room in its place. Who fills the disk meanwhile is found out by the joiner.
 */
static int check_room(const struct outlet *outlet, struct vrt_error *error)
{
    const struct vrt_files *files = outlet->params.files;
    char shown[NAME_BYTES];
    struct statvfs disk;
    struct stat st;
    double needed = 0, room;

    for (int i = 0; i < outlet->own.n_segments; i++)
        if (fstat(outlet->own.segment_fds[i], &st) == 0)
            needed += (double)st.st_size;
    /* Some file systems know neither their size nor what is free. */
    if (fstat(files->output_fd, &st) < 0 || fstatvfs(files->output_fd, &disk) < 0 ||
        disk.f_blocks == 0)
        return 0;
    room = (double)disk.f_bavail * (double)disk.f_frsize + (double)st.st_blocks * 512;
    if (needed <= room)
        return 0;
    return vrt_refuse(error, vrt_raise(-ENOSPC), "output.full",
                      "the disk of %s is full: the result needs %.1f MiB, and there are %.1f; free "
                      "some space and try again",
                      vrt_printable(files->output_name, shown, sizeof(shown)), needed / 1048576,
                      room / 1048576);
}

static int finish(struct outlet *outlet, struct vrt_outlet_task *task)
{
    const struct vrt_files *files = outlet->params.files;
    const struct vrt_joiner_params params = {
        .segment_fds = outlet->own.segment_fds,
        .n_segments = outlet->own.n_segments,
        .input_fd = files->input_fd,
        .input_name = files->input_name,
        .output_fd = files->output_fd,
        .container = outlet->params.container,
        .cancel = outlet->params.cancel,
    };
    const struct vrt_joiner_expected expected = {
        .n_frames = task->n_frames,
        .span_ns = task->span_ns,
    };
    VRT_CLEANUP(vrt_freep) struct vrt_joiner_result *result = calloc(1, sizeof(*result));
    int r = outlet->own.encoder ? end_segment(outlet, &task->error) : 0;

    if (!r && !result)
        r = vrt_refuse_errno(&task->error, vrt_raise(-ENOMEM), "the output");
    if (!r)
        r = vrt_files_check(files, &task->error);
    if (!r)
        r = check_room(outlet, &task->error);
    if (!r)
        r = vrt_joiner_run(&params, result, &task->error);
    outlet->own.is_written = !r;
    if (!r)
        r = vrt_joiner_verify(files->output_fd, &expected, outlet->params.cancel, &task->error);
    if (!r)
        r = vrt_files_check(files, &task->error);
    if (r)
        return vrt_fold(r);
    outlet->own.is_finished = true;
    if (result->warnings.n > 0) {
        task->warnings = malloc(sizeof(*task->warnings));
        if (task->warnings)
            *task->warnings = result->warnings;
    }
    return 0;
}

/* Removes the segments; a result that isn't what it should be is not left to be taken for one. */
static void clean_up(struct outlet *outlet)
{
    vrt_encoder_free(outlet->own.encoder);
    vrt_blender_free(outlet->own.blender);
    for (int i = 0; i < outlet->own.n_segments; i++) {
        char name[NAME_BYTES];
        segment_name(outlet, i, name);
        close(outlet->own.segment_fds[i]);
        if (unlinkat(outlet->params.spool_fd, name, 0) < 0)
            vrt_log_warning("job %s: %s stays in the spool folder: %s, ignoring",
                            outlet->params.job_id, name, strerror(errno));
    }
    if (outlet->own.is_written && !outlet->own.is_finished &&
        ftruncate(outlet->params.files->output_fd, 0) < 0)
        vrt_log_warning("job %s: its wrong output can't be emptied: %s, ignoring",
                        outlet->params.job_id, strerror(errno));
    free(outlet->own.segment_fds);
    free(outlet);
}

static void run(struct vrt_mailbox *mailbox, void *ctx)
{
    struct outlet *outlet = ctx;
    struct vrt_task *taken;

    while ((taken = vrt_mailbox_take(mailbox))) {
        struct vrt_outlet_task *task = vrt_container_of(taken, struct vrt_outlet_task, task);
        int64_t start_ns = vrt_clock_now_ns();
        if (task->request == VRT_OUTLET_ENCODE)
            task->result = encode(outlet, task);
        else
            task->result = finish(outlet, task);
        task->busy_ns = vrt_clock_now_ns() - start_ns;
        vrt_mailbox_return(mailbox, taken, task->result ? VRT_TASK_FAILED : VRT_TASK_DONE);
    }
    clean_up(outlet);
}

int vrt_outlet_new(const struct vrt_outlet_params *params, struct vrt_mailbox **ret_mailbox)
{
    struct outlet *outlet = calloc(1, sizeof(*outlet));
    int r;

    vrt_assert_thread(VRT_THREAD_LOOP);
    if (!outlet)
        return vrt_raise(-ENOMEM);
    outlet->params = *params;
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
