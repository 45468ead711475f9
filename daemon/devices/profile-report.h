/* SPDX-License-Identifier: MIT */
#pragma once

/* What a profile found out, and how it is told. Thread: any one at a time. */

#include "engine/graph-executor.h"
#include "msg_plan.h"
#include "workers/device/session/session.h"
#include "workers/plan/device-request.h"
#include "workers/plan/recipe.h"
#include "workers/device/device-executor.h"

/* Zero-initialised; needs vrt_profile_found_done(). */
struct vrt_profile_found {
    char model_name[VRT_API_NAME_BYTES];
    const struct vrt_device_info *info;     /* NULL: there is no device yet */
    struct vrt_recipe recipe;
    struct vrt_probe probe;
    struct vrt_op_times op_times;           /* of one shard */
    int64_t job_bytes;                      /* held for the work; -1: unknown */

    size_t n_frames, capacity;
    double *frame_s;                        /* n_frames of them */
    struct vrt_session_times times;         /* of them all */
    int64_t total_ns;

    bool had_company;                       /* jobs ran meanwhile */
    struct vrt_device_choice choice;        /* of devices, and what is to be said of it */
    struct vrt_error doubt;                 /* why a result can't be right; message "": it can */

    /* The report's. */
    struct vrt_profile_op ops[VRT_OP_KIND_COUNT];
    char warnings[VRT_DEVICE_WARNINGS_MAX + 2][VRT_API_TEXT_BYTES];
};

/* Adds a shard that took `times`, of n frames that no other has. Return: 0, -ENOMEM. */
int vrt_profile_found_add(struct vrt_profile_found *found, const struct vrt_session_times *times,
                          int n);

/* Frees what it holds. */
void vrt_profile_found_done(struct vrt_profile_found *found);

/* Tells it, of at least one frame. The report borrows `found`, whose frames are sorted by it. */
void vrt_profile_report_fill(struct vrt_profile_found *found, const struct vrt_job_spec *spec,
                             struct vrt_profile_report *ret_report);
