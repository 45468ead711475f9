/* SPDX-License-Identifier: MIT */

/* Whoever waits for an answer looks ten times a second whether it is wanted still. */

#include "frames/process/child-impl.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "frames/process/serve.h"

#define VRT_LOG_TOPIC "media"

#define LOOK_MS 100                 /* between two looks at `cancel` */

/* Of a log file, where there are sanitizers that write to it. */
#define LOG_BYTES_MAX (VRT_MEDIA_KEEPS_STDERR ? INT64_C(64) << 20 : 0)

/* A disk that is in use, or far away; and a file with holes, which is read faster than its size
 * says: as so many times what the disk holds. */
#define SLOW_BYTES_PER_S (4 << 20)
#define HOLES_TIMES 16

/* A killed process is gone at once, unless a disk holds it. */
#define REAP_NS VRT_NS_PER_S
#define REAP_STEP_NS VRT_NS_PER_MS

struct vrt_child {
    const atomic_bool *cancel;
    pid_t pid;                      /* 0: it is gone */
    int socket;
    int64_t looked_ns;              /* when its threads were counted */
    char missing[VRT_MESSAGE_NAME_BYTES];
};

int vrt_child_new(const atomic_bool *cancel, struct vrt_child **ret_child,
                  struct vrt_error *error)
{
    return vrt_fold(vrt_child_new_for(VRT_HWACCEL_OFF, cancel, ret_child, error));
}

int vrt_child_new_for(enum vrt_hwaccel hwaccel, const atomic_bool *cancel,
                      struct vrt_child **ret_child, struct vrt_error *error)
{
    struct vrt_child *child = calloc(1, sizeof(*child));

    if (!child)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "vrt-media");
    child->cancel = cancel;
    int r = vrt_child_start(hwaccel, &child->pid, &child->socket, error);
    if (r < 0) {
        free(child);
        return vrt_fold(r);
    }
    *ret_child = child;
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
    if (pid == 0) {
        vrt_log_warning("vrt-media (process %d) doesn't end: a disk may hold it, ignoring",
                        (int)child->pid);
        vrt_child_linger(child->pid);
    }
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

    if (status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == VRT_SERVE_STATUS_OTHER)
        return vrt_refuse(error, vrt_raise(-EPIPE), "internal", "the program vrt-media is of "
                          "another version than vrtd, which was not started again since: start "
                          "it again (systemctl restart vrtd)");
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
                      "no further for %.0f s while %s, and was ended: where that happens again, "
                      "convert the video first", (double)call->limit_ns / VRT_NS_PER_S,
                      call->doing);
}

static int refuse_slowness(struct vrt_child *child, const char *doing, struct vrt_error *error)
{
    end(child);
    return vrt_refuse(error, vrt_raise(-ETIMEDOUT), "media.timeout", "the process vrt-media took "
                      "longer than the slowest disk needs while %s, and was ended: where that "
                      "happens again, convert the video first", doing);
}

static int refuse_threads(struct vrt_child *child, const char *doing, struct vrt_error *error)
{
    end(child);
    return vrt_refuse(error, vrt_raise(-EPIPE), "media.crashed", "the process vrt-media made more "
                      "threads than any codec needs while %s, and was ended", doing);
}

/* Looks now and then, however often the process answers. */
static bool has_too_many_threads(struct vrt_child *child)
{
    const int64_t now_ns = vrt_clock_now_ns();

    if (now_ns - child->looked_ns < LOOK_MS * VRT_NS_PER_MS)
        return false;
    child->looked_ns = now_ns;
    return vrt_child_has_too_many_threads(child->pid);
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
        if (has_too_many_threads(child))
            return refuse_threads(child, call->doing, error);
        if (is_overgrown(call))
            r = -EBADMSG;
        if (r == 0)
            return 0;
        if (r == -EBADMSG)
            return vrt_child_distrust(child, call->doing, error);
        if (r != -EAGAIN)
            return refuse_crash(child, call->doing, error);
        now = progress_of(call);
        if (call->growth_is_life && now > progress)
            limit_ns = vrt_clock_now_ns() + call->limit_ns;
        progress = VRT_MAX(now, progress);
        if (vrt_clock_now_ns() > limit_ns)
            return refuse_silence(child, call, error);
        if (call->deadline_ns && vrt_clock_now_ns() > *call->deadline_ns)
            return refuse_slowness(child, call->doing, error);
    }
}

int64_t vrt_child_transfer_ns(int fd)
{
    struct stat st;
    double bytes = fstat(fd, &st) == 0 ? (double)st.st_size : 0;

    if (bytes > 0 && st.st_blocks > 0)
        bytes = VRT_MIN(bytes, (double)st.st_blocks * 512 * HOLES_TIMES);
    return (int64_t)(VRT_MIN(bytes / SLOW_BYTES_PER_S, 1e6) * VRT_NS_PER_S);
}

void vrt_child_may_write(struct vrt_child *child, int64_t bytes_max)
{
    vrt_child_limit_files(child->pid, VRT_MAX(bytes_max, LOG_BYTES_MAX));
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
    vrt_child_may_write(child, call->growing_bytes_max ? *call->growing_bytes_max : 0);
    int r = vrt_message_send(child->socket, message, call->size, &call->fds);
    if (r == -EPIPE)
        return refuse_crash(child, call->doing, error);
    if (r == -EAGAIN)
        return vrt_child_distrust(child, call->doing, error);
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

const char *vrt_child_missing(struct vrt_child *child, struct vrt_error *error)
{
    struct vrt_message message;
    const struct vrt_child_call call = {
        .size = VRT_MESSAGE_BYTES(missing),
        .limit_ns = 30 * VRT_NS_PER_S,
        .doing = "starting",
        .growing_fd = -1,
    };

    vrt_message_init(&message, VRT_MESSAGE_SANDBOX);
    if (vrt_child_ask(child, &call, &message, error) < 0)
        return NULL;
    message.body.missing[sizeof(message.body.missing) - 1] = '\0';
    return vrt_printable(message.body.missing, child->missing, sizeof(child->missing));
}
