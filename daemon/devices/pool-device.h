/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A device as the loop sees it: its worker thread and mailbox, its health, and what it told
 *
 * Whatever is posted to a device goes by here, so that each outcome says something about the
 * device's health before it is told to whoever asked. What the device does to others it says by the
 * callbacks of struct vrt_pool_shared.
 *
 * Thread: the loop's, all of it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/devices/measurements.h"
#include "daemon/devices/pool.h"
#include "workers/device/worker.h"
#include "workers/mailbox.h"

struct vrt_replica_store;

/* What the devices of a pool have in common; the pool's. */
struct vrt_pool_shared {
    struct vrt_pool_params params;
    const struct vrt_device_info *const *infos;
    size_t n_infos;
    struct vrt_shared_registry *registry;
    struct vrt_replica_store *replicas;
    struct vrt_outbox *outbox;          /* NULL: it was closed */
    struct vrt_measurements *measurements;
    int64_t ticked_ns;                  /* the last tick; 0: none */
    int64_t awake_ns;                   /* since when no tick was late */
    bool is_ending;                     /* jobs are being put back */
    bool is_stopping;

    /* Called by devices, on the loop. */
    void (*opened)(void *ctx);          /* one was opened, or failed to be */
    void (*lost)(void *ctx, size_t d);  /* its driver says so */
    void (*returned)(void *ctx);        /* a task, to whoever posted it: there may be room */
    void (*ended)(void *ctx, bool abandoned);       /* a device's thread */
    void *ctx;
};

struct vrt_pool_device {
    struct vrt_pool_shared *shared;
    size_t index;
    const struct vrt_device_info *info;
    struct vrt_mailbox *mailbox;        /* NULL: no thread */
    enum vrt_device_state state;        /* READY also where it is busy */

    int n_in_flight;                    /* shards it holds, dropped ones included */
    int n_in_flight_max;                /* that it may hold: fewer while memory is short */
    int n_calm;                         /* shards done since it was short */
    double memory_fraction;             /* of its free memory, that jobs may take */

    /* What went wrong. */
    int n_failures;                     /* in a row */
    int n_quarantines;                  /* since a shard was done */
    int n_opens;                        /* that failed in a row */
    bool has_worked;                    /* it was ready, once */
    int64_t retry_ns;                   /* quarantined: when it is asked again; 0: being asked */
    char last_error[512];

    /* For people. */
    int64_t shards_done, shards_failed, frames_done;
    int64_t n_quarantined;              /* ever */
    struct vrt_histogram shard_times;
    double shard_s;
    struct vrt_device_executor_usage usage;
    struct vrt_device_sensors sensors;
    int64_t told_at_ns;                 /* when it said how it is */
    bool is_asked;                      /* how it is */
    int64_t used_at_ns;                 /* when it was last given anything */
};

/* What the loop remembers of a task while it is with a device; it goes along as task->ctx. First
 * member of what others remember besides. */
struct vrt_pool_ticket {
    struct vrt_pool_device *device;
    bool is_shard;                      /* of a job: it counts */
    bool is_dropped;                    /* and isn't wanted: a failure says nothing, unless lost */
    void (*returned)(void *ctx, size_t d, struct vrt_worker_task *task);    /* NULL: nobody waits */
    void *ctx;
};

/* Notes that the loop looks: when the pool begins, and every tick. While it could not, no device
 * could give a sign of life. */
void vrt_pool_shared_tick(struct vrt_pool_shared *shared);

/* Number `d` of those in `shared`, which has no thread yet. */
void vrt_pool_device_init(struct vrt_pool_device *device, struct vrt_pool_shared *shared, size_t d);

/*
 * Gives `task` to the device's thread. The ticket, of malloc(), is taken over in any case; the task
 * where it is posted: it is freed after ticket->returned, which is called once, never from within.
 * Return: 0; -errno.
 */
int vrt_pool_device_post(struct vrt_pool_device *device, struct vrt_worker_task *task,
                         struct vrt_pool_ticket *ticket);

/* The same for a task that is no shard. The task is taken over in any case. */
int vrt_pool_device_submit(struct vrt_pool_device *device, struct vrt_worker_task *task,
                           void (*returned)(void *ctx, size_t d, struct vrt_worker_task *task),
                           void *ctx);

/* Asks a device that is starting, was quarantined or is suspected, whether it works; starts its
 * thread. */
void vrt_pool_device_ask(struct vrt_pool_device *device);

/* What is due every tick: gives up one that hangs, asks one whose quarantine is over, frees what
 * it kept warm for too long, asks one that rests how it is. */
void vrt_pool_device_tick(struct vrt_pool_device *device);

/* Takes the device out of use for a while, longer each time. */
void vrt_pool_device_quarantine(struct vrt_pool_device *device, const char *why);

/* Draws the conclusions of a task's outcome for the device itself. */
void vrt_pool_device_judge(struct vrt_pool_device *device, const struct vrt_worker_task *task);

/* Whether shards may be handed to the device, as far as its health goes. */
bool vrt_pool_device_takes_shards(const struct vrt_pool_device *device);

/* For how long the device has been silent beyond what its task explains; 0: it hasn't been. */
double vrt_pool_device_silent_s(const struct vrt_pool_device *device);

/* The device as it is now, for people. */
void vrt_pool_device_snapshot(const struct vrt_pool_device *device,
                              struct vrt_device_snapshot *ret_snapshot);
