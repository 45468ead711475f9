/* SPDX-License-Identifier: MIT */

/*
 * The process is started by posix_spawn(): drivers of cards don't survive a fork. Its one
 * descriptor is an end of a pair of sockets; what it works on comes with what it is asked. Whoever
 * waits for an answer looks ten times a second whether it is wanted still.
 */

#include "frames/process/child-impl.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/folder.h"
#include "base/log.h"
#include "frames/process/serve.h"

#define VRT_LOG_TOPIC "media"

#define LOOK_MS 100                 /* between two looks at `cancel` */

/* A killed process is gone at once, unless a disk holds it. */
#define REAP_NS VRT_NS_PER_S
#define REAP_STEP_NS VRT_NS_PER_MS

struct vrt_child {
    const atomic_bool *cancel;
    pid_t pid;                      /* 0: it is gone */
    int socket;
    char missing[VRT_MESSAGE_NAME_BYTES];
};

/* What the process gets: descriptors, and deaf ears for what a terminal or systemd sends to all of
 * vrtd's processes, which ends vrtd in order, and by that this one. */
static int spawn(const char *program, int socket, pid_t *ret_pid)
{
    char *const arguments[] = { (char *)"vrt-media", NULL };
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t blocked;

    sigemptyset(&blocked);
    sigaddset(&blocked, SIGINT);
    sigaddset(&blocked, SIGTERM);
    sigaddset(&blocked, SIGHUP);
    int r = posix_spawn_file_actions_init(&files);
    if (r != 0)
        return -r;
    r = posix_spawnattr_init(&attributes);
    if (r != 0) {
        posix_spawn_file_actions_destroy(&files);
        return -r;
    }
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDWR, 0);
    posix_spawn_file_actions_adddup2(&files, 0, 1);
    if (!VRT_MEDIA_KEEPS_STDERR)
        posix_spawn_file_actions_adddup2(&files, 0, 2);
    posix_spawn_file_actions_adddup2(&files, socket, VRT_SERVE_SOCKET);
    posix_spawn_file_actions_addclosefrom_np(&files, VRT_SERVE_SOCKET + 1);
    posix_spawnattr_setsigmask(&attributes, &blocked);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    r = posix_spawn(ret_pid, program, &files, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return -r;
}

int vrt_child_new(const atomic_bool *cancel, struct vrt_child **ret_child,
                  struct vrt_error *error)
{
    VRT_CLEANUP(vrt_child_freep) struct vrt_child *child = calloc(1, sizeof(*child));
    VRT_CLEANUP(vrt_closep) int theirs = -1;
    char program[PATH_MAX];
    int pair[2];

    if (!child)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "vrt-media");
    child->socket = -1;
    child->cancel = cancel;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return vrt_refuse_errno(error, vrt_raise(-errno), "vrt-media");
    child->socket = pair[0];
    theirs = pair[1];
    vrt_folder_of_part("workers/frames/vrt-media", VRT_MEDIA_PROGRAM, program,
                       sizeof(program));
    int r = spawn(program, theirs, &child->pid);
    if (r < 0)
        return vrt_refuse(error, vrt_raise(r), "internal", "%s, which reads and writes videos, "
                          "can't be started: %s", program, strerror(-r));
    *ret_child = VRT_STEAL(child);
    return 0;
}

/* Waits until the killed process is gone. Return: how it ended; -1: nobody knows. */
static int reap(struct vrt_child *child)
{
    const int64_t give_up_ns = vrt_clock_now_ns() + REAP_NS;
    int status = -1;
    pid_t pid;

    while ((pid = waitpid(child->pid, &status, WNOHANG)) == 0 && vrt_clock_now_ns() < give_up_ns)
        nanosleep(&(struct timespec){ .tv_nsec = REAP_STEP_NS }, NULL);
    if (pid == 0)
        vrt_log_warning("vrt-media (process %d) doesn't end: a disk may hold it, ignoring",
                        (int)child->pid);
    child->pid = 0;
    return pid > 0 ? status : -1;
}

/* Return: how it had ended by itself; -1: it had not. */
static int end(struct vrt_child *child)
{
    int status = -1;

    if (!child->pid)
        return -1;
    /* What has closed its socket is about to end: why, it says itself. */
    for (int i = 0; i < LOOK_MS; i++) {
        struct vrt_message ignored;
        struct vrt_message_fds fds;
        int r = vrt_message_receive(child->socket, 0, &ignored, &fds);
        vrt_message_fds_done(&fds);
        if (r != -EPIPE)
            break;
        if (waitpid(child->pid, &status, WNOHANG) == child->pid) {
            child->pid = 0;
            return status;
        }
        nanosleep(&(struct timespec){ .tv_nsec = REAP_STEP_NS }, NULL);
    }
    kill(child->pid, SIGKILL);
    reap(child);
    return -1;
}

struct vrt_child *vrt_child_free(struct vrt_child *child)
{
    if (!child)
        return NULL;
    if (child->pid) {
        kill(child->pid, SIGKILL);
        reap(child);
    }
    vrt_closep(&child->socket);
    free(child);
    return NULL;
}

/* It is gone, or is to go. Return: -EPIPE with the sentence. */
static int refuse_crash(struct vrt_child *child, const char *doing, struct vrt_error *error)
{
    const int status = end(child);
    char how[96];

    if (status >= 0 && WIFSIGNALED(status))
        snprintf(how, sizeof(how), "was ended by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else if (status >= 0)
        snprintf(how, sizeof(how), "ended with status %d", WEXITSTATUS(status));
    else
        snprintf(how, sizeof(how), "ended");
    return vrt_refuse(error, vrt_raise(-EPIPE), "media.crashed", "the process vrt-media %s while "
                      "%s", how, doing);
}

int vrt_child_distrust(struct vrt_child *child, const char *doing, struct vrt_error *error)
{
    end(child);
    return vrt_refuse(error, vrt_raise(-EPIPE), "media.crashed", "the process vrt-media answered "
                      "what can't be while %s, and was ended", doing);
}

static int refuse_silence(struct vrt_child *child, const struct vrt_child_call *call,
                          struct vrt_error *error)
{
    end(child);
    return vrt_refuse(error, vrt_raise(-ETIMEDOUT), "media.timeout", "the process vrt-media came "
                      "no further for %.0f s while %s, and was ended",
                      (double)call->limit_ns / VRT_NS_PER_S, call->doing);
}

/* The size of the file that the process writes; -1: there is none. */
static int64_t progress_of(const struct vrt_child_call *call)
{
    struct stat st;

    return call->growing_fd >= 0 && fstat(call->growing_fd, &st) == 0 ? (int64_t)st.st_size : -1;
}

static bool is_overgrown(const struct vrt_child_call *call)
{
    return call->growing_bytes_max && progress_of(call) > *call->growing_bytes_max;
}

/* Waits for the next packet. Return: 0; -errno with the sentence. */
static int await(struct vrt_child *child, const struct vrt_child_call *call,
                 struct vrt_message *ret_message, struct vrt_error *error)
{
    int64_t limit_ns = vrt_clock_now_ns() + call->limit_ns;
    int64_t progress = progress_of(call), now;
    struct vrt_message_fds fds;

    for (;;) {
        int r = vrt_message_receive(child->socket, LOOK_MS, ret_message, &fds);
        if (r == 0 && fds.n > 0) {
            vrt_message_fds_done(&fds);
            r = -EBADMSG;
        }
        if (child->cancel && atomic_load(child->cancel)) {
            end(child);
            return vrt_refuse(error, vrt_raise(-ECANCELED), "cancelled", "cancelled");
        }
        if (is_overgrown(call))
            r = -EBADMSG;
        if (r == 0)
            return 0;
        if (r == -EBADMSG)
            return vrt_child_distrust(child, call->doing, error);
        if (r != -EAGAIN)
            return refuse_crash(child, call->doing, error);
        now = progress_of(call);
        if (now != progress)
            limit_ns = vrt_clock_now_ns() + call->limit_ns;
        progress = now;
        if (vrt_clock_now_ns() > limit_ns)
            return refuse_silence(child, call, error);
    }
}

int vrt_child_answer(struct vrt_child *child, struct vrt_message *message, size_t size,
                     const struct vrt_message_fds *fds)
{
    return vrt_message_send(child->socket, message, size, fds);
}

int vrt_child_ask(struct vrt_child *child, const struct vrt_child_call *call,
                  struct vrt_message *message, struct vrt_error *error)
{
    const uint32_t kind = message->kind;

    if (!child->pid)
        return vrt_refuse(error, vrt_raise(-EPIPE), "media.crashed", "the process vrt-media is "
                          "gone");
    int r = vrt_message_send(child->socket, message, call->size, &call->fds);
    if (r == -EPIPE)
        return refuse_crash(child, call->doing, error);
    if (r < 0)
        return vrt_refuse_errno(error, vrt_raise(r), "asking vrt-media");
    for (;;) {
        r = await(child, call, message, error);
        if (r < 0)
            return vrt_fold(r);
        if (message->kind == kind)
            break;
        if (!call->asked)
            return vrt_child_distrust(child, call->doing, error);
        r = call->asked(call->ctx, child, message, error);
        if (r < 0)
            return vrt_fold(r);
    }
    r = vrt_wire_take_result(message, call->outcome_max, error);
    return r == -EBADMSG && (!error || !error->message[0]) ?
           vrt_child_distrust(child, call->doing, error) : r;
}

const char *vrt_child_missing(struct vrt_child *child)
{
    struct vrt_message message = { .kind = VRT_MESSAGE_SANDBOX };
    struct vrt_error error = { .id = NULL };
    const struct vrt_child_call call = {
        .size = VRT_MESSAGE_BYTES(missing),
        .limit_ns = 30 * VRT_NS_PER_S,
        .doing = "starting",
        .growing_fd = -1,
    };

    if (vrt_child_ask(child, &call, &message, &error) < 0)
        return NULL;
    message.body.missing[sizeof(message.body.missing) - 1] = '\0';
    return vrt_printable(message.body.missing, child->missing, sizeof(child->missing));
}
