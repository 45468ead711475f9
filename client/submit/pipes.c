/* SPDX-License-Identifier: MIT */

#include "client/submit/pipes.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macro.h"

#define CHUNK_BYTES ((size_t)1 << 20)

/* Where files are for a while that may be large: /tmp may be memory. */
#define FOLDER_DEFAULT "/var/tmp"

bool vrt_pipes_is_one(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

static int check_usage(const struct vrt_pipes *pipes, const struct vrt_cli *cli)
{
    const struct vrt_args *args = &cli->args;

    if (args->output_format != VRT_UNKNOWN && !pipes->has_output)
        return vrt_cli_misused(cli, "--output-format is for --output -: a file's ending says what "
                               "it is");
    if (!pipes->has_input && !pipes->has_output)
        return VRT_EXIT_OK;
    if (args->n_operands > 1)
        return vrt_cli_misused(cli, "a pipe holds one video: submit one input at a time");
    if (pipes->has_input && !args->output)
        return vrt_cli_misused(cli, "standard input has no name that the result could have: name "
                               "it, --output FILE, or --output - for standard output");
    if (args->preview)
        return vrt_cli_misused(cli, "--preview reads both videos again, and a pipe is read once: "
                               "name files");
    return VRT_EXIT_OK;
}

static int complain(const struct vrt_cli *cli, const char *sentence)
{
    struct vrt_error error = { 0 };

    vrt_refuse(&error, -EINVAL, "client.pipe", "%s", sentence);
    vrt_cli_complain(cli, NULL, &error);
    return VRT_EXIT_FAILED;
}

/* From now on what is printed goes to standard error. Return: 0; -errno. */
static int move_output(struct vrt_pipes *pipes)
{
    fflush(stdout);
    pipes->output_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (pipes->output_fd < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return vrt_raise(-errno);
    /* Whoever reads may leave: that is found by the write. */
    signal(SIGPIPE, SIG_IGN);
    return 0;
}

int vrt_pipes_init(struct vrt_pipes *pipes, struct vrt_cli *cli)
{
    struct vrt_args *args = &cli->args;
    struct stat st;

    *pipes = VRT_PIPES_NONE;
    for (int i = 0; i < args->n_operands; i++)
        pipes->has_input |= vrt_pipes_is_one(args->operands[i]);
    pipes->has_output = vrt_pipes_is_one(args->output);
    int exit = check_usage(pipes, cli);
    if (exit != VRT_EXIT_OK)
        return exit;
    pipes->is_regular = fstat(STDIN_FILENO, &st) == 0 && S_ISREG(st.st_mode);
    if (pipes->has_input && isatty(STDIN_FILENO))
        return complain(cli, "standard input is a terminal: have a program write a video into it, "
                        "such as ffmpeg -i FILE -f nut -");
    const bool writes = pipes->has_output && !args->dry_run;
    if (writes && isatty(STDOUT_FILENO))
        return complain(cli, "standard output is a terminal, which shows no video: send it into a "
                        "program, or name a file");
    if (writes && move_output(pipes) < 0)
        return complain(cli, "standard output is closed: name a file");
    args->follow |= (pipes->has_input && !args->dry_run) || writes;
    return VRT_EXIT_OK;
}

int vrt_pipes_open_input(struct vrt_pipes *pipes, struct vrt_file *ret_file,
                         struct vrt_error *error)
{
    struct pollfd poll_fd = { .fd = STDIN_FILENO, .events = POLLIN };
    VRT_CLEANUP(vrt_closep) int fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return vrt_refuse(error, vrt_raise(-errno), "client.pipe", "standard input is closed: have "
                          "a program write a video into it");
    /* However long who writes takes to begin: the daemon waits less. */
    while (!pipes->is_regular && poll(&poll_fd, 1, -1) < 0)
        if (errno != EINTR)
            return vrt_refuse_errno(error, vrt_raise(-errno), "standard input");
    if (pipes->is_regular ? st.st_size == 0 : !(poll_fd.revents & POLLIN))
        return vrt_refuse(error, vrt_raise(-ENODATA), "client.pipe", "standard input is empty: the "
                          "program before it wrote nothing");
    *ret_file = (struct vrt_file){ VRT_STEAL_FD(fd), st.st_dev, st.st_ino, false };
    return 0;
}

int vrt_pipes_open_output(struct vrt_pipes *pipes, struct vrt_file *ret_file,
                          struct vrt_error *error)
{
    const char *set = getenv("TMPDIR"), *folder = set && set[0] ? set : FOLDER_DEFAULT;
    VRT_CLEANUP(vrt_freep) char *path = NULL;
    struct stat st;
    char shown[VRT_API_PATH_BYTES];

    if (asprintf(&path, "%s/vrtctl-XXXXXX", folder) < 0)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the result");
    pipes->result_fd = mkostemp(path, O_CLOEXEC);
    const int r = pipes->result_fd < 0 || fstat(pipes->result_fd, &st) < 0 ? -errno : 0;
    if (r < 0)
        return vrt_refuse(error, vrt_raise(r), "client.pipe", "the result waits in a temporary "
                          "file, and none can be made in %s: %s; set TMPDIR to another folder",
                          vrt_printable(folder, shown, sizeof(shown)), strerror(-r));
    unlink(path);
    int fd = fcntl(pipes->result_fd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0)
        return vrt_refuse_errno(error, vrt_raise(-errno), "the result");
    *ret_file = (struct vrt_file){ fd, st.st_dev, st.st_ino, false };
    return 0;
}

const char *vrt_pipes_output_name(const struct vrt_cli *cli)
{
    static char name[32];
    const int format = cli->args.output_format;

    snprintf(name, sizeof(name), "stdout.%s",
             vrt_container_names[format == VRT_UNKNOWN ? (int)VRT_CONTAINER_MKV : format]);
    return name;
}

void vrt_pipes_let_go(struct vrt_pipes *pipes)
{
    const bool is_held = pipes->has_input && !pipes->is_regular;
    VRT_CLEANUP(vrt_closep) int fd = is_held ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;

    if (fd >= 0)
        dup2(fd, STDIN_FILENO);
}

bool vrt_pipes_is_unwanted(struct vrt_pipes *pipes)
{
    struct pollfd poll_fd = { .fd = pipes->output_fd };

    pipes->was_closed |= pipes->has_output && poll(&poll_fd, 1, 0) > 0 &&
                         poll_fd.revents & (POLLERR | POLLHUP);
    return pipes->was_closed;
}

int vrt_pipes_input_again(const struct vrt_pipes *pipes)
{
    const bool is_there = pipes->has_input && pipes->is_regular;

    return is_there ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1) : -1;
}

int vrt_pipes_output_again(const struct vrt_pipes *pipes)
{
    return pipes->result_fd < 0 ? -1 : fcntl(pipes->result_fd, F_DUPFD_CLOEXEC, 0);
}

/* Copies the result to the output. Return: 0; -errno: of writing, or of reading. */
static int copy(const struct vrt_pipes *pipes)
{
    VRT_CLEANUP(vrt_freep) char *buffer = malloc(CHUNK_BYTES);
    int64_t offset = 0;
    ssize_t n;

    if (!buffer)
        return vrt_raise(-ENOMEM);
    while ((n = pread(pipes->result_fd, buffer, CHUNK_BYTES, offset)) > 0) {
        for (ssize_t done = 0, m; done < n; done += VRT_MAX(m, 0)) {
            m = write(pipes->output_fd, buffer + done, (size_t)(n - done));
            /* Who gave it to us may want writes that don't wait: of it, not of us. */
            if (m < 0 && errno == EAGAIN)
                poll(&(struct pollfd){ .fd = pipes->output_fd, .events = POLLOUT }, 1, -1);
            else if (m < 0 && errno != EINTR)
                return vrt_raise(-errno);
        }
        offset += n;
    }
    return n < 0 ? vrt_raise(-errno) : 0;
}

int vrt_pipes_finish(const struct vrt_pipes *pipes, const struct vrt_cli *cli, int exit)
{
    char sentence[160];

    if (exit == VRT_EXIT_INTERRUPTED && pipes->was_closed)
        return complain(cli, "the program that read standard output has ended");
    if (exit != VRT_EXIT_OK || !pipes->has_output)
        return exit;
    int r = copy(pipes);
    if (r == 0)
        return exit;
    snprintf(sentence, sizeof(sentence), "the result can't be written to standard output: %s",
             strerror(-r));
    return complain(cli, sentence);
}

void vrt_pipes_done(struct vrt_pipes *pipes)
{
    vrt_closep(&pipes->result_fd);
    vrt_closep(&pipes->output_fd);
}
