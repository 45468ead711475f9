/* SPDX-License-Identifier: MIT */

/*
 * Handing out: after every event the pool tells sched what became of devices and jobs, and does
 * what that says until it says no more. Between a device's return of one shard and its next stands
 * at most one turn of the loop, and the device has a second shard in its queue to bridge that.
 */

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/thread.h"
#include "daemon/devices/pool-impl.h"
#include "daemon/sched/sched.h"

/* What time it is, to sched. */
static double now_s(void)
{
    return (double)vrt_clock_now_ns() / VRT_NS_PER_S;
}

/* What became of the shard goes into the device's numbers. */
static void count_shard(struct vrt_pool_device *device, const struct vrt_worker_task *task,
                        struct vrt_pool_job *job)
{
    size_t d = (size_t)(device - device->pool->devices);

    if (task->task.outcome == VRT_TASK_DONE) {
        double shard_s = (double)task->busy_ns / VRT_NS_PER_S;
        device->shards_done++;
        device->frames_done += task->frames.n;
        device->shard_s = vrt_sched_measure(device->shard_s, shard_s);
        vrt_sched_kind_measure(job->sched.kind, d, shard_s);
        vrt_pool_note_speed(device->pool, d, task, job->tile_flops);
    } else if (task->task.outcome == VRT_TASK_FAILED || task->task.outcome == VRT_TASK_LOST) {
        device->shards_failed++;
    }
}

/* A task that was dropped may fail: the device is judged by it only where it is gone. */
static bool is_lost(const struct vrt_task *base)
{
    const struct vrt_worker_task *task =
        vrt_container_of(base, const struct vrt_worker_task, task);

    return base->outcome == VRT_TASK_LOST ||
           (base->outcome == VRT_TASK_FAILED && task->result == VRT_BACKEND_E_LOST);
}

/* On the loop: a device returned a task. */
static void on_done(struct vrt_task *base)
{
    struct vrt_worker_task *task = vrt_container_of(base, struct vrt_worker_task, task);
    VRT_CLEANUP(vrt_freep) struct vrt_pool_ticket *ticket = task->ctx;
    struct vrt_pool_device *device = ticket->device;
    struct vrt_pool *pool = device->pool;
    size_t d = (size_t)(device - pool->devices);
    bool abandoned = base->abandoned;
    bool is_dropped = ticket->is_shard && !ticket->job;

    if (!abandoned && base->outcome != VRT_TASK_STOPPED)
        vrt_pool_device_note(device, task);
    if (ticket->is_shard)
        vrt_sched_run_end(pool->sched, &ticket->run, now_s());
    if (ticket->job)
        count_shard(device, task, ticket->job);
    if (!is_dropped || is_lost(base))
        vrt_pool_device_judge(device, task);
    if (ticket->job) {
        task->ctx = ticket->job_ctx;
        ticket->job->ops->returned(ticket->job, d, task);
    } else if (ticket->returned) {
        ticket->returned(ticket->ctx, d, task);
    }
    if (!abandoned)
        vrt_worker_task_free(task);
    vrt_pool_wake(pool);
}

void vrt_pool_job_drop(struct vrt_pool_job *job, struct vrt_worker_task *task)
{
    struct vrt_pool_ticket *ticket = task->ctx;

    vrt_assert_thread(VRT_THREAD_LOOP);
    vrt_assert(ticket->job == job);
    ticket->job = NULL;
    vrt_sched_run_drop(&ticket->run);
    atomic_store(&task->task.cancel, true);
}

/* A probe came back that nobody waited for. */
static void came_late(void *ctx, size_t d, struct vrt_worker_task *task)
{
    struct vrt_pool *pool = ctx;

    if (task->task.outcome != VRT_TASK_DONE || task->request != VRT_WORKER_PROBE)
        return;
    const uint64_t checksum = vrt_network_checksum(task->spec->network);
    const struct vrt_probe *probe = &task->probe;
    vrt_pool_note_fidelity(pool, checksum, d, probe->fidelity_db);
    vrt_pool_note_measurement(pool, checksum, d, probe->dtype, probe->flops_per_s[probe->dtype]);
    vrt_pool_note_probe(pool, d, probe);
}

void vrt_pool_forsake(struct vrt_worker_task *task, bool cancel)
{
    struct vrt_pool_ticket *ticket = task->ctx;

    vrt_assert_thread(VRT_THREAD_LOOP);
    vrt_assert(!ticket->is_shard);
    ticket->returned = came_late;
    ticket->ctx = ticket->device->pool;
    if (cancel)
        atomic_store(&task->task.cancel, true);
}

/* Gives `task` to the device's thread. On failure the ticket is freed, the task isn't. */
static int post(struct vrt_pool_device *device, struct vrt_worker_task *task,
                struct vrt_pool_ticket *ticket)
{
    /* The others are short, and somebody waits for them. A release must not overtake. */
    static const bool is_last[VRT_WORKER_REQUEST_COUNT] = {
        [VRT_WORKER_RUN] = true,
        [VRT_WORKER_RELEASE] = true,
    };
    int r = device->mailbox ? 0 : vrt_raise(-ENODEV);

    task->ctx = ticket;
    if (!r && is_last[task->request])
        r = vrt_mailbox_post(device->mailbox, &task->task);
    else if (!r)
        r = vrt_mailbox_post_first(device->mailbox, &task->task);
    if (r)
        free(ticket);
    if (task->request != VRT_WORKER_TELL)
        device->used_at_ns = vrt_clock_now_ns();
    return r;
}

int vrt_pool_submit(struct vrt_pool *pool, size_t d, struct vrt_worker_task *task,
                    void (*returned)(void *ctx, size_t d, struct vrt_worker_task *task),
                    void *ctx)
{
    struct vrt_pool_ticket *ticket = calloc(1, sizeof(*ticket));
    int r = -ENOMEM;

    vrt_assert_thread(VRT_THREAD_LOOP);
    if (ticket) {
        ticket->device = &pool->devices[d];
        ticket->returned = returned;
        ticket->ctx = ctx;
        task->task.done = on_done;
        ticket->tile_flops = task->tile_flops;
        r = post(ticket->device, task, ticket);
    }
    if (r)
        vrt_worker_task_free(task);
    return vrt_fold(r);
}

/* Makes the job known to sched. Return: whether it is; if not, for want of memory, it is tried
 * again at the next tick. */
static bool list(struct vrt_pool *pool, struct vrt_pool_job *job)
{
    int r = vrt_sched_kind_new(pool->sched, &job->sched.kind);

    job->sched.priority = job->priority;
    job->sched.uid = job->uid;
    if (!r)
        r = vrt_sched_job_add(pool->sched, &job->sched);
    if (r)
        job->sched.kind = vrt_sched_kind_free(job->sched.kind);
    return r == 0;
}

/* Tells sched what the job has to be handed out. */
static void tell_job(struct vrt_pool *pool, struct vrt_pool_job *job)
{
    const struct vrt_sched_set devices = { { job->devices } };
    struct vrt_sched_job *sched = &job->sched;

    if (!sched->kind && (job->n_ready <= 0 || !list(pool, job)))
        return;
    sched->priority = job->priority;
    sched->n_ready = job->n_ready;
    sched->n_left = job->n_left;
    sched->n_window = job->n_window;
    sched->is_held_up = job->is_held_up;
    vrt_sched_kind_set_devices(sched->kind, &devices);
    vrt_sched_job_update(pool->sched, sched);
}

static void tell_sched(struct vrt_pool *pool)
{
    struct vrt_pool_job *job;

    for (size_t d = 0; d < pool->n_devices; d++)
        vrt_sched_set_device(pool->sched, d, vrt_pool_device_takes_shards(&pool->devices[d]),
                             pool->devices[d].n_in_flight_max);
    VRT_LIST_FOREACH(job, &pool->jobs, link)
        tell_job(pool, job);
}

/* Posts the task of what was chosen. Return: whether the device has it; if not, the job has it
 * back, and may be gone. */
static bool post_shard(struct vrt_pool *pool, const struct vrt_sched_choice *choice,
                       struct vrt_worker_task *task)
{
    struct vrt_pool_job *job = vrt_container_of(choice->job, struct vrt_pool_job, sched);
    struct vrt_pool_device *device = &pool->devices[choice->device];
    struct vrt_pool_ticket *ticket = calloc(1, sizeof(*ticket));
    void *job_ctx = task->ctx;
    int r = -ENOMEM;

    if (ticket) {
        *ticket = (struct vrt_pool_ticket){ .device = device, .is_shard = true, .job = job,
                                            .job_ctx = job_ctx,
                                            .tile_flops = job->tile_flops };
        task->task.done = on_done;
        r = post(device, task, ticket);
    }
    if (r) {
        task->ctx = job_ctx;
        task->task.outcome = VRT_TASK_LOST;
        task->result = r;
        job->ops->returned(job, choice->device, task);
        vrt_worker_task_free(task);
        return false;
    }
    ticket->run.copiers.words[0] = job->ops->may_copy(job, job_ctx);
    vrt_sched_run_begin(pool->sched, &ticket->run, choice, now_s());
    tell_job(pool, job);
    return true;
}

/* The task of what was chosen; NULL: the job gives none after all. */
static struct vrt_worker_task *make_task(const struct vrt_sched_choice *choice)
{
    struct vrt_pool_job *job = vrt_container_of(choice->job, struct vrt_pool_job, sched);
    void *job_ctx;

    if (!choice->straggler)
        return job->ops->take(job, choice->device);
    job_ctx = vrt_container_of(choice->straggler, struct vrt_pool_ticket, run)->job_ctx;
    /* A device may have left the job since, or failed with a copy of the shard. */
    choice->straggler->copiers.words[0] = job->ops->may_copy(job, job_ctx);
    if (!vrt_sched_set_has(&choice->straggler->copiers, choice->device))
        return NULL;
    return job->ops->copy(job, job_ctx, choice->device);
}

static void dispatch(struct vrt_pool *pool)
{
    struct vrt_sched_choice choice;

    tell_sched(pool);
    while (!pool->is_stopping && vrt_sched_pick(pool->sched, now_s(), &choice)) {
        struct vrt_worker_task *task = make_task(&choice);
        if (!task) {
            /* It stands in nobody's way until the next event. */
            choice.job->n_ready = 0;
            choice.job->is_held_up = false;
            vrt_sched_job_update(pool->sched, choice.job);
        } else if (!post_shard(pool, &choice, task)) {
            break;
        }
    }
}

void vrt_pool_wake(struct vrt_pool *pool)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    pool->dispatch_again = true;
    if (pool->is_dispatching)
        return;
    /* Handing a shard out may call back a job, which may wake the pool: then go round again. */
    pool->is_dispatching = true;
    while (pool->dispatch_again) {
        pool->dispatch_again = false;
        dispatch(pool);
    }
    pool->is_dispatching = false;
}
