/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The pool, for those whose work it hands out: pipelines, and profiles, which have tasks only
 *
 * A pipeline embeds a vrt_pool_job and says in it how many shards it has ready, and where the next
 * may go. The pool asks sched after each event, takes a shard for the device chosen, and brings
 * it back when the device has returned it, whatever became of the device.
 *
 * Thread: the loop's, all of it.
 */

#include <sys/types.h>

#include "base/list.h"
#include "daemon/devices/measurements.h"
#include "daemon/devices/pool.h"
#include "daemon/devices/probe-cache.h"
#include "daemon/sched/sched.h"
#include "workers/plan/device-request.h"
#include "workers/mailbox.h"
#include "workers/device/worker.h"

struct vrt_pool_job;

struct vrt_pool_job_ops {
    /* The next shard, for device `d`: the pool posts it, and frees it after returned(). NULL: there
     * is none after all. */
    struct vrt_worker_run *(*take)(struct vrt_pool_job *job, size_t d);

    /* Which devices may run a shard once more, beside the one that has it: bit d for device d.
     * `ctx`: run->base.ctx as take() left it. */
    uint64_t (*may_copy)(const struct vrt_pool_job *job, const void *ctx);

    /* That shard once more, for device `d`; else as take(), with the same ctx. */
    struct vrt_worker_run *(*copy)(struct vrt_pool_job *job, void *ctx, size_t d);

    /* A shard came back from device `d`: see run->base.task.outcome, then run->base.result. Its
     * results may be stolen, unless it was abandoned: then nothing but run->base.ctx may be read.
     */
    void (*returned)(struct vrt_pool_job *job, size_t d, struct vrt_worker_run *run);

    /* About once a second, and when a device came or went. */
    void (*tick)(struct vrt_pool_job *job);

    /* The pool is stopping: end. vrt_pool_job_remove() must follow, not from within. */
    void (*stop)(struct vrt_pool_job *job);
};

struct vrt_pool_job {
    const struct vrt_pool_job_ops *ops;

    /* Kept by the pipeline. */
    int priority;
    uid_t uid;                      /* whose it is: users of equal priority share by turns */
    int n_ready;                    /* shards that can be handed out now */
    int n_left;                     /* shards not handed out yet; INT_MAX: nobody knows */
    int n_window;                   /* shards that may run ahead of an unfinished one */
    bool is_held_up;                /* none gets ready before one that runs is done */
    uint64_t devices;               /* bit d: device d may take the next shard */
    struct vrt_network *network;    /* once it is known; borrowed */
    int64_t tile_flops;             /* the longest that a device computes without a sign of life */

    /* Kept by the pool. */
    struct vrt_list link;
    uint64_t n_told;                /* of the dispatch */
    struct vrt_sched_job sched;     /* its kind is NULL: it never had anything to be handed out */
};

/* Lists `job`, which has nothing ready yet. Until it is removed, the pool doesn't end. */
void vrt_pool_job_add(struct vrt_pool *pool, struct vrt_pool_job *job);

/* No task of the job is with a device any more, but those that were dropped. */
void vrt_pool_job_remove(struct vrt_pool *pool, struct vrt_pool_job *job);

/* Says that a job's fields changed: shards will be handed out, not from within this call's job. */
void vrt_pool_wake(struct vrt_pool *pool);

/*
 * A shard's run that is with a device is not wanted any more: it is cancelled, and freed without
 * returned() when it comes back, which is not waited for.
 */
void vrt_pool_job_drop(struct vrt_pool_job *job, struct vrt_worker_run *run);

/*
 * Posts a task to device `d`, one of RUN behind the shards that it holds: what belongs to a job
 * goes by take() instead, so that it counts among the job's. `returned` is called once, on the
 * loop, never from within; the task is freed after it. A device that has no thread now returns it
 * as LOST.
 * Return: 0; -errno: the task is freed, `returned` won't be called.
 */
int vrt_pool_submit(struct vrt_pool *pool, size_t d, struct vrt_worker_task *task,
                    void (*returned)(void *ctx, size_t d, struct vrt_worker_task *task),
                    void *ctx);

/*
 * Whoever submitted `task` doesn't wait for it any more: `returned` won't be called. What a probe
 * finds out in the end is known for the next job. `cancel`: the device need not go on with it.
 */
void vrt_pool_forsake(struct vrt_pool *pool, struct vrt_worker_task *task, bool cancel);

/* Says that results of device `d` were wrong, as others' show: it is quarantined. */
void vrt_pool_blame(struct vrt_pool *pool, size_t d, const char *why);

/* Sets of devices: bit d for device d. */
struct vrt_pool_devices {
    uint64_t ready;                 /* take shards now */
    uint64_t starting;              /* are being opened for the first time */
    uint64_t hopeful;               /* may take shards again: starting or quarantined */
};

struct vrt_pool_devices vrt_pool_devices(const struct vrt_pool *pool);

/* Devices that have given no sign of life for longer than what they were given explains. */
uint64_t vrt_pool_silent_devices(const struct vrt_pool *pool);

/* Equal numbers: devices of one class. */
int vrt_pool_device_class(const struct vrt_pool *pool, size_t d);

/* For probes of device `d`: as of vrt_pool_set_memory_fraction(). */
double vrt_pool_memory_fraction(const struct vrt_pool *pool, size_t d);

/* Why device `d` failed last, without its name; "" if it never did. */
const char *vrt_pool_device_error(const struct vrt_pool *pool, size_t d);

/* A reference to what stands for `network`: that of a listed job with the same weights, or itself;
 * the reference given is dropped. So that a queue of jobs holds a model once. */
struct vrt_network *vrt_pool_share_network(const struct vrt_pool *pool,
                                           struct vrt_network *network);

/* What was measured of networks on the devices. */
struct vrt_measurements *vrt_pool_measurements(const struct vrt_pool *pool);

/* What the devices answered of late. */
struct vrt_probe_cache *vrt_pool_probe_cache(const struct vrt_pool *pool);

/* What it was made with, the defaults filled in; without what the caller need not keep. */
const struct vrt_pool_params *vrt_pool_params(const struct vrt_pool *pool);

/* For the pipelines' own threads. */
struct vrt_outbox *vrt_pool_outbox(struct vrt_pool *pool);

/* Whether vrt_pool_stop() was called. */
bool vrt_pool_is_stopping(const struct vrt_pool *pool);
