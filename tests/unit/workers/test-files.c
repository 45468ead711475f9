/* SPDX-License-Identifier: MIT */

/* What counts as a change of a job's files, and which files cannot be used at all. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/unit/test.h"
#include "workers/media/files/files.h"
#include "workers/media/files/fingerprint.h"

static char folder[] = "/tmp/vrt-files-XXXXXX";

static const char *path_of(const char *name)
{
    static char path[128];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

/* A file that holds `text`, open. */
static int make(const char *name, const char *text)
{
    int fd = open(path_of(name), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    expect_true(fd >= 0);
    expect_int(write(fd, text, strlen(text)), (long long)strlen(text));
    return fd;
}

static void shell(const char *command)
{
    char line[160];

    snprintf(line, sizeof(line), "cd %s && %s", folder, command);
    expect_int(system(line), 0);
}

static void test_changes(void)
{
    static const struct {
        const char *command;
        const char *id;             /* NULL: not a change */
        const char *before;         /* NULL: nothing */
    } cases[] = {
        { "true", NULL },
        { "printf VIDEO 1<> in.mp4", "input.changed" },
        { "printf more >> in.mp4", "input.changed" },
        { "truncate -s 2 in.mp4", "input.changed" },
        { "touch -d @1000 in.mp4", NULL },
        { "touch -d @1001 in.mp4", "input.changed" },
        { "touch -d @1000.5 in.mp4", "input.changed" },
        { "mv in.mp4 in2.mp4 && mv out.mp4 out2.mp4", NULL },
        { "chmod 400 in.mp4", NULL },
        { "rm in.mp4", NULL },
        { "rm out.mp4", "job.output" },
        { "printf result > out.mp4", NULL },
        /* Who passes a file without a name will give it one. */
        { "true", NULL, "rm out.mp4" },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct vrt_error error = { 0 };
        struct vrt_files files = {
            .input_fd = make("in.mp4", "video"),
            .output_fd = make("out.mp4", ""),
            .input_name = "in.mp4",
            .output_name = "out.mp4",
        };
        /* Long ago, so that a clock of coarse ticks shows a change. */
        const struct timespec times[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
        fprintf(stderr, "  %s\n", cases[i].command);
        expect_int(futimens(files.input_fd, times), 0);
        if (cases[i].before)
            shell(cases[i].before);
        expect_int(vrt_files_note(&files, &error), 0);
        shell(cases[i].command);
        expect_int(vrt_files_check(&files, &error), cases[i].id ? -ESTALE : 0);
        if (cases[i].id)
            expect_str(error.id, cases[i].id);
        close(files.input_fd);
        close(files.output_fd);
    }
}

static int open_plainly(void *ctx, int folder_fd, const char *name, struct vrt_error *error)
{
    int fd = openat(folder_fd, name, O_RDONLY | O_CLOEXEC);

    (void)ctx;
    return fd >= 0 ? fd : vrt_refuse_errno(error, -errno, name);
}

/* Of a folder only its pictures count, each as it is opened. */
static void test_pictures(void)
{
    struct vrt_error error = { 0 };
    const struct timespec times[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
    static const char *const names[] = { "1.png", "2.png", "3.png" };
    int pictures[VRT_ARRAY_SIZE(names)];

    for (size_t i = 0; i < VRT_ARRAY_SIZE(names); i++) {
        pictures[i] = make(names[i], "picture");
        expect_int(futimens(pictures[i], times), 0);
    }
    struct vrt_files files = {
        .input_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
        .output_fd = make("out.mp4", ""),
        .input_name = "folder",
        .output_name = "out.mp4",
        .access = { .open = open_plainly },
    };
    expect_int(vrt_files_note(&files, &error), 0);
    expect_true(files.is_sequence && files.sequence.n == 3 && !files.output_is_folder);
    /* Nothing of the video. */
    close(make("notes.txt", "more"));
    expect_int(unlink(path_of("notes.txt")), 0);
    expect_int(vrt_files_check(&files, &error), 0);
    /* What nobody sees by size or time has another fingerprint. */
    struct vrt_fingerprint fingerprint;
    expect_int(vrt_fingerprint_settle(&files, false, &fingerprint, &error), 0);
    expect_int(fingerprint.size_bytes, 3 * 7);
    expect_int(vrt_fingerprint_settle(&files, true, &fingerprint, &error), 0);
    expect_int(pwrite(pictures[2], "E", 1, 6), 1);
    expect_int(futimens(pictures[2], times), 0);
    expect_int(vrt_fingerprint_settle(&files, true, &fingerprint, &error), -ESTALE);
    expect_str(error.id, "input.other");
    error = (struct vrt_error){ 0 };
    expect_int(pwrite(pictures[1], "P", 1, 0), 1);
    expect_int(unlink(path_of("3.png")), 0);
    int fd = vrt_files_open_picture(&files, 0, &error);
    expect_true(fd >= 0);
    close(fd);
    expect_int(vrt_files_open_picture(&files, 1, &error), -ESTALE);
    expect_str(error.id, "input.changed");
    expect_contains(error.message, "2.png was changed");
    expect_int(vrt_files_open_picture(&files, 2, &error), -ENOENT);
    error = (struct vrt_error){ 0 };
    expect_int(ftruncate(pictures[1], 0), 0);
    expect_int(vrt_files_note(&files, &error), -ENODATA);
    expect_contains(error.message, "2.png is empty");
    vrt_files_done(&files);
    vrt_files_done(&files);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(names); i++) {
        close(pictures[i]);
        unlink(path_of(names[i]));
    }
    close(files.input_fd);
    close(files.output_fd);
}

static void test_refusals(void)
{
    VRT_CLEANUP(vrt_closep) int in = make("in.mp4", "video"), out = make("out.mp4", "");
    VRT_CLEANUP(vrt_closep) int again = open(path_of("in.mp4"), O_RDWR | O_CLOEXEC);
    VRT_CLEANUP(vrt_closep) int write_only = open(path_of("out.mp4"), O_WRONLY | O_CLOEXEC);
    VRT_CLEANUP(vrt_closep) int append = open(path_of("out.mp4"), O_RDWR | O_APPEND | O_CLOEXEC);
    VRT_CLEANUP(vrt_closep) int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    VRT_CLEANUP(vrt_closep) int folder_fd = open(folder, O_RDONLY | O_CLOEXEC);
    /* What has no kind at all, and blocks whoever reads it. */
    VRT_CLEANUP(vrt_closep) int counter = eventfd(0, EFD_CLOEXEC);
    VRT_CLEANUP(vrt_closep) int poll = epoll_create1(EPOLL_CLOEXEC);
    int pipes[2];

    expect_int(pipe(pipes), 0);
    const struct {
        int in, out;
        const char *id, *says;
    } rows[] = {
        { in, again, "job.same_file", "the output is the input's own file" },
        { pipes[0], out, "input.not_regular", "in.mp4 is neither a file nor a pipe" },
        { null, out, "input.not_regular", "in.mp4 is neither a file nor a pipe" },
        { folder_fd, out, "input.not_regular", "in.mp4 is a folder: give a video file" },
        { counter, out, "input.not_regular", "in.mp4 is no file at all" },
        { poll, out, "input.not_regular", "in.mp4 is no file at all" },
        { write_only, out, "request.descriptors", "in.mp4 must be open for reading" },
        { in, null, "job.output", "out.mp4 is no regular file" },
        { in, folder_fd, "job.output", "out.mp4 is no regular file" },
        { in, pipes[1], "job.output", "out.mp4 is no regular file" },
        { in, write_only, "job.output", "out.mp4 must be open for reading and writing" },
        { in, append, "job.output", "out.mp4 must not be open for appending" },
    };
    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        struct vrt_error error = { .id = NULL };
        struct vrt_files files = {
            .input_fd = rows[i].in, .output_fd = rows[i].out,
            .input_name = "in.mp4", .output_name = "out.mp4",
        };
        expect_true(vrt_files_note(&files, &error) < 0);
        expect_str(error.id, rows[i].id);
        expect_contains(error.message, rows[i].says);
    }
    close(pipes[0]);
    close(pipes[1]);
}

static void clean_up(void)
{
    static const char *const names[] = { "in.mp4", "out.mp4", "in2.mp4", "out2.mp4" };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(names); i++)
        unlink(path_of(names[i]));
    rmdir(folder);
}

static void set_up(void)
{
    expect_true(mkdtemp(folder) != NULL);
    atexit(clean_up);
}

TEST_MAIN_AFTER(set_up(),
    { "changes", test_changes },   { "pictures", test_pictures },
    { "refusals", test_refusals },
)
