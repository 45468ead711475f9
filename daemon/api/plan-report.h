/* SPDX-License-Identifier: MIT */
#pragma once

/* What is told of a job that was admitted and will not be run. Thread: the loop's. */

#include "daemon/jobs/job.h"
#include "msg_plan.h"

/*
 * Fills the plan of a job whose info is filled in and whose pipeline is admitted. It borrows
 * `devices`, room for VRT_DEVICES_MAX, and the job's warnings.
 */
void vrt_plan_report_fill(const struct vrt_job *job, struct vrt_plan_device *devices,
                          struct vrt_plan_report *ret_report);
