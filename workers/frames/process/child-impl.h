/* SPDX-License-Identifier: MIT */
#pragma once

/* What the files child*.c share. */

#include <sys/types.h>

#include "frames/process/child.h"
#include "frames/process/wire.h"

/* A question and how it is asked. */
struct vrt_child_call {
    size_t size;                        /* VRT_MESSAGE_BYTES() of the question */
    struct vrt_message_fds fds;         /* the caller's */
    int64_t limit_ns;                   /* how long the process may be silent */
    int outcome_max;                    /* of the function's own outcomes */
    const char *doing;                  /* "reading film.mkv", for sentences */
    /* Looked at while the process is silent: what it works on; -1: none. It is killed where that
     * holds more than `growing_bytes_max`, which would fill what others need; NULL: it is to write
     * nothing. */
    int growing_fd;
    const int64_t *growing_bytes_max;
    bool growth_is_life;                /* more of it than before is a sign of that */
    const int64_t *deadline_ns;         /* ... until then, by vrt_clock_now_ns(); NULL: always */
    /* What it may ask back; NULL: nothing. Return: 0, -errno with the sentence in `error`. */
    int (*asked)(void *ctx, struct vrt_child *child, const struct vrt_message *question,
                 struct vrt_error *error);
    void *ctx;
};

/* Gives up waiting for a killed process; below 0: for those of a group that are ours. They are
 * looked at again by vrt_child_look_after(). */
void vrt_child_linger(pid_t pid);

/* A process with the calling thread's priority, and our end of its socket; both are the caller's.
 * Return: 0; -errno with the sentence in `error`. */
int vrt_child_start(enum vrt_hwaccel hwaccel, pid_t *ret_pid, int *ret_socket,
                    struct vrt_error *error) VRT_MUST_CHECK;

/*
 * Asks, and waits for the answer, which replaces the question in `message`.
 * Return: 0, or the outcome; -errno with the sentence in `error`: after -EPIPE, -ETIMEDOUT and
 * -ECANCELED the process is gone.
 */
int vrt_child_ask(struct vrt_child *child, const struct vrt_child_call *call,
                  struct vrt_message *message, struct vrt_error *error) VRT_MUST_CHECK;

/* How much any file may hold that the process writes to, of those that it was ever given: that of
 * the call, until this says otherwise. */
void vrt_child_may_write(struct vrt_child *child, int64_t bytes_max);

/* Has the system look after that, where it can. */
void vrt_child_limit_files(pid_t pid, int64_t bytes_max);

/* Whether the process has more threads than any codec makes, which those of other users then may
 * lack; false where nobody can tell. */
bool vrt_child_has_too_many_threads(pid_t pid);

/* How long a slow disk takes to give what the file holds. */
int64_t vrt_child_transfer_ns(int fd);

/* Answers what was asked back. Return: 0, -errno. */
int vrt_child_answer(struct vrt_child *child, struct vrt_message *message, size_t size,
                     const struct vrt_message_fds *fds) VRT_MUST_CHECK;

/* Kills the process because of what it said. Return: -EPIPE with the sentence in `error`. */
int vrt_child_distrust(struct vrt_child *child, const char *doing, struct vrt_error *error);
