/* SPDX-License-Identifier: MIT */
#pragma once

/* What a pool is made of: private to daemon/pool*.c. Everything here is the loop's. */

#include <uv.h>

#include "base/clock.h"
#include "daemon/devices/pool-job.h"

/* Networks, each on a class of devices, whose measurements are remembered. */
#define VRT_POOL_MEASURED_MAX 64
#define VRT_POOL_PROBES_MAX 64
#define VRT_POOL_QUESTION_BYTES 400

/* A turn of the timer that is later than this was kept from coming. */
#define VRT_POOL_STILL_NS (5 * VRT_NS_PER_S)

struct vrt_pool_device {
    struct vrt_pool *pool;
    const struct vrt_device_info *info;
    struct vrt_mailbox *mailbox;        /* NULL: no thread */
    enum vrt_device_state state;        /* READY also where it is busy */
    int speed_class;

    int n_in_flight_max;                /* shards it may hold: fewer while memory is short */
    int n_calm;                         /* shards done since it was short */

    /* What went wrong. */
    int n_failures;                     /* in a row */
    int n_quarantines;                  /* since a shard was done */
    int n_opens;                        /* that failed in a row */
    bool has_worked;                    /* it was ready, once */
    int64_t retry_ns;                   /* quarantined: when it is asked again; 0: being asked */
    char last_error[512];

    /* For people. */
    int64_t shards_done, shards_failed, frames_done;
    double shard_s;
    struct vrt_device_executor_usage usage;
    struct vrt_device_sensors sensors;
    int64_t told_at_ns;                 /* when it said how it is */
    bool is_asked;                      /* how it is */
    int64_t used_at_ns;                 /* when it was last given anything */
};

/* What was measured of a network on a class of devices, in each precision; NAN: nothing yet. */
struct vrt_pool_measured {
    uint64_t network_checksum;
    int speed_class;
    double fidelity_db[VRT_DTYPE_COUNT];
    double flops_per_s[VRT_DTYPE_COUNT];
    double kept_flops_per_s[VRT_DTYPE_COUNT];       /* as the store has it */
};

/* What a device answered to a question, see pool-probes.c. */
struct vrt_pool_probe {
    char question[VRT_POOL_QUESTION_BYTES];
    struct vrt_probe answer;            /* without its work */
    int64_t noted_ns;
};

struct vrt_pool {
    struct vrt_pool_params params;
    struct vrt_shared_registry *registry;
    struct vrt_replica_store *replicas;
    struct vrt_outbox *outbox;
    uv_timer_t timer;
    int64_t ticked_ns;                  /* the timer's last turn, or its start */
    int64_t awake_ns;                   /* since when no turn of it was late */

    size_t n_devices;
    struct vrt_pool_device *devices;
    struct vrt_list jobs;               /* of struct vrt_pool_job.link */
    struct vrt_sched *sched;            /* knows what the devices hold */
    uint64_t n_tellings;
    struct vrt_pool_measured measured[VRT_POOL_MEASURED_MAX];     /* a ring */
    size_t n_measured;                  /* ever begun */
    struct vrt_pool_probe probes[VRT_POOL_PROBES_MAX];            /* likewise */
    size_t n_probes;
    bool is_dispatching, dispatch_again;

    bool has_abandoned;                 /* a device's thread, which may be in a driver for ever */
    bool is_ending;                     /* jobs are being put back */
    bool is_stopping;
    int n_handles;                      /* of ours on the loop */
    void (*stopped)(void *ctx);
    void *stopped_ctx;
};

/* What the loop remembers of a task while it is with a device; it goes along as task->ctx. */
struct vrt_pool_ticket {
    struct vrt_pool_device *device;
    int64_t tile_flops;                 /* that it computes without a sign of life */
    bool is_shard;                      /* of a job; else it was submitted, as all others are */
    struct vrt_sched_run run;           /* shards only, as the next two */
    struct vrt_pool_job *job;           /* NULL: it was dropped */
    void *job_ctx;                      /* what task->ctx was */
    void (*returned)(void *ctx, size_t d, struct vrt_worker_task *task);    /* others */
    void *ctx;
};

/* Whether shards may be handed to the device, as far as its health goes. */
bool vrt_pool_device_takes_shards(const struct vrt_pool_device *device);

/* Takes the device out of use for a while, longer each time. */
void vrt_pool_device_quarantine(struct vrt_pool_device *device, const char *why);

/* For how long the device has been silent beyond what its task explains; 0: it hasn't been. */
double vrt_pool_device_silent_s(const struct vrt_pool_device *device);

/* Takes over what the task's answer tells of the device. */
void vrt_pool_device_note(struct vrt_pool_device *device, const struct vrt_worker_task *task);

/* Draws the conclusions of a task's outcome for the device itself. */
void vrt_pool_device_judge(struct vrt_pool_device *device, const struct vrt_worker_task *task);

/* Asks a device that is starting, or was quarantined, whether it works; starts its thread. */
void vrt_pool_device_ask(struct vrt_pool_device *device);

/* What is due every tick: gives up one that hangs, asks one whose quarantine is over, frees what
 * it kept warm for too long, asks one that rests how it is. */
void vrt_pool_device_tick(struct vrt_pool_device *device);

/* Takes over what earlier starts measured of the devices there are. Return: 0; -errno, and `error`
 * says why. */
int vrt_pool_recall(struct vrt_pool *pool, struct vrt_error *error);

/* Tells every job that a device came or went, or that time passed; or to stop. */
void vrt_pool_tell_jobs(struct vrt_pool *pool, bool stop);

/* A device's thread has ended. */
void vrt_pool_thread_ended(struct vrt_pool *pool);
