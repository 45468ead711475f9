/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A profile: how fast one device runs a network, and what its time goes into
 *
 * The device is probed as for a job on frames of the size asked for, then restores made-up frames
 * of it (workers/device/speed.h), each a task of its own that queues behind the shards which the
 * device holds: jobs go on meanwhile, and the time spent waiting for them isn't counted. At last
 * one frame is run op by op, for the shares of the kinds of ops.
 *
 * Thread: the loop's.
 */

#include <sys/types.h>

#include "backend/backend.h"
#include "base/error.h"
#include "model/network.h"
#include "msg_plan.h"
#include "workers/plan/device-request.h"

struct vrt_pool;
struct vrt_profile;

/* Strings and this struct need to live only until vrt_profile_new() returns. */
struct vrt_profile_params {
    struct vrt_network *network;    /* a reference is taken */
    const char *model_name;
    const char *devices;            /* see workers/plan/device-request.h: the first that is ready */
    enum vrt_fallback fallback;
    const struct vrt_job_settings *settings;    /* as of a job; precision, tile and overlap count */
    int width, height;
    int batch;                      /* frames at a time; 0: as suits the device */
    int frames;                     /* that are timed; 0: until some seconds are over */
    const uid_t *keeps_for;         /* from now on his jobs on such frames are done like this;
                                     * VRT_MEASURED_FOR_ALL: everybody's; NULL: nobody's */

    /* Called once, on the loop, never from within vrt_profile_new(): `error` is NULL where there is
     * a report, which lives until it returns; the id is "job.cancelled" after
     * vrt_profile_cancel(). The profile frees itself afterwards. */
    void (*done)(void *ctx, const struct vrt_profile_report *report,
                 const struct vrt_error *error);
    void *ctx;
};

/* Begins a profile. Return: 0; -errno, and `error` says why: then `done` will not be called. */
int vrt_profile_new(struct vrt_pool *pool, const struct vrt_profile_params *params,
                    struct vrt_profile **ret_profile, struct vrt_error *error) VRT_MUST_CHECK;

/* Nobody wants to know any more: it ends within a tile's time. */
void vrt_profile_cancel(struct vrt_profile *profile);
