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
#include "daemon/devices/pool.h"
#include "daemon/sched/sched.h"
#include "workers/plan/device-request.h"
#include "workers/mailbox.h"
#include "workers/device/worker.h"

struct vrt_pool_job;

struct vrt_pool_job_ops {
    /* The next shard, as a RUN task for device `d`: the pool posts it, and frees it after
     * returned(). NULL: there is none after all. */
    struct vrt_worker_task *(*take)(struct vrt_pool_job *job, size_t d);

    /* Which devices may run a shard once more, beside the one that has it: bit d for device d.
     * `ctx`: task->ctx as take() left it. */
    uint64_t (*may_copy)(const struct vrt_pool_job *job, const void *ctx);

    /* That shard once more, for device `d`; else as take(), with the same task->ctx. */
    struct vrt_worker_task *(*copy)(struct vrt_pool_job *job, void *ctx, size_t d);

    /* A shard's task came back from device `d`: see task->task.outcome, then task->result. Its
     * results may be stolen, unless it was abandoned: then nothing but task->ctx may be read. */
    void (*returned)(struct vrt_pool_job *job, size_t d, struct vrt_worker_task *task);

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
    uint64_t n_told;                /* of pool->n_tellings */
    struct vrt_sched_job sched;     /* its kind is NULL: it never had anything to be handed out */
};

/* Lists `job`, which has nothing ready yet. Until it is removed, the pool doesn't end. */
void vrt_pool_job_add(struct vrt_pool *pool, struct vrt_pool_job *job);

/* No task of the job is with a device any more, but those that were dropped. */
void vrt_pool_job_remove(struct vrt_pool *pool, struct vrt_pool_job *job);

/* Says that a job's fields changed: shards will be handed out, not from within this call's job. */
void vrt_pool_wake(struct vrt_pool *pool);

/*
 * A shard's task that is with a device is not wanted any more: it is cancelled, and freed without
 * returned() when it comes back, which is not waited for.
 */
void vrt_pool_job_drop(struct vrt_pool_job *job, struct vrt_worker_task *task);

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
void vrt_pool_forsake(struct vrt_worker_task *task, bool cancel);

/* Says that results of device `d` were wrong, as others' show: it is quarantined. */
void vrt_pool_blame(struct vrt_pool *pool, size_t d, const char *why);

/* Devices that take shards now; that are being opened for the first time; that may take shards
 * again: starting or quarantined. */
uint64_t vrt_pool_ready_devices(const struct vrt_pool *pool);
uint64_t vrt_pool_starting_devices(const struct vrt_pool *pool);
uint64_t vrt_pool_hopeful_devices(const struct vrt_pool *pool);

/* Devices that have been tried so often, and have not worked once since the daemon began. */
uint64_t vrt_pool_unfit_devices(const struct vrt_pool *pool, int n_tries);

/* Devices that have given no sign of life for longer than what they were given explains. */
uint64_t vrt_pool_silent_devices(const struct vrt_pool *pool);

/* Equal numbers: devices of one class. */
int vrt_pool_device_class(const struct vrt_pool *pool, size_t d);

/* Why device `d` failed last, without its name; "" if it never did. */
const char *vrt_pool_device_error(const struct vrt_pool *pool, size_t d);

/* A reference to what stands for `network`: that of a listed job with the same weights, or itself;
 * the reference given is dropped. So that a queue of jobs holds a model once. */
struct vrt_network *vrt_pool_share_network(const struct vrt_pool *pool,
                                           struct vrt_network *network);

/* What a network loses in each precision on devices of d's class, in dB: [VRT_DTYPE_COUNT]; NAN
 * where nobody measured it. It may move with the next call. */
const double *vrt_pool_fidelity(struct vrt_pool *pool, uint64_t network_checksum, size_t d);

/* How fast such devices run a network in each precision, in operations of vrt_op_flops() a second
 * of whole shards: likewise. */
const double *vrt_pool_speed(struct vrt_pool *pool, uint64_t network_checksum, size_t d);

/* What device `d` answered to the probe, for whoever asks the same soon; no makeshift. */
void vrt_pool_note_probe(struct vrt_pool *pool, size_t d, const struct vrt_probe *probe);

/* Fills in what it answered to the same question within the last minute. Return: whether there was
 * such a question. */
bool vrt_pool_recall_probe(struct vrt_pool *pool, size_t d, struct vrt_probe *probe);

/* What is no NAN is known from now on, and at the next start. */
void vrt_pool_note_fidelity(struct vrt_pool *pool, uint64_t network_checksum, size_t d,
                            const double fidelity_db[VRT_DTYPE_COUNT]);

/* What was measured on small frames counts until shards tell more. */
void vrt_pool_note_measurement(struct vrt_pool *pool, uint64_t network_checksum, size_t d,
                         enum vrt_dtype dtype, double flops_per_s);

/* Takes the time of a shard that device `d` returned into account there; `tile_flops` of one run
 * of the network. */
void vrt_pool_note_speed(struct vrt_pool *pool, size_t d, const struct vrt_worker_task *task,
                         int64_t tile_flops);

/* How long a job waits until one of its devices works again; and before it asks them a second
 * time for memory. */
double vrt_pool_patience_s(const struct vrt_pool *pool);
double vrt_pool_retry_s(const struct vrt_pool *pool);

/* For the pipelines' own threads. */
struct vrt_outbox *vrt_pool_outbox(struct vrt_pool *pool);

/* Whether vrt_pool_stop() was called. */
bool vrt_pool_is_stopping(const struct vrt_pool *pool);
