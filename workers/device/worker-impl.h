/* SPDX-License-Identifier: MIT */
#pragma once

/* Requests that nobody but the worker looks into: private to worker.c and worker-task.c.
 * Thread: whose the request is. */

#include "workers/device/worker.h"

struct vrt_worker_prepare {
    struct vrt_worker_task base;
    struct vrt_job_spec *spec;      /* a reference */
    enum vrt_dtype dtype;
    int batch;                      /* as of struct vrt_worker_run */
};

struct vrt_worker_release {
    struct vrt_worker_task base;
    struct vrt_job_spec *spec;      /* a reference */
};
