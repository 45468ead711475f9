/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Threads that work for the loop, and the only object that both sides share
 *
 * A mailbox is one thread with a bounded queue of tasks in front of it. The loop posts a task and
 * forgets it: ownership goes along. The thread takes tasks, one by one or several, and returns each
 * with its outcome; returned tasks travel through the loop's one outbox, and there task->done is
 * called: exactly once for every task posted, whatever became of the thread.
 *
 *     loop:    vrt_mailbox_post(mailbox, task)               done(task) -> frees or reuses it
 *     thread:  while ((task = vrt_mailbox_take(mailbox)))
 *                  vrt_mailbox_return(mailbox, task, outcome);
 *
 * A thread that hangs (a driver that never answers) can be abandoned: its tasks come back as lost,
 * and whatever it holds, the task it was running included, stays with it for good.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/list.h"
#include "base/macro.h"

struct uv_loop_s;
struct vrt_mailbox;
struct vrt_outbox;

enum vrt_task_outcome {
    VRT_TASK_PENDING,               /* not returned yet */
    VRT_TASK_DONE,
    VRT_TASK_FAILED,                /* what the task's own fields say */
    VRT_TASK_CANCELLED,             /* its cancel flag was seen */
    VRT_TASK_LOST,                  /* the thread was abandoned while it held the task */
    VRT_TASK_STOPPED,               /* never begun: the mailbox was stopped */
    VRT_TASK_OUTCOME_COUNT,
};

/* First member of what is to be done. The thread that owns it now may write all but `cancel`. */
struct vrt_task {
    struct vrt_list link;           /* under lock */
    struct vrt_mailbox *mailbox;    /* under lock: that it was posted to */
    enum vrt_task_outcome outcome;
    atomic_bool cancel;             /* set by the loop, looked at by the thread */
    bool abandoned;                 /* LOST, and the thread still has it: done() must not free it */
    bool was_told, came_back;       /* under lock, of abandoned ones: done() was called; returned */

    /* On the loop, exactly once. It owns the task, unless `abandoned`. */
    void (*done)(struct vrt_task *task);
    /* Frees an abandoned task, on any thread, once its thread came back to return it. */
    void (*discard)(struct vrt_task *task);
};

/* Strings and this struct need to live only until vrt_mailbox_new() returns. */
struct vrt_mailbox_params {
    const char *name;               /* of the thread; 15 bytes are kept */
    int capacity;                   /* tasks posted whose done() wasn't called yet */
    int nice;                       /* the thread's priority below the loop's; 0: the same */
    void (*run)(struct vrt_mailbox *mailbox, void *run_ctx);    /* the thread: take until NULL */
    void *run_ctx;
    /* On the loop, once, when the thread has ended (it is joined) or was abandoned: the last word
     * of the mailbox, which is gone when this returns. */
    void (*ended)(void *ended_ctx, bool abandoned);
    void *ended_ctx;
};

/* Makes the loop's outbox. Return: 0, -errno. Thread: the loop's, before the loop runs or on it. */
int vrt_outbox_new(struct uv_loop_s *loop, struct vrt_outbox **ret_outbox) VRT_MUST_CHECK;

/*
 * Takes the outbox off its loop; every mailbox of it must have ended. `closed` (may be NULL) is
 * called on the loop when nothing of it is left there. The outbox frees itself.
 */
void vrt_outbox_close(struct vrt_outbox *outbox, void (*closed)(void *ctx), void *ctx);

/* Starts a thread. Return: 0, -errno. Thread: loop. */
int vrt_mailbox_new(struct vrt_outbox *outbox, const struct vrt_mailbox_params *params,
                    struct vrt_mailbox **ret_mailbox) VRT_MUST_CHECK;

/*
 * Gives `task` to the thread, behind those posted before. Return: 0; -ENOBUFS: it is full;
 * -ESHUTDOWN: it was stopped; then the task is still the caller's. Thread: loop.
 */
int vrt_mailbox_post(struct vrt_mailbox *mailbox, struct vrt_task *task) VRT_MUST_CHECK;

/* The same, before all that the thread has not begun. */
int vrt_mailbox_post_first(struct vrt_mailbox *mailbox, struct vrt_task *task) VRT_MUST_CHECK;

/*
 * Lets the thread end after the task it is running: those not begun are returned as STOPPED. Then
 * `ended` is called. Does nothing the second time. Thread: loop.
 */
void vrt_mailbox_stop(struct vrt_mailbox *mailbox);

/*
 * Gives the thread up: whatever it holds is returned as LOST, by and by, then `ended` is called,
 * never from within this call. The thread frees the mailbox should it come back. Thread: loop.
 */
void vrt_mailbox_abandon(struct vrt_mailbox *mailbox);

/* Nanoseconds (vrt_clock_now_ns()) since the thread last took or returned a task or called
 * vrt_mailbox_beat() while it has one; 0 while it has none. Thread: loop. */
int64_t vrt_mailbox_silent_ns(const struct vrt_mailbox *mailbox);

/* The task that the thread has had for longest, which may come back with the loop's next turn, and
 * for how long the thread has been silent. NULL: none. Thread: loop. */
const struct vrt_task *vrt_mailbox_running(struct vrt_mailbox *mailbox, int64_t *ret_silent_ns);

/* The next task; waits for it. NULL: end the thread. Thread: the mailbox's, which has none. */
struct vrt_task *vrt_mailbox_take(struct vrt_mailbox *mailbox);

/* One more task, if there is one now, for a thread that has some. */
struct vrt_task *vrt_mailbox_take_more(struct vrt_mailbox *mailbox);

/* Hands a task that was taken back to the loop. Thread: the mailbox's. */
void vrt_mailbox_return(struct vrt_mailbox *mailbox, struct vrt_task *task,
                        enum vrt_task_outcome outcome);

/* Says that the running task makes progress. Thread: the mailbox's. */
void vrt_mailbox_beat(struct vrt_mailbox *mailbox);

/* Prepares a task for posting; `discard` may be NULL if its thread is never abandoned. */
void vrt_task_init(struct vrt_task *task, void (*done)(struct vrt_task *task),
                   void (*discard)(struct vrt_task *task));
