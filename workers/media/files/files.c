/* SPDX-License-Identifier: MIT */

/*
 * A file counts as changed by its size and the time of its last writing: who only renames it, or
 * changes its mode, disturbs nobody. What was deleted has no name left, but whoever passes a file
 * that never had one (O_TMPFILE) will give it a name when it is complete.
 */

#include "workers/media/files/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macro.h"

#define SHOWN_BYTES 160

static int look(const struct vrt_files *files, struct stat *ret_in, struct stat *ret_out,
                struct vrt_error *error)
{
    if (fstat(files->input_fd, ret_in) < 0 ||
        (files->output_fd >= 0 && fstat(files->output_fd, ret_out) < 0))
        return vrt_refuse_errno(error, vrt_raise(-errno), "the job's files");
    return 0;
}

/* Whether a result can be written to, and read back from, what was handed over for it. */
static int check_output(const struct vrt_files *files, const struct stat *in,
                        const struct stat *out, struct vrt_error *error)
{
    char shown[SHOWN_BYTES];
    int flags = fcntl(files->output_fd, F_GETFL);

    if (in->st_dev == out->st_dev && in->st_ino == out->st_ino)
        return vrt_refuse(error, -EINVAL, "job.same_file",
                          "the output is the input's own file: name another one");
    if (S_ISDIR(out->st_mode) && files->access.open)
        return vrt_fold(files->access.check_writable(files->access.ctx, files->output_fd,
                                                      files->output_name, error));
    if (!S_ISREG(out->st_mode))
        return vrt_refuse(error, -EINVAL, "job.output", "%s is no regular file",
                          vrt_printable(files->output_name, shown, sizeof(shown)));
    if (flags < 0 || (flags & O_ACCMODE) != O_RDWR)
        return vrt_refuse(error, -EBADF, "job.output",
                          "%s must be open for reading and writing: the result is read back",
                          vrt_printable(files->output_name, shown, sizeof(shown)));
    if (flags & O_APPEND)
        return vrt_refuse(error, -EINVAL, "job.output",
                          "%s must not be open for appending: its beginning is written last",
                          vrt_printable(files->output_name, shown, sizeof(shown)));
    return 0;
}

/* Who may only write to a file, or only name it, proves with his descriptor no right to read it. */
static int check_access(const struct vrt_files *files, struct vrt_error *error)
{
    char shown[SHOWN_BYTES], byte;

    if (pread(files->input_fd, &byte, 1, 0) >= 0 || errno != EBADF)
        return 0;
    return vrt_refuse(error, vrt_raise(-EBADF), "request.descriptors",
                      "%s must be open for reading",
                      vrt_printable(files->input_name, shown, sizeof(shown)));
}

static struct vrt_file_stamp stamp_of(const struct stat *st)
{
    return (struct vrt_file_stamp){ st->st_size, st->st_mtim };
}

static bool is_same(const struct vrt_file_stamp *a, const struct vrt_file_stamp *b)
{
    return a->size_bytes == b->size_bytes && a->modified.tv_sec == b->modified.tv_sec &&
           a->modified.tv_nsec == b->modified.tv_nsec;
}

static int refuse_changed(const char *name, struct vrt_error *error)
{
    char shown[SHOWN_BYTES];

    return vrt_refuse(error, vrt_raise(-ESTALE), "input.changed",
                      "%s was changed after the job was submitted: submit it again, and leave "
                      "it alone until that job is done", vrt_printable(name, shown, sizeof(shown)));
}

/* Opens picture `k`. Return: a descriptor, and what it is; -errno with a sentence. */
static int open_picture(const struct vrt_files *files, size_t k, struct vrt_file_stamp *ret_stamp,
                        struct vrt_error *error)
{
    const char *name = files->sequence.names[k];
    VRT_CLEANUP(vrt_closep) int fd = files->access.open(files->access.ctx, files->input_fd, name,
                                                        error);
    struct stat st;

    if (fd < 0)
        return vrt_fold(fd);
    if (fstat(fd, &st) < 0)
        return vrt_refuse_errno(error, vrt_raise(-errno), name);
    *ret_stamp = stamp_of(&st);
    return VRT_STEAL_FD(fd);
}

static int note_pictures(struct vrt_files *files, struct vrt_error *error)
{
    char shown[SHOWN_BYTES];
    int r = vrt_sequence_list(files->input_fd, files->input_name,
                              files->pattern ? files->pattern : "", &files->sequence, error);

    if (r < 0)
        return vrt_fold(r);
    files->pictures = calloc(files->sequence.n, sizeof(*files->pictures));
    if (!files->pictures)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), files->input_name);
    for (size_t k = 0; k < files->sequence.n; k++) {
        VRT_CLEANUP(vrt_closep) int fd = open_picture(files, k, &files->pictures[k], error);
        if (fd < 0)
            return vrt_fold(fd);
        if (files->pictures[k].size_bytes == 0)
            return vrt_refuse(error, vrt_raise(-ENODATA), "input.empty",
                              "%s is empty: it holds no picture",
                              vrt_printable(files->sequence.names[k], shown, sizeof(shown)));
    }
    return 0;
}

int vrt_files_note(struct vrt_files *files, struct vrt_error *error)
{
    bool has_output = files->output_fd >= 0;
    char shown[SHOWN_BYTES];
    struct stat in, out = { .st_nlink = 0 };
    int r = look(files, &in, &out, error);

    if (r < 0)
        return vrt_fold(r);
    r = check_access(files, error);
    if (r < 0)
        return vrt_fold(r);
    const bool is_sequence = S_ISDIR(in.st_mode) && files->access.open;
    if ((S_ISDIR(in.st_mode) && !is_sequence) || S_ISBLK(in.st_mode))
        return vrt_refuse(error, vrt_raise(-EINVAL), "input.not_regular",
                          "%s is a %s: give a video file",
                          vrt_printable(files->input_name, shown, sizeof(shown)),
                          S_ISDIR(in.st_mode) ? "folder" : "disk");
    if (S_ISFIFO(in.st_mode) || S_ISCHR(in.st_mode) || S_ISSOCK(in.st_mode))
        return vrt_refuse(error, -ESPIPE, "input.not_regular",
                          "%s is neither a file nor a pipe: give a video file, or have a program "
                          "write it into vrtctl submit -",
                          vrt_printable(files->input_name, shown, sizeof(shown)));
    if (!S_ISREG(in.st_mode) && !is_sequence)
        return vrt_refuse(error, vrt_raise(-EINVAL), "input.not_regular", "%s is no file at all: "
                          "give a video file",
                          vrt_printable(files->input_name, shown, sizeof(shown)));
    r = has_output ? check_output(files, &in, &out, error) : 0;
    if (r < 0)
        return r;
    files->input = stamp_of(&in);
    files->output_has_name = out.st_nlink > 0;
    files->output_is_folder = has_output && S_ISDIR(out.st_mode);
    files->is_sequence = is_sequence;
    vrt_files_done(files);
    return is_sequence ? vrt_fold(note_pictures(files, error)) : 0;
}

void vrt_files_done(struct vrt_files *files)
{
    vrt_sequence_done(&files->sequence);
    free(files->pictures);
    files->pictures = NULL;
}

int vrt_files_check(const struct vrt_files *files, struct vrt_error *error)
{
    char shown[SHOWN_BYTES];
    struct stat in, out;
    int r = look(files, &in, &out, error);

    if (r < 0)
        return vrt_fold(r);
    const struct vrt_file_stamp input = stamp_of(&in);
    if (!files->is_sequence && !files->is_piped && !is_same(&input, &files->input))
        return vrt_fold(refuse_changed(files->input_name, error));
    if (files->output_has_name && out.st_nlink == 0)
        return vrt_refuse(error, vrt_raise(-ESTALE), "job.output",
                          "%s was deleted before the job was done, and the result with it",
                          vrt_printable(files->output_name, shown, sizeof(shown)));
    return 0;
}

int vrt_files_open_picture(const struct vrt_files *files, size_t k, struct vrt_error *error)
{
    struct vrt_file_stamp stamp;
    VRT_CLEANUP(vrt_closep) int fd = open_picture(files, k, &stamp, error);

    if (fd < 0)
        return vrt_fold(fd);
    if (!is_same(&stamp, &files->pictures[k]))
        return vrt_fold(refuse_changed(files->sequence.names[k], error));
    return VRT_STEAL_FD(fd);
}
