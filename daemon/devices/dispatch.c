/* SPDX-License-Identifier: MIT */

/*
 * Handing out: after every event the pool tells sched what became of devices and jobs, and does
 * what that says until it says no more. Between a device's return of one shard and its next stands
 * at most one turn of the loop, and the device has a second shard in its queue to bridge that.
 */

#include "daemon/devices/dispatch.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/thread.h"
#include "daemon/sched/sched.h"

struct vrt_dispatch {
    struct vrt_pool_device *devices;
    size_t n_devices;
    struct vrt_measurements *measurements;
    struct vrt_sched *sched;            /* knows what the devices hold */
    struct vrt_list jobs;               /* of struct vrt_pool_job.link */
    uint64_t n_tellings;
    bool is_dispatching, dispatch_again;
    bool is_stopping;
};

/* A shard that is with a device. */
struct handed {
    struct vrt_pool_ticket ticket;
    struct vrt_dispatch *dispatch;
    struct vrt_sched_run run;
    struct vrt_pool_job *job;           /* NULL: it was dropped */
    void *job_ctx;                      /* what task->ctx was */
};

int vrt_dispatch_new(struct vrt_pool_device *devices, size_t n_devices,
                     struct vrt_measurements *measurements, struct vrt_dispatch **ret_dispatch)
{
    VRT_CLEANUP(vrt_dispatch_freep) struct vrt_dispatch *dispatch = calloc(1, sizeof(*dispatch));
    int speed_classes[VRT_DEVICES_MAX];

    if (!dispatch)
        return vrt_raise(-ENOMEM);
    vrt_list_init(&dispatch->jobs);
    dispatch->devices = devices;
    dispatch->n_devices = n_devices;
    dispatch->measurements = measurements;
    for (size_t d = 0; d < n_devices; d++)
        speed_classes[d] = vrt_measurements_class(measurements, d);
    int r = vrt_sched_new(n_devices, speed_classes, &dispatch->sched);
    if (r < 0)
        return vrt_fold(r);
    *ret_dispatch = VRT_STEAL(dispatch);
    return 0;
}

struct vrt_dispatch *vrt_dispatch_free(struct vrt_dispatch *dispatch)
{
    if (!dispatch)
        return NULL;
    vrt_sched_free(dispatch->sched);
    free(dispatch);
    return NULL;
}

/* What time it is, to sched. */
static double now_s(void)
{
    return (double)vrt_clock_now_ns() / VRT_NS_PER_S;
}

/* On the loop: a device returned a shard. */
static void returned(void *ctx, size_t d, struct vrt_worker_task *task)
{
    struct handed *handed = ctx;
    struct vrt_dispatch *dispatch = handed->dispatch;
    struct vrt_pool_job *job = handed->job;
    struct vrt_worker_run *run = vrt_worker_run_of(task);

    vrt_sched_run_end(dispatch->sched, &handed->run, now_s());
    if (!job)
        return;
    if (task->task.outcome == VRT_TASK_DONE) {
        vrt_sched_kind_measure(job->sched.kind, d, (double)task->busy_ns / VRT_NS_PER_S);
        vrt_measurements_note_run(dispatch->measurements, d, run);
    }
    task->ctx = handed->job_ctx;
    job->ops->returned(job, d, run);
}

void vrt_pool_job_drop(struct vrt_pool_job *job, struct vrt_worker_run *run)
{
    struct handed *handed = vrt_container_of(run->base.ctx, struct handed, ticket);

    vrt_assert_thread(VRT_THREAD_LOOP);
    vrt_assert(handed->job == job);
    handed->job = NULL;
    handed->ticket.is_dropped = true;
    vrt_sched_run_drop(&handed->run);
    atomic_store(&run->base.task.cancel, true);
}

/* Makes the job known to sched. Return: whether it is; if not, for want of memory, it is tried
 * again at the next tick. */
static bool list(struct vrt_dispatch *dispatch, struct vrt_pool_job *job)
{
    int r = vrt_sched_kind_new(dispatch->sched, &job->sched.kind);

    job->sched.priority = job->priority;
    job->sched.uid = job->uid;
    if (r == 0)
        r = vrt_sched_job_add(dispatch->sched, &job->sched);
    if (r < 0)
        job->sched.kind = vrt_sched_kind_free(job->sched.kind);
    return r == 0;
}

/* Tells sched what the job has to be handed out. */
static void tell_job(struct vrt_dispatch *dispatch, struct vrt_pool_job *job)
{
    const struct vrt_sched_set devices = { { job->devices } };
    struct vrt_sched_job *sched = &job->sched;

    if (!sched->kind && (job->n_ready <= 0 || !list(dispatch, job)))
        return;
    sched->priority = job->priority;
    sched->n_ready = job->n_ready;
    sched->n_left = job->n_left;
    sched->n_window = job->n_window;
    sched->is_held_up = job->is_held_up;
    vrt_sched_kind_set_devices(sched->kind, &devices);
    vrt_sched_job_update(dispatch->sched, sched);
}

static void tell_sched(struct vrt_dispatch *dispatch)
{
    struct vrt_pool_job *job;

    for (size_t d = 0; d < dispatch->n_devices; d++) {
        const struct vrt_pool_device *device = &dispatch->devices[d];
        vrt_sched_set_device(dispatch->sched, d, vrt_pool_device_takes_shards(device),
                             device->n_in_flight_max);
    }
    VRT_LIST_FOREACH(job, &dispatch->jobs, link)
        tell_job(dispatch, job);
}

/* Posts the run of what was chosen. Return: whether the device has it; if not, the job has it
 * back, and may be gone. */
static bool post_shard(struct vrt_dispatch *dispatch, const struct vrt_sched_choice *choice,
                       struct vrt_worker_run *run)
{
    struct vrt_pool_job *job = vrt_container_of(choice->job, struct vrt_pool_job, sched);
    struct handed *handed = calloc(1, sizeof(*handed));
    void *job_ctx = run->base.ctx;
    int r = -ENOMEM;

    run->tile_flops = job->tile_flops;
    if (handed) {
        *handed = (struct handed){
            .ticket = { .is_shard = true, .returned = returned, .ctx = handed },
            .dispatch = dispatch,
            .job = job,
            .job_ctx = job_ctx,
        };
        r = vrt_pool_device_post(&dispatch->devices[choice->device], &run->base, &handed->ticket);
    }
    if (r < 0) {
        run->base.ctx = job_ctx;
        run->base.task.outcome = VRT_TASK_LOST;
        run->base.result = r;
        job->ops->returned(job, choice->device, run);
        vrt_worker_task_free(&run->base);
        return false;
    }
    handed->run.copiers.words[0] = job->ops->may_copy(job, job_ctx);
    vrt_sched_run_begin(dispatch->sched, &handed->run, choice, now_s());
    tell_job(dispatch, job);
    return true;
}

/* The run of what was chosen; NULL: the job gives none after all. */
static struct vrt_worker_run *make_run(const struct vrt_sched_choice *choice)
{
    struct vrt_pool_job *job = vrt_container_of(choice->job, struct vrt_pool_job, sched);
    void *job_ctx;

    if (!choice->straggler)
        return job->ops->take(job, choice->device);
    job_ctx = vrt_container_of(choice->straggler, struct handed, run)->job_ctx;
    /* A device may have left the job since, or failed with a copy of the shard. */
    choice->straggler->copiers.words[0] = job->ops->may_copy(job, job_ctx);
    if (!vrt_sched_set_has(&choice->straggler->copiers, choice->device))
        return NULL;
    return job->ops->copy(job, job_ctx, choice->device);
}

static void hand_out(struct vrt_dispatch *dispatch)
{
    struct vrt_sched_choice choice;

    tell_sched(dispatch);
    while (!dispatch->is_stopping && vrt_sched_pick(dispatch->sched, now_s(), &choice)) {
        struct vrt_worker_run *run = make_run(&choice);
        if (!run) {
            /* It stands in nobody's way until the next event. */
            choice.job->n_ready = 0;
            choice.job->is_held_up = false;
            vrt_sched_job_update(dispatch->sched, choice.job);
        } else if (!post_shard(dispatch, &choice, run)) {
            break;
        }
    }
}

void vrt_dispatch_wake(struct vrt_dispatch *dispatch)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    dispatch->dispatch_again = true;
    if (dispatch->is_dispatching)
        return;
    /* Handing a shard out may call back a job, which may wake the pool: then go round again. */
    dispatch->is_dispatching = true;
    while (dispatch->dispatch_again) {
        dispatch->dispatch_again = false;
        hand_out(dispatch);
    }
    dispatch->is_dispatching = false;
}

/* A job's answer may be to remove itself, or others. */
static void tell_jobs(struct vrt_dispatch *dispatch, bool stop)
{
    uint64_t telling = ++dispatch->n_tellings;
    struct vrt_pool_job *job, *next;

    do {
        next = NULL;
        VRT_LIST_FOREACH(job, &dispatch->jobs, link)
            if (!next && job->n_told < telling)
                next = job;
        if (next) {
            next->n_told = telling;
            (stop ? next->ops->stop : next->ops->tick)(next);
        }
    } while (next);
}

void vrt_dispatch_tick(struct vrt_dispatch *dispatch)
{
    tell_jobs(dispatch, false);
}

void vrt_dispatch_stop(struct vrt_dispatch *dispatch)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    dispatch->is_stopping = true;
    tell_jobs(dispatch, true);
}

void vrt_dispatch_add(struct vrt_dispatch *dispatch, struct vrt_pool_job *job)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    job->n_told = dispatch->n_tellings;
    vrt_list_append(&dispatch->jobs, &job->link);
}

void vrt_dispatch_remove(struct vrt_dispatch *dispatch, struct vrt_pool_job *job)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    vrt_list_remove(&job->link);
    if (!job->sched.kind)
        return;
    vrt_sched_job_remove(dispatch->sched, &job->sched);
    job->sched.kind = vrt_sched_kind_free(job->sched.kind);
}

const struct vrt_list *vrt_dispatch_jobs(const struct vrt_dispatch *dispatch)
{
    return &dispatch->jobs;
}
