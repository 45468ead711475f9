/* SPDX-License-Identifier: MIT */

/*
 * Handing out: after every event the pool describes devices and jobs to sched, and does what that
 * says until it says no more. Between a device's return of one shard and its next stands at most
 * one turn of the loop, and the device has a second shard in its queue to bridge that.
 */

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/thread.h"
#include "daemon/pool-impl.h"
#include "daemon/sched.h"

/* Jobs that sched is asked about at a time: the first of those that have shards ready. */
#define RUNNING_MAX 64

static double seconds_since(int64_t ns)
{
    return (double)(vrt_clock_now_ns() - ns) / VRT_NS_PER_S;
}

/* The device has room for another shard. */
static void count_out(struct vrt_pool_ticket *ticket)
{
    struct vrt_pool_device *device = ticket->device;

    vrt_list_remove(&ticket->link);
    device->n_in_flight--;
    device->expected_s = device->n_in_flight ? device->expected_s - ticket->expected_s : 0;
    device->began_ns = vrt_clock_now_ns();
}

/* What became of the shard goes into the device's numbers. */
static void count_shard(struct vrt_pool_device *device, const struct vrt_worker_task *task,
                        struct vrt_pool_job *job)
{
    if (task->task.outcome == VRT_TASK_DONE) {
        double shard_s = (double)task->busy_ns / VRT_NS_PER_S;
        device->shards_done++;
        device->frames_done += task->frames.n;
        device->shard_s = vrt_sched_measure(device->shard_s, shard_s);
        double *estimate = &job->shard_s[device - device->pool->devices];
        *estimate = vrt_sched_measure(*estimate, shard_s);
        vrt_pool_note_speed(device->pool, (size_t)(device - device->pool->devices), task,
                            job->tile_flops);
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
    bool is_dropped = !vrt_list_is_empty(&ticket->link) && !ticket->job;

    if (!abandoned && task->usage.used_bytes >= 0 && base->outcome != VRT_TASK_STOPPED)
        device->usage = task->usage;
    if (!vrt_list_is_empty(&ticket->link))
        count_out(ticket);
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
        vrt_list_init(&ticket->link);
        ticket->returned = returned;
        ticket->ctx = ctx;
        task->task.done = on_done;
        ticket->device->tile_flops = VRT_MAX(ticket->device->tile_flops, task->tile_flops);
        r = post(ticket->device, task, ticket);
    }
    if (r)
        vrt_worker_task_free(task);
    return vrt_fold(r);
}

/* The device as sched sees it. */
static struct vrt_sched_device sched_row(const struct vrt_pool_device *device)
{
    /* One that ran out of memory holds one shard at a time; sched knows only of two. */
    bool has_room = device->n_in_flight_max == VRT_SCHED_IN_FLIGHT ||
                    device->n_in_flight < device->n_in_flight_max;

    return (struct vrt_sched_device){
        .ready = vrt_pool_device_takes_shards(device) && has_room,
        .n_in_flight = device->n_in_flight,
        .free_in_s = device->n_in_flight ?
            vrt_sched_free_in_s(device->expected_s, seconds_since(device->began_ns)) : 0,
        .speed_class = device->speed_class,
    };
}

/* What sched decides on: rows for the devices, and for the jobs that have shards ready, or one that
 * may be run twice. */
struct table {
    struct vrt_sched_device devices[VRT_DEVICES_MAX];
    size_t n_jobs;
    struct vrt_pool_job *jobs[RUNNING_MAX];
    struct vrt_sched_job rows[RUNNING_MAX];
    double shard_s[RUNNING_MAX][VRT_DEVICES_MAX];
    struct vrt_pool_ticket *stragglers[RUNNING_MAX];
};

/* Which of the job's shards is expected last, of those that another device may run too; NULL: there
 * is none. */
static struct vrt_pool_ticket *find_straggler(const struct vrt_pool *pool,
                                              const struct vrt_pool_job *job, double *ret_left_s)
{
    struct vrt_pool_ticket *ticket, *last = NULL;
    double last_s = 0;

    for (size_t d = 0; d < pool->n_devices; d++) {
        const struct vrt_pool_device *device = &pool->devices[d];
        double elapsed_s = seconds_since(device->began_ns), left_s = 0;
        VRT_LIST_FOREACH(ticket, &device->shards, link) {
            bool is_measured = ticket->job && ticket->job->shard_s[d] > 0;
            left_s += vrt_sched_left_s(ticket->expected_s, elapsed_s, is_measured);
            elapsed_s = 0;
            if (ticket->job == job && left_s > last_s &&
                job->ops->may_copy(job, ticket->job_ctx)) {
                last = ticket;
                last_s = left_s;
            }
        }
    }
    *ret_left_s = last_s;
    return last;
}

/* Appends the job's row, if there is anything to be handed out. */
static void fill_row(const struct vrt_pool *pool, struct vrt_pool_job *job, struct table *table)
{
    struct vrt_pool_ticket *straggler = NULL;
    uint64_t devices = job->devices;
    size_t j = table->n_jobs;
    double left_s = 0;

    if (job->n_ready <= 0 && job->is_held_up)
        straggler = find_straggler(pool, job, &left_s);
    if (job->n_ready <= 0 && !straggler)
        return;
    if (straggler)
        devices = job->ops->may_copy(job, straggler->job_ctx);
    for (size_t d = 0; d < pool->n_devices; d++)
        table->shard_s[j][d] = devices >> d & 1 ? job->shard_s[d] : -1;
    table->jobs[j] = job;
    table->stragglers[j] = straggler;
    table->rows[j] = (struct vrt_sched_job){
        .priority = job->priority,
        .order = job->order,
        .turn = job->turn,
        .n_ready = job->n_ready,
        .n_left = job->n_left,
        .n_window = job->n_window,
        .shard_s = table->shard_s[j],
        .straggler_s = left_s,
    };
    table->n_jobs++;
}

static void fill_table(const struct vrt_pool *pool, struct table *table)
{
    struct vrt_pool_job *job;

    for (size_t d = 0; d < pool->n_devices; d++)
        table->devices[d] = sched_row(&pool->devices[d]);
    table->n_jobs = 0;
    VRT_LIST_FOREACH(job, &pool->jobs, link)
        if (table->n_jobs < RUNNING_MAX)
            fill_row(pool, job, table);
}

/* Posts what the job gave for device `d`. Return: whether the device has it. */
static bool post_shard(struct vrt_pool_device *device, struct vrt_pool_job *job,
                       struct vrt_worker_task *task, double expected_s)
{
    struct vrt_pool_ticket *ticket = calloc(1, sizeof(*ticket));
    void *job_ctx = task->ctx;
    int r = -ENOMEM;

    job->turn = ++device->pool->n_turns;
    if (ticket) {
        *ticket = (struct vrt_pool_ticket){ .device = device, .job = job, .job_ctx = job_ctx,
                                            .expected_s = expected_s };
        vrt_list_init(&ticket->link);
        task->task.done = on_done;
        r = post(device, task, ticket);
    }
    if (r) {
        task->ctx = job_ctx;
        task->task.outcome = VRT_TASK_LOST;
        task->result = r;
        job->ops->returned(job, (size_t)(device - device->pool->devices), task);
        vrt_worker_task_free(task);
        return false;
    }
    vrt_list_append(&device->shards, &ticket->link);
    if (device->n_in_flight++ == 0)
        device->began_ns = vrt_clock_now_ns();
    device->expected_s += expected_s;
    device->tile_flops = VRT_MAX(device->tile_flops, job->tile_flops);
    return true;
}

/* Does what sched chose. Return: whether it could be done. */
static bool hand_out(struct vrt_pool *pool, const struct table *table,
                     const struct vrt_sched_choice *choice)
{
    struct vrt_pool_job *job = table->jobs[choice->job];
    struct vrt_worker_task *task;

    if (choice->is_copy)
        task = job->ops->copy(job, table->stragglers[choice->job]->job_ctx, choice->device);
    else
        task = job->ops->take(job, choice->device);
    return task && post_shard(&pool->devices[choice->device], job, task, choice->expected_s);
}

static void dispatch(struct vrt_pool *pool)
{
    VRT_CLEANUP(vrt_freep) struct table *table = malloc(sizeof(*table));
    struct vrt_sched_choice choice;
    bool again = table != NULL;

    while (again && !pool->is_stopping) {
        fill_table(pool, table);
        struct vrt_sched now = { table->devices, pool->n_devices, table->rows, table->n_jobs };
        again = vrt_sched_pick(&now, &choice) && hand_out(pool, table, &choice);
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
