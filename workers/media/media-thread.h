/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What the decode thread and the encode thread have in common: the loop that does their tasks
 *
 * A request is a type of its own that embeds a vrt_media_task; its constructor says which function
 * performs it. Whoever posts it reads the answer in done(), then frees it.
 *
 * Thread: the loop makes it, and its requests; these are performed on the thread itself.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "workers/mailbox.h"

/* First member of what such a thread owns. */
struct vrt_media_thread {
    void (*free)(struct vrt_media_thread *thread);      /* on the thread, at its end */
    bool ends_by_failure;           /* after a task that failed none is performed */
    bool has_failed;
};

/* First member of a request. Made by vrt_media_task_new(). */
struct vrt_media_task {
    struct vrt_task task;
    int (*perform)(struct vrt_media_thread *thread, struct vrt_media_task *task);
    void (*drop)(struct vrt_media_task *task);      /* the references it holds; NULL: it has none */
    void *ctx;                      /* the loop's */

    /* The answer. */
    int result;                     /* 0, -errno with `error` */
    struct vrt_error error;
    int64_t busy_ns;
};

struct vrt_media_thread_params {
    struct vrt_outbox *outbox;
    const char *name;
    int capacity;                   /* tasks that it may hold */
    int nice;
    void (*ended)(void *ctx, bool abandoned);   /* as of the mailbox */
    void *ctx;
};

/* Starts the thread. Takes `thread` over: it is freed in any case. Return: 0, -errno. Thread:
 * loop. */
int vrt_media_thread_start(struct vrt_media_thread *thread,
                           const struct vrt_media_thread_params *params,
                           struct vrt_mailbox **ret_mailbox) VRT_MUST_CHECK;

/* A request of `size` bytes, zeros but for its first member. Return: NULL: no memory. */
void *vrt_media_task_new(size_t size,
                         int (*perform)(struct vrt_media_thread *, struct vrt_media_task *),
                         void (*done)(struct vrt_task *task), void *ctx);

/* Frees the request with what it holds. Return: NULL. */
struct vrt_media_task *vrt_media_task_free(struct vrt_media_task *task);

VRT_DEFINE_CLEANUP(struct vrt_media_task, vrt_media_task_free)
