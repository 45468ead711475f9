/* SPDX-License-Identifier: MIT */
#pragma once

/* What is told of a job that was admitted and will not be run. Thread: the loop's. */

#include "base/streams.h"
#include "daemon/jobs/job.h"
#include "msg_plan.h"
#include "workers/plan/device-request.h"

/* What a plan is made of. */
struct vrt_plan_parts {
    struct vrt_plan_device devices[VRT_DEVICES_MAX];
    struct vrt_plan_stream streams[VRT_STREAMS_MAX];
};

/* Fills the plan of a job whose info is filled in and whose pipeline is admitted. It borrows
 * `parts`, and the job's warnings. */
void vrt_plan_report_fill(const struct vrt_job *job, struct vrt_plan_parts *parts,
                          struct vrt_plan_report *ret_report);
