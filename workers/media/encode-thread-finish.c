/* SPDX-License-Identifier: MIT */

/*
 * The end: segments -> "joining" -> verified -> "joined.mp4" -> compared -> the output. The
 * output's own descriptor is not touched before the finished file is there: what a user sees in it
 * is what was there before, then a file that no player takes for one, then the result. A restart
 * finds the finished file and copies it again.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/log.h"
#include "workers/media/comparison.h"
#include "workers/media/encode-thread-impl.h"
#include "workers/media/files/output-copy.h"

#define VRT_LOG_TOPIC "encode"

#define JOINING "joining"
#define NAME_BYTES 32

static void joined_name(const struct vrt_encode_thread *encode_thread, char name[NAME_BYTES])
{
    if (encode_thread->params.is_alpha_pass)
        snprintf(name, NAME_BYTES, "%s", VRT_ALPHA_FILE);
    else
        snprintf(name, NAME_BYTES, "joined.%s",
                 vrt_container_name(encode_thread->params.container));
}

/* Return: the finished file's descriptor; -errno. */
static int open_joined(const struct vrt_encode_thread *encode_thread)
{
    char name[NAME_BYTES];

    joined_name(encode_thread, name);
    int fd = openat(encode_thread->params.spool_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

bool vrt_encode_thread_has_joined(struct vrt_encode_thread *encode_thread)
{
    VRT_CLEANUP(vrt_closep) int fd = open_joined(encode_thread);
    const struct vrt_joiner_expected expected = { .n_frames = encode_thread->n_frames,
                                                 .span_ns = -1 };
    struct vrt_error why = { .id = NULL };

    return fd >= 0 && encode_thread->n_frames > 0 &&
           vrt_encode_thread_need_child(encode_thread, VRT_HWACCEL_OFF, &why) == 0 &&
           vrt_child_joiner_verify(encode_thread->child, fd, &expected, &why) == 0;
}

static int open_segment(void *ctx, int number)
{
    return vrt_encode_thread_open(ctx, number, "seg", O_RDONLY);
}

/* The result has at least the segments' size. Who fills the disk meanwhile is found out by the
 * joiner. */
static int check_room(const struct vrt_encode_thread *encode_thread, struct vrt_error *error)
{
    struct statvfs disk;

    /* Some file systems know neither their size nor what is free. */
    if (fstatvfs(encode_thread->params.spool_fd, &disk) < 0 || disk.f_blocks == 0 ||
        (double)encode_thread->size_bytes <= (double)disk.f_bavail * (double)disk.f_frsize)
        return 0;
    return vrt_encode_thread_refuse(vrt_raise(-ENOSPC), error);
}

/* Damage that only the joiner found would be found again, each time: the segments that have it go,
 * and are made anew when the job is tried again. */
static void remove_damaged(const struct vrt_encode_thread *encode_thread)
{
    for (int64_t i = 0; i < encode_thread->n_segments; i++) {
        VRT_CLEANUP(vrt_closep) int fd = vrt_encode_thread_open(encode_thread, i, "seg", O_RDONLY);
        struct vrt_error why = { .id = NULL };
        int64_t n_frames;
        if (fd >= 0 && vrt_child_joiner_check_segment(encode_thread->child, fd, (int)i,
                                                      VRT_JOINER_CHECK_ALL, &n_frames,
                                                      &why) == -EBADMSG)
            vrt_encode_thread_remove(encode_thread, i, "seg");
    }
}

/* Makes the finished file in `fd`, and reads it back. */
static int join(struct vrt_encode_thread *encode_thread, int fd,
                struct vrt_encode_finish *finish)
{
    const struct vrt_files *files = encode_thread->params.files;
    VRT_CLEANUP(vrt_closep) int picture_fd = -1;
    struct vrt_joiner_params params = {
        .segments = { .open = open_segment, .ctx = encode_thread,
                     .n = (int)encode_thread->n_segments },
        .input_fd = files->input_fd,
        .input_name = files->input_name,
        .output_fd = fd,
        .container = encode_thread->params.container,
        .is_part = encode_thread->params.is_part,
        .is_bare = encode_thread->params.is_alpha_pass,
        .streams = encode_thread->params.streams,
        .hdr = encode_thread->params.encoder->format.hdr,
        .size_bytes_max = finish->size_bytes_max,
    };
    struct vrt_joiner_expected expected = {
        .n_frames = finish->n_frames,
        .span_ns = finish->span_ns,
    };
    VRT_CLEANUP(vrt_freep) struct vrt_joiner_result *result = calloc(1, sizeof(*result));
    int r = result ? 0 : vrt_refuse_errno(&finish->base.error, vrt_raise(-ENOMEM), "the output");

    if (r == 0 && files->is_sequence) {
        /* Nothing but pictures: the first has no sound either. */
        params.input_name = files->sequence.names[0];
        r = params.input_fd = picture_fd = vrt_files_open_picture(files, 0, &finish->base.error);
        r = VRT_MIN(r, 0);
    }
    if (r == 0)
        r = vrt_encode_thread_need_child(encode_thread, VRT_HWACCEL_OFF, &finish->base.error);
    if (r == 0)
        r = vrt_child_joiner_run(encode_thread->child, &params, result, &finish->base.error);
    if (r == -EBADMSG)
        remove_damaged(encode_thread);
    if (r != 0)
        return vrt_fold(r);
    r = vrt_encode_thread_check_sizes(encode_thread, &finish->base.error);
    if (r != 0)
        return vrt_fold(r);
    if (expected.span_ns >= 0)
        expected.span_ns += result->late_ns;
    r = vrt_child_joiner_verify(encode_thread->child, fd, &expected, &finish->base.error);
    if (r != 0)
        return vrt_fold(r);
    r = vrt_files_check(files, &finish->base.error);
    if (r != 0)
        return vrt_fold(r);
    if (result->warnings.n > 0) {
        finish->warnings = malloc(sizeof(*finish->warnings));
        if (finish->warnings)
            *finish->warnings = result->warnings;
    }
    return 0;
}

/* Its name says that it is complete, and is given to it when it is. */
static int make_joined(struct vrt_encode_thread *encode_thread, struct vrt_encode_finish *finish)
{
    VRT_CLEANUP(vrt_closep) int fd = -1;
    char name[NAME_BYTES];
    int folder = encode_thread->params.spool_fd;
    int r = check_room(encode_thread, &finish->base.error);

    if (r != 0)
        return vrt_fold(r);
    fd = openat(folder, JOINING, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return vrt_encode_thread_refuse(vrt_raise(-errno), &finish->base.error);
    r = join(encode_thread, fd, finish);
    joined_name(encode_thread, name);
    if (r == 0 && renameat(folder, JOINING, folder, name) < 0)
        r = vrt_encode_thread_refuse(vrt_raise(-errno), &finish->base.error);
    if (r == 0)
        r = vrt_encode_thread_sync(folder, &finish->base.error);
    encode_thread->is_joined = r == 0;
    if (r != 0 && unlinkat(folder, JOINING, 0) < 0 && errno != ENOENT)
        vrt_log_warning("job %s: %s stays in the spool folder: %s, ignoring",
                        encode_thread->params.job_id, JOINING, strerror(errno));
    return vrt_fold(r);
}

/* Says why there are no figures: without memory for that only the log does. */
static void warn_uncompared(const struct vrt_encode_thread *encode_thread,
                            struct vrt_encode_finish *finish, const struct vrt_error *why)
{
    vrt_log_warning("job %s: the result is not compared: %s", encode_thread->params.job_id,
                    why->message);
    if (!finish->warnings)
        finish->warnings = calloc(1, sizeof(*finish->warnings));
    if (finish->warnings)
        vrt_warnings_add(finish->warnings, "the result is not compared with its reference: %s",
                         why->message);
}

/* Who looks at the job sees how far that is: of a film it takes long. */
static int note_compared(void *ctx, const struct vrt_compared *frame, struct vrt_error *error)
{
    const struct vrt_encode_thread *encode_thread = ctx;

    (void)frame;
    (void)error;
    atomic_fetch_add(encode_thread->params.compared, 1);
    return 0;
}

/* Compares the finished file with the reference: a restart does so again. Before anything is in the
 * output, so that a job that is cancelled meanwhile leaves it as it was. Nothing but that ends it:
 * the result is good, whatever the reference is. Return: 0; -ECANCELED. */
static int compare(struct vrt_encode_thread *encode_thread, int fd,
                   struct vrt_encode_finish *finish)
{
    const struct vrt_files *files = encode_thread->params.files;
    const struct vrt_comparison comparison = {
        .videos = { .fds = { fd, files->reference_fd },
                    .names = { files->output_name, files->reference_name } },
        .cancel = encode_thread->params.cancel,
        .compared = note_compared,
        .ctx = encode_thread,
    };
    struct vrt_error why = { .id = NULL };
    char shown[64];
    int r;

    if (!files->reference_name)
        return 0;
    if (files->reference_fd < 0)
        r = vrt_refuse(&why, vrt_raise(-ENOENT), "job.input", "%s can't be opened any more",
                       vrt_printable(files->reference_name, shown, sizeof(shown)));
    else
        r = vrt_comparison_run(&comparison, &finish->compared_size, &finish->means, &why);
    if (r == -ECANCELED)
        return vrt_fold(r);
    if (r < 0) {
        r = vrt_refuse_errno(&why, r, "comparing");
        warn_uncompared(encode_thread, finish, &why);
    }
    finish->is_compared = r == 0;
    return 0;
}

static int make_pictures(struct vrt_encode_thread *encode_thread, struct vrt_encode_finish *finish)
{
    VRT_CLEANUP(vrt_freep) struct vrt_warnings *warnings = calloc(1, sizeof(*warnings));

    if (!warnings)
        return vrt_refuse_errno(&finish->base.error, vrt_raise(-ENOMEM), "the output");
    int r = vrt_encode_thread_write_pictures(encode_thread, finish->n_frames, warnings,
                                             &finish->base.error);
    if (r < 0)
        return vrt_fold(r);
    if (warnings->n > 0)
        finish->warnings = VRT_STEAL(warnings);
    return 0;
}

int vrt_encode_thread_finish(struct vrt_media_thread *base, struct vrt_media_task *task)
{
    struct vrt_encode_thread *encode_thread =
        vrt_container_of(base, struct vrt_encode_thread, base);
    const struct vrt_files *files = encode_thread->params.files;
    struct vrt_output_copy copy = {
        .from_fd = -1,
        .to_fd = files->output_fd,
        .to_name = files->output_name,
        .cancel = encode_thread->params.cancel,
    };
    int r = vrt_files_check(files, &task->error);

    if (r != 0)
        return vrt_fold(r);
    if (files->output_is_folder)
        return vrt_fold(make_pictures(encode_thread,
                                      vrt_container_of(task, struct vrt_encode_finish, base)));
    if (!encode_thread->is_joined)
        r = make_joined(encode_thread, vrt_container_of(task, struct vrt_encode_finish, base));
    if (r != 0 || encode_thread->params.is_alpha_pass)
        return vrt_fold(r);
    VRT_CLEANUP(vrt_closep) int fd = open_joined(encode_thread);
    if (fd < 0)
        return vrt_refuse_errno(&task->error, vrt_raise(fd), "the finished file");
    r = compare(encode_thread, fd, vrt_container_of(task, struct vrt_encode_finish, base));
    if (r != 0)
        return vrt_fold(r);
    copy.from_fd = fd;
    return vrt_fold(vrt_output_copy(&copy, &task->error));
}
