/* SPDX-License-Identifier: MIT */

/* The loop that the decode thread and the encode thread run, and the making of their tasks. */

#include "workers/media/media-thread.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/thread.h"

void *vrt_media_task_new(size_t size,
                         int (*perform)(struct vrt_media_thread *, struct vrt_media_task *),
                         void (*done)(struct vrt_task *task), void *ctx)
{
    struct vrt_media_task *task = calloc(1, size);

    if (!task)
        return NULL;
    vrt_task_init(&task->task, done, NULL);
    task->perform = perform;
    task->ctx = ctx;
    return task;
}

struct vrt_media_task *vrt_media_task_free(struct vrt_media_task *task)
{
    if (task && task->drop)
        task->drop(task);
    free(task);
    return NULL;
}

static int perform(struct vrt_media_thread *thread, struct vrt_media_task *task)
{
    if (thread->ends_by_failure && thread->has_failed)
        return vrt_refuse(&task->error, vrt_raise(-ECANCELED), "cancelled", "cancelled");
    return vrt_fold(task->perform(thread, task));
}

static void run(struct vrt_mailbox *mailbox, void *ctx)
{
    struct vrt_media_thread *thread = ctx;
    struct vrt_task *taken;

    while ((taken = vrt_mailbox_take(mailbox))) {
        struct vrt_media_task *task = vrt_container_of(taken, struct vrt_media_task, task);
        int64_t start_ns = vrt_clock_now_ns();
        task->result = perform(thread, task);
        thread->has_failed = task->result;
        task->busy_ns = vrt_clock_now_ns() - start_ns;
        vrt_mailbox_return(mailbox, taken, task->result ? VRT_TASK_FAILED : VRT_TASK_DONE);
    }
    thread->free(thread);
}

int vrt_media_thread_start(struct vrt_media_thread *thread,
                           const struct vrt_media_thread_params *params,
                           struct vrt_mailbox **ret_mailbox)
{
    const struct vrt_mailbox_params mailbox = {
        .name = params->name,
        .capacity = params->capacity,
        .nice = params->nice,
        .run = run,
        .run_ctx = thread,
        .ended = params->ended,
        .ended_ctx = params->ctx,
    };

    vrt_assert_thread(VRT_THREAD_LOOP);
    int r = vrt_mailbox_new(params->outbox, &mailbox, ret_mailbox);
    if (r < 0)
        thread->free(thread);
    return vrt_fold(r);
}
