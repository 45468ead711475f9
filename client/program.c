/* SPDX-License-Identifier: MIT */

#include "client/program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

#define POLL_MS 200             /* an interruption is answered within it */

enum end { TO, OUT, ERR, END_COUNT };

struct pipes {
    int ours[END_COUNT], theirs[END_COUNT];
};

static void close_end(int *fd)
{
    vrt_closep(fd);
    *fd = -1;
}

static void pipes_done(struct pipes *pipes)
{
    for (int i = 0; i < END_COUNT; i++) {
        close_end(&pipes->ours[i]);
        close_end(&pipes->theirs[i]);
    }
}

static int pipes_init(struct pipes *pipes)
{
    *pipes = (struct pipes){ { -1, -1, -1 }, { -1, -1, -1 } };
    for (int i = 0; i < END_COUNT; i++) {
        int pair[2];
        if (pipe(pair) < 0)
            return vrt_raise(-errno);
        pipes->ours[i] = pair[i == TO];
        pipes->theirs[i] = pair[i != TO];
        fcntl(pair[0], F_SETFD, FD_CLOEXEC);
        fcntl(pair[1], F_SETFD, FD_CLOEXEC);
    }
    return 0;
}

static int start(const struct vrt_program *program, const struct pipes *pipes, pid_t *ret_pid)
{
    posix_spawn_file_actions_t actions;
    int r = -posix_spawn_file_actions_init(&actions);

    if (r < 0)
        return vrt_raise(r);
    for (int i = 0; r == 0 && i < END_COUNT; i++)
        r = -posix_spawn_file_actions_adddup2(&actions, pipes->theirs[i], i);
    if (r == 0)
        r = -posix_spawnp(ret_pid, program->argv[0], &actions, NULL, program->argv,
                          program->environment);
    posix_spawn_file_actions_destroy(&actions);
    return r < 0 ? vrt_raise(r) : 0;
}

/* Moves what is there of one pipe. Return: 0; -errno. */
static int read_some(int *fd, struct vrt_buf *buf)
{
    char part[4096];
    ssize_t n = read(*fd, part, sizeof(part));

    if (n < 0 && errno == EINTR)
        return 0;
    if (n <= 0)
        close_end(fd);
    return n < 0 ? vrt_raise(-errno) : n == 0 ? 0 : vrt_buf_append(buf, part, (size_t)n);
}

/* Writes the input and reads both outputs, in whatever order they come. Return: 0; -errno. */
static int talk(struct pipes *pipes, const struct vrt_program *program, struct vrt_buf *out,
                struct vrt_buf *err)
{
    const char *input = program->input;
    size_t left = input ? strlen(input) : 0;
    int r = 0;

    while (r == 0 && (pipes->ours[OUT] >= 0 || pipes->ours[ERR] >= 0)) {
        if (program->interrupt && *program->interrupt)
            return vrt_raise(-EINTR);
        if (!left)
            close_end(&pipes->ours[TO]);
        struct pollfd polls[END_COUNT] = {
            { pipes->ours[TO], POLLOUT, 0 }, { pipes->ours[OUT], POLLIN, 0 },
            { pipes->ours[ERR], POLLIN, 0 },
        };
        if (poll(polls, END_COUNT, program->interrupt ? POLL_MS : -1) < 0) {
            if (errno == EINTR)
                continue;
            return vrt_raise(-errno);
        }
        if (polls[TO].revents) {
            ssize_t n = write(pipes->ours[TO], input, left);
            /* It doesn't want more, unless only a signal came. */
            left = n >= 0 ? left - (size_t)n : errno == EINTR ? left : 0;
            input += n < 0 ? 0 : n;
        }
        if (polls[OUT].revents)
            r = read_some(&pipes->ours[OUT], out);
        if (r == 0 && polls[ERR].revents)
            r = read_some(&pipes->ours[ERR], err);
    }
    return vrt_fold(r);
}

int vrt_program_run(const struct vrt_program *program, struct vrt_buf *out, struct vrt_buf *err,
                    struct vrt_error *error)
{
    const char *name = program->argv[0];
    struct pipes pipes;
    pid_t pid;
    int status;

    signal(SIGPIPE, SIG_IGN);
    int r = pipes_init(&pipes);
    if (r == 0)
        r = start(program, &pipes, &pid);
    if (r < 0) {
        pipes_done(&pipes);
        return vrt_refuse(error, vrt_fold(r), "client.program", "%s can't be started: %s", name,
                          strerror(-r));
    }
    for (int i = 0; i < END_COUNT; i++)
        close_end(&pipes.theirs[i]);
    r = talk(&pipes, program, out, err);
    pipes_done(&pipes);
    if (r == -EINTR)
        kill(pid, SIGTERM);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (r < 0)
        return vrt_refuse_errno(error, r, name);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
