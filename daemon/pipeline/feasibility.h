/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Which devices can do a job, and in what clips and tiles: found out by asking each of them
 *
 *     vrt_feasibility_begin() -> vrt_feasibility_step(), whenever something happened, until it says
 *     that it is over -> vrt_feasibility_tell(); vrt_feasibility_done() at any time
 *
 * Nothing is held for the job on any device then but the replicas that a probe leaves warm, which
 * others may push out: an admitted job may wait for hours. Thread: the loop's.
 */

#include "daemon/pipeline/patience.h"
#include "daemon/pipeline/progress.h"
#include "workers/media/job-check.h"

enum vrt_feasibility_outcome {
    VRT_FEASIBILITY_ASKING = 1,         /* an answer, or a time, is waited for */
};

/* What it points to must outlive the object. */
struct vrt_feasibility_params {
    struct vrt_pool *pool;
    struct vrt_progress *progress;      /* is told of devices, and warned */
    const char *job_id;
    const char *request;                /* for devices: workers/plan/device-request.h */
    enum vrt_fallback fallback;
    uid_t uid;                          /* whose the job is */
    bool has_recipe;                    /* the job is about to run, by the recipe that it has */
    bool wants_smaller;                 /* than that recipe's */
    bool needs_none;                    /* no frame is left to restore: no device is asked */
    bool wants_speed;                   /* devices find out how fast they are */
    void (*answered)(void *ctx);        /* by a device: a step is due */
    void *ctx;
};

/* What is known of a device. */
struct vrt_feasibility_device {
    struct vrt_worker_task *probe;      /* that is out; NULL: none */
    bool is_probed;
    int n_refusals;                     /* probes that failed by the device's own fault */
    enum vrt_dtype dtype;
    struct vrt_job_spec_size size;      /* that it was probed for */
};

struct vrt_feasibility {
    struct vrt_feasibility_params params;

    /* The answer, once it is over. */
    struct vrt_job_spec *spec;          /* a reference; NULL before it has begun */
    uint64_t devices;                   /* that take part */
    int64_t tile_flops;                 /* of the network on one tile of a clip */
    bool uses_cpu_instead;              /* as of struct vrt_pipeline_info */

    /* On its way. */
    struct vrt_job_spec_size size;      /* the smallest that a device needs */
    struct vrt_job_spec_size wanted_size;
    uint64_t wanted;                    /* devices that the request names */
    uint64_t asked;                     /* devices whose probe is to come */
    uint64_t short_of_memory;           /* devices that had too little when they were asked */
    uint64_t lacking;                   /* devices that lack an op */
    int n_memory_waits;                 /* for those */
    int64_t ask_again_ns;               /* the next one is over; 0: there is none */
    struct vrt_error error;             /* of the last device that refused */
    struct vrt_patience patience;
    struct vrt_feasibility_device of[VRT_DEVICES_MAX];
};

/* Nobody is asked yet. */
void vrt_feasibility_init(struct vrt_feasibility *feasibility,
                          const struct vrt_feasibility_params *params);

/* Resolves the request for devices, and makes what they will be asked about of an admission that
 * went well. Return: 0; -errno with `error`. */
int vrt_feasibility_begin(struct vrt_feasibility *feasibility,
                          const struct vrt_job_check *check, struct vrt_error *error);

/*
 * Asks the devices that can be asked. Return: VRT_FEASIBILITY_ASKING, also before it has begun; 0:
 * it is over, and there is a device, unless none is needed; -errno: it is over, `error` says why
 * the job can't be done.
 */
int vrt_feasibility_step(struct vrt_feasibility *feasibility, struct vrt_error *error);

/* What was found, where it went well; warns of what the submitter would wonder at. */
void vrt_feasibility_tell(struct vrt_feasibility *feasibility,
                          const struct vrt_job_check *check,
                          struct vrt_pipeline_info *ret_info);

/* Waits for no answer any more. */
void vrt_feasibility_forsake(struct vrt_feasibility *feasibility);

/* Drops what it holds; no answer may be waited for. */
void vrt_feasibility_done(struct vrt_feasibility *feasibility);
