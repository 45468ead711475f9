/* SPDX-License-Identifier: MIT */

/*
 * The end of a job whose output is a folder. Each picture is complete and on the disk before it
 * gets its name; one that was written aside when the daemon was ended is written again, to the same
 * bytes. Nothing in the folder is touched before all pictures are restored, and what somebody put
 * into it meanwhile stays.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "workers/media/encode-thread-impl.h"

#define VRT_LOG_TOPIC "encode"

#define COMPARED_BYTES 32768        /* at a time */
#define ASIDE_BYTES (VRT_SEQUENCE_NAME_BYTES + 8)

/* One picture on its way. */
struct writing {
    struct vrt_encode_thread *encode_thread;
    int segment_fd;
    int64_t index;                  /* in the segment */
    int64_t k;                      /* of all */
    struct vrt_warnings *warnings;
    struct vrt_error *error;
};

/* Says why `file` of the folder, or "" the folder, can't be written. */
static int refuse_folder(const struct writing *writing, const char *file, int r)
{
    const char *name = writing->encode_thread->params.files->output_name;
    char shown[160], path[160 + ASIDE_BYTES];

    if (vrt_is_disk_full(r))
        return vrt_refuse(writing->error, r, "output.full",
                          "the disk of %s is full: free some space and try again",
                          vrt_printable(name, shown, sizeof(shown)));
    snprintf(path, sizeof(path), "%.150s%s%s", name, file[0] ? "/" : "", file);
    vrt_printable(path, shown, sizeof(shown));
    return vrt_refuse(writing->error, r, "output.write", "%s cannot be written: %s", shown,
                      strerror(-r));
}

/* Has the picture written. Of one that is damaged nothing is kept beside what is seen of it; strict
 * jobs don't get so far. */
static int make(const struct writing *writing, struct vrt_joiner_picture *picture)
{
    struct vrt_encode_thread *encode_thread = writing->encode_thread;
    int64_t size_bytes;
    int r = vrt_child_joiner_picture(encode_thread->child, picture, &size_bytes,
                                     writing->warnings, writing->error);

    if (r != -EBADMSG || picture->original_fd < 0 ||
        vrt_error_is(writing->error, "segment.damaged"))
        return vrt_fold(r);
    vrt_warnings_add(writing->warnings, "what else the files of damaged pictures hold (EXIF, a "
                     "colour profile, transparency) is left out");
    *writing->error = (struct vrt_error){ .id = NULL };
    picture->original_fd = -1;
    return vrt_fold(vrt_child_joiner_picture(encode_thread->child, picture, &size_bytes,
                                             writing->warnings, writing->error));
}

/* Has the picture `name` written to `fd`, and looks at it. */
static int fill(const struct writing *writing, const char *name, int fd)
{
    struct vrt_encode_thread *encode_thread = writing->encode_thread;
    const struct vrt_files *files = encode_thread->params.files;
    VRT_CLEANUP(vrt_closep) int original_fd = -1;
    const struct vrt_joiner_expected expected = { .n_frames = 1, .span_ns = -1 };
    struct vrt_joiner_picture picture = {
        .segment_fd = writing->segment_fd,
        .index = writing->index,
        .container = encode_thread->params.container,
        .original_fd = -1,
        .output_fd = fd,
    };

    if (files->is_sequence) {
        const int64_t from = writing->k / encode_thread->params.times;
        picture.original_name = files->sequence.names[from];
        original_fd = vrt_files_open_picture(files, (size_t)from, writing->error);
        if (original_fd < 0)
            return vrt_fold(original_fd);
        picture.original_fd = original_fd;
    }
    int r = make(writing, &picture);
    if (r < 0 && vrt_error_is(writing->error, "spool.full")) {
        /* It takes every disk for that of the working files. */
        *writing->error = (struct vrt_error){ .id = NULL };
        return refuse_folder(writing, name, r);
    }
    if (r < 0)
        return vrt_fold(r);
    return vrt_fold(vrt_child_joiner_verify(encode_thread->child, fd, &expected, writing->error));
}

/* Whether both files hold the same. Return: 0, 1; -errno. */
static int is_same(int fd, int other_fd)
{
    char bytes[2][COMPARED_BYTES];

    for (off_t at = 0;; at += COMPARED_BYTES) {
        const ssize_t n = pread(fd, bytes[0], COMPARED_BYTES, at);
        const ssize_t n_other = pread(other_fd, bytes[1], COMPARED_BYTES, at);
        if (n < 0 || n_other < 0)
            return vrt_raise(-errno);
        if (n != n_other || memcmp(bytes[0], bytes[1], (size_t)n) != 0)
            return 0;
        if (n == 0)
            return 1;
    }
}

/* A file is called `name` already. What this job wrote before a restart is the same as what it
 * wrote now, in `fd`; anything else is somebody's. Return: 0: it is the same; -EEXIST; -errno. */
static int check_there(const struct writing *writing, const char *name, int fd)
{
    const struct vrt_files *files = writing->encode_thread->params.files;
    char shown[160];
    VRT_CLEANUP(vrt_closep) int there_fd = files->access.open(files->access.ctx, files->output_fd,
                                                              name, writing->error);

    if (there_fd >= 0 && is_same(fd, there_fd) == 1)
        return 0;
    *writing->error = (struct vrt_error){ .id = NULL };
    return vrt_refuse(writing->error, vrt_raise(-EEXIST), "output.write",
                      "%s came into the folder of the results meanwhile, and is none of this "
                      "job's: move it away and retry the job, or retry it with --overwrite",
                      vrt_printable(name, shown, sizeof(shown)));
}

/*
 * Gives the picture in `fd`, which is called `aside`, its name, which replaces another file only
 * where that may be. A link is made only where there is nothing; file systems that know none are
 * looked at before, which leaves a moment between.
 */
static int give_name(const struct writing *writing, const char *aside, const char *name, int fd)
{
    const struct vrt_files *files = writing->encode_thread->params.files;
    const int folder_fd = files->output_fd;
    bool is_there = false;

    if (!files->may_replace) {
        if (linkat(folder_fd, aside, folder_fd, name, 0) == 0)
            return unlinkat(folder_fd, aside, 0) < 0 ?
                   refuse_folder(writing, aside, vrt_raise(-errno)) : 0;
        is_there = errno == EEXIST || faccessat(folder_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    }
    if (is_there) {
        int r = check_there(writing, name, fd);
        if (r < 0)
            return r;
    }
    return renameat(folder_fd, aside, folder_fd, name) < 0 ?
           refuse_folder(writing, name, vrt_raise(-errno)) : 0;
}

static int write_picture(const struct writing *writing)
{
    struct vrt_encode_thread *encode_thread = writing->encode_thread;
    const struct vrt_files *files = encode_thread->params.files;
    char name[VRT_SEQUENCE_NAME_BYTES], aside[ASIDE_BYTES];

    /* Those that are made between have no names: all are numbered. */
    const bool has_names = files->is_sequence && encode_thread->params.times == 1;
    vrt_sequence_result_name(has_names ? &files->sequence : NULL, writing->k,
                             encode_thread->params.container, name);
    snprintf(aside, sizeof(aside), ".%s.part", name);
    if (unlinkat(files->output_fd, aside, 0) < 0 && errno != ENOENT)
        return refuse_folder(writing, aside, vrt_raise(-errno));
    VRT_CLEANUP(vrt_closep) int fd = files->access.create(files->access.ctx, files->output_fd,
                                                           aside, writing->error);
    if (fd < 0)
        return vrt_fold(fd);
    int r = fill(writing, name, fd);
    if (r == 0)
        r = give_name(writing, aside, name, fd);
    if (r < 0 && unlinkat(files->output_fd, aside, 0) < 0)
        vrt_log_warning("job %s: %s stays in the output: %s, ignoring",
                        encode_thread->params.job_id, aside, strerror(errno));
    return vrt_fold(r);
}

/* The pictures of segment `number`, which follow the first *k of all. */
static int write_segment(struct writing *writing, int64_t number)
{
    struct vrt_encode_thread *encode_thread = writing->encode_thread;
    int64_t n_frames = 0;
    VRT_CLEANUP(vrt_closep) int fd = vrt_encode_thread_open(encode_thread, number, "seg",
                                                            O_RDONLY);

    if (fd < 0)
        return vrt_encode_thread_refuse(vrt_raise(fd), writing->error);
    int r = vrt_child_joiner_check_segment(encode_thread->child, fd, (int)number,
                                           VRT_JOINER_CHECK_ENDS, &n_frames, writing->error);
    if (r < 0)
        return vrt_fold(r);
    writing->segment_fd = fd;
    for (writing->index = 0; r == 0 && writing->index < n_frames; writing->index++, writing->k++) {
        if (encode_thread->params.files->is_sequence &&
            writing->k / encode_thread->params.times >=
                (int64_t)encode_thread->params.files->sequence.n)
            return vrt_raise(-EBADMSG);
        r = write_picture(writing);
    }
    return vrt_fold(r);
}

int vrt_encode_thread_write_pictures(struct vrt_encode_thread *encode_thread, int64_t n_frames,
                                     struct vrt_warnings *warnings, struct vrt_error *error)
{
    const struct vrt_files *files = encode_thread->params.files;
    struct writing writing = {
        .encode_thread = encode_thread,
        .warnings = warnings,
        .error = error,
    };
    int r = vrt_encode_thread_need_child(encode_thread, VRT_HWACCEL_OFF, error);

    for (int64_t i = 0; r == 0 && i < encode_thread->n_segments; i++)
        r = write_segment(&writing, i);
    if (r < 0)
        return vrt_refuse_errno(error, vrt_fold(r), "the output");
    if (writing.k != n_frames)
        return vrt_refuse(error, vrt_raise(-EBADMSG), "output.verify",
                          "the folder holds %lld pictures where %lld were restored: run the job "
                          "again", (long long)writing.k, (long long)n_frames);
    if (fsync(files->output_fd) < 0 && errno != EINVAL && errno != ENOTSUP)
        return refuse_folder(&writing, "", vrt_raise(-errno));
    return vrt_fold(vrt_files_check(files, error));
}
