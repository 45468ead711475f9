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

#include "tests/unit/test.h"
#include "workers/media/files/files.h"

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

static void write_over(int fd, struct vrt_files *files)
{
    (void)files;
    expect_int(pwrite(fd, "VIDEO", 5, 0), 5);
}

static void append(int fd, struct vrt_files *files)
{
    (void)files;
    expect_int(pwrite(fd, "more", 4, 5), 4);
}

static void cut(int fd, struct vrt_files *files)
{
    (void)files;
    expect_int(ftruncate(fd, 2), 0);
}

static void leave(int fd, struct vrt_files *files)
{
    (void)fd;
    (void)files;
}

static void rename_both(int fd, struct vrt_files *files)
{
    char from[128];

    (void)fd;
    (void)files;
    snprintf(from, sizeof(from), "%s", path_of("in.mp4"));
    expect_int(rename(from, path_of("in2.mp4")), 0);
    snprintf(from, sizeof(from), "%s", path_of("out.mp4"));
    expect_int(rename(from, path_of("out2.mp4")), 0);
}

static void change_mode(int fd, struct vrt_files *files)
{
    (void)files;
    expect_int(fchmod(fd, 0400), 0);
}

static void delete_input(int fd, struct vrt_files *files)
{
    (void)fd;
    (void)files;
    expect_int(unlink(path_of("in.mp4")), 0);
}

static void delete_output(int fd, struct vrt_files *files)
{
    (void)fd;
    (void)files;
    expect_int(unlink(path_of("out.mp4")), 0);
}

static void fill_output(int fd, struct vrt_files *files)
{
    (void)fd;
    expect_int(write(files->output_fd, "result", 6), 6);
}

static void test_changes(void)
{
    static const struct {
        const char *what;
        void (*change)(int fd, struct vrt_files *files);
        const char *id;             /* NULL: not a change */
    } cases[] = {
        { "nothing", leave, NULL },
        { "write over", write_over, "input.changed" },
        { "append", append, "input.changed" },
        { "cut", cut, "input.changed" },
        { "rename both", rename_both, NULL },
        { "change the mode", change_mode, NULL },
        { "delete the input", delete_input, NULL },
        { "delete the output", delete_output, "job.output" },
        { "write the output", fill_output, NULL },
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
        fprintf(stderr, "  %s\n", cases[i].what);
        expect_int(futimens(files.input_fd, times), 0);
        expect_int(vrt_files_note(&files, &error), 0);
        cases[i].change(files.input_fd, &files);
        expect_int(vrt_files_check(&files, &error), cases[i].id ? -ESTALE : 0);
        if (cases[i].id)
            expect_str(error.id, cases[i].id);
        close(files.input_fd);
        close(files.output_fd);
    }
}

/* Who passes a file without a name will give it one. */
static void test_output_without_a_name(void)
{
    struct vrt_error error = { 0 };
    struct vrt_files files = {
        .input_fd = make("in.mp4", "video"),
        .output_fd = make("out.mp4", ""),
        .input_name = "in.mp4",
        .output_name = "out.mp4",
    };

    expect_int(unlink(path_of("out.mp4")), 0);
    expect_int(vrt_files_note(&files, &error), 0);
    expect_int(vrt_files_check(&files, &error), 0);
    close(files.input_fd);
    close(files.output_fd);
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
    expect_int(files.sequence.n, 3);
    /* Nothing of the video. */
    close(make("notes.txt", "more"));
    expect_int(unlink(path_of("notes.txt")), 0);
    expect_int(vrt_files_check(&files, &error), 0);
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
    for (size_t i = 0; i < VRT_ARRAY_SIZE(names); i++) {
        close(pictures[i]);
        unlink(path_of(names[i]));
    }
    close(files.input_fd);
    close(files.output_fd);
}

/* Return: what noting this pair of files says. */
static const char *refusal_of(int input_fd, int output_fd)
{
    static struct vrt_error error;
    struct vrt_files files = {
        .input_fd = input_fd,
        .output_fd = output_fd,
        .input_name = "in.mp4",
        .output_name = "out.mp4",
    };

    error = (struct vrt_error){ 0 };
    expect_true(vrt_files_note(&files, &error) < 0);
    expect_true(error.message[0]);
    return error.id;
}

static void test_refusals(void)
{
    int in = make("in.mp4", "video"), out = make("out.mp4", "");
    int again = open(path_of("in.mp4"), O_RDWR | O_CLOEXEC);
    int write_only = open(path_of("out.mp4"), O_WRONLY | O_CLOEXEC);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int folder_fd = open(folder, O_RDONLY | O_CLOEXEC);
    int pipes[2];

    expect_int(pipe(pipes), 0);
    expect_str(refusal_of(in, again), "job.same_file");
    expect_str(refusal_of(pipes[0], out), "input.not_regular");
    expect_str(refusal_of(null, out), "input.not_regular");
    expect_str(refusal_of(folder_fd, out), "input.not_regular");
    /* What has no kind at all, and blocks whoever reads it. */
    int counter = eventfd(0, EFD_CLOEXEC), poll = epoll_create1(EPOLL_CLOEXEC);
    expect_str(refusal_of(counter, out), "input.not_regular");
    expect_str(refusal_of(poll, out), "input.not_regular");
    close(counter);
    close(poll);
    expect_str(refusal_of(write_only, out), "request.descriptors");
    expect_str(refusal_of(in, null), "job.output");
    expect_str(refusal_of(in, pipes[1]), "job.output");
    expect_str(refusal_of(in, write_only), "job.output");
    const int fds[] = { in, out, again, write_only, null, folder_fd, pipes[0], pipes[1] };
    for (size_t i = 0; i < VRT_ARRAY_SIZE(fds); i++)
        close(fds[i]);
}

static void clean_up(void)
{
    static const char *const names[] = { "in.mp4", "out.mp4", "in2.mp4", "out2.mp4" };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(names); i++)
        unlink(path_of(names[i]));
    rmdir(folder);
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        { "changes", test_changes },
        { "output without a name", test_output_without_a_name },
        { "pictures", test_pictures },
        { "refusals", test_refusals },
    };

    if (!mkdtemp(folder))
        return 1;
    atexit(clean_up);
    return test_main(argc, argv, cases, VRT_ARRAY_SIZE(cases));
}
