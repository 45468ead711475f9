/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The thread that owns a device, and what it can be asked for
 *
 * A worker begins by opening its device; a task that finds no device open fails with
 * VRT_BACKEND_E_LOST. A device that says it is lost is closed at once, with all it held; an OPEN
 * task opens it again and tries it out.
 *
 * Thread: the loop makes workers and their tasks, and is called back by their done; they are
 * performed on the worker's thread, which alone touches the device.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "backend/backend.h"
#include "base/error.h"
#include "workers/device/checkup.h"
#include "workers/mailbox.h"
#include "workers/device/device-executor.h"

/* Tasks that a worker may hold: some shards, and some of the small ones. */
#define VRT_WORKER_CAPACITY 64

enum vrt_worker_request {
    VRT_WORKER_OPEN,                /* opens the device, if it isn't, and tries it out */
    VRT_WORKER_PROBE,               /* struct vrt_worker_probe */
    VRT_WORKER_PREPARE,             /* makes ready for a job */
    VRT_WORKER_RUN,                 /* struct vrt_worker_run */
    VRT_WORKER_RELEASE,             /* a job is over */
    VRT_WORKER_TRIM,                /* struct vrt_worker_trim */
    VRT_WORKER_TELL,                /* does nothing: the answer says how the device is */
    VRT_WORKER_CHECKUP,             /* struct vrt_worker_checkup */
    VRT_WORKER_REQUEST_COUNT,
};

/* First member of every request. The loop reads the answer in done(), then frees it. */
struct vrt_worker_task {
    struct vrt_task task;           /* its done: set by whoever posts it */
    enum vrt_worker_request request;
    void *ctx;                      /* the loop's */

    /* The answer. */
    int result;                     /* what the device executor or backend returned */
    struct vrt_error error;         /* filled where it isn't 0 */
    int64_t busy_ns;                /* from taking the task, or returning the one before where that
                                     * was later, to returning it */
    struct vrt_device_executor_usage usage;
    struct vrt_device_sensors sensors;      /* a second old at most */
};

/* Asks how the device would do a job. */
struct vrt_worker_probe {
    struct vrt_worker_task base;
    struct vrt_probe probe;         /* question and answer; its spec: a reference */
};

/* Restores a shard. */
struct vrt_worker_run {
    struct vrt_worker_task base;
    struct vrt_job_spec *spec;      /* a reference */
    enum vrt_dtype dtype;
    int batch;                      /* frames at a time; 0: as suits the device */
    struct vrt_shard_frames frames; /* references */
    int64_t tile_flops;             /* of a frame or clip: 0: little */
    bool by_ops;                    /* op by op, to fill `op_times` */
    bool accepts_odd;               /* see struct vrt_device_executor_order */
    atomic_llong done_flops;        /* of vrt_speed_shard_flops(), so far: anybody may look */

    /* The answer. */
    struct vrt_session_times times;
    struct vrt_op_times op_times;   /* `by_ops` */
    int64_t job_bytes;              /* what `spec` takes of the device, -1: nothing */
};

/* Gives up replicas that have been idle for long, then begins the peak anew. */
struct vrt_worker_trim {
    struct vrt_worker_task base;
    int64_t idle_ns;                /* for so long; INT64_MAX: none is given up */
    bool resets_peak;

    /* The answer. */
    int64_t freed_bytes;            /* of the device */
    int64_t peak_bytes;             /* as it was, where it is reset */
};

/* Examines the device; fails only where it is lost. */
struct vrt_worker_checkup {
    struct vrt_worker_task base;
    struct vrt_checkup *checkup;    /* to be filled in; owned */
};

/* A registry that lives as long as any thread may look into it, abandoned ones included. */
struct vrt_shared_registry;

/* Takes the registry over. Return: 0; -ENOMEM: it is still the caller's. */
int vrt_shared_registry_new(struct vrt_registry *registry,
                            struct vrt_shared_registry **ret_shared);

/* What it shares. */
const struct vrt_registry *vrt_shared_registry_get(const struct vrt_shared_registry *shared);

/* One reference less; the last one frees the registry. Thread: any. Return: NULL. */
struct vrt_shared_registry *vrt_shared_registry_unref(struct vrt_shared_registry *shared);

struct vrt_worker_params {
    struct vrt_outbox *outbox;
    struct vrt_shared_registry *registry;   /* a reference is taken */
    const struct vrt_device_info *info;
    struct vrt_device_executor_params executor;
    void (*ended)(void *ctx, bool abandoned);   /* as of the mailbox */
    void *ctx;
};

/*
 * Starts the worker; it is stopped or abandoned through its mailbox, to which tasks are posted.
 * Return: 0, -errno.
 */
int vrt_worker_new(const struct vrt_worker_params *params, struct vrt_mailbox **ret_mailbox);

/* The requests. Of `spec` a reference is taken. Return: NULL: no memory. */
struct vrt_worker_task *vrt_worker_open_new(void);
struct vrt_worker_probe *vrt_worker_probe_new(struct vrt_job_spec *spec);
struct vrt_worker_task *vrt_worker_prepare_new(struct vrt_job_spec *spec, enum vrt_dtype dtype,
                                               int batch);
struct vrt_worker_run *vrt_worker_run_new(struct vrt_job_spec *spec, enum vrt_dtype dtype,
                                          int batch);
struct vrt_worker_task *vrt_worker_release_new(struct vrt_job_spec *spec);
struct vrt_worker_trim *vrt_worker_trim_new(int64_t idle_ns, bool resets_peak);
struct vrt_worker_task *vrt_worker_tell_new(void);

/* Takes `checkup` over where there is memory. */
struct vrt_worker_checkup *vrt_worker_checkup_new(struct vrt_checkup *checkup);

/* The request around `task`, which is such a one. */
static inline struct vrt_worker_probe *vrt_worker_probe_of(struct vrt_worker_task *task)
{
    vrt_assert(task->request == VRT_WORKER_PROBE);
    return vrt_container_of(task, struct vrt_worker_probe, base);
}

static inline struct vrt_worker_run *vrt_worker_run_of(struct vrt_worker_task *task)
{
    vrt_assert(task->request == VRT_WORKER_RUN);
    return vrt_container_of(task, struct vrt_worker_run, base);
}

/* Frees the request with the references it holds. Thread: whoever owns it. Return: NULL. */
struct vrt_worker_task *vrt_worker_task_free(struct vrt_worker_task *task);

VRT_DEFINE_CLEANUP(struct vrt_worker_task, vrt_worker_task_free)
