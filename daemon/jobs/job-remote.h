/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What jobs have to do with other machines: inputs that are fetched, and notices of their ends
 *
 *     submitted -> listed as fetching -> fetched to spool/ID/input -> admitted -> queued, as any
 *
 * Such a job may lack its input at other times too: after a retry, or when somebody cleaned up. It
 * is never started then, but fetches it first.
 *
 * Thread: the loop's. Owned by the queue.
 */

#include <stdbool.h>

#include "base/list.h"

struct vrt_admission;
struct vrt_disk_space;
struct vrt_job;
struct vrt_job_store;
struct vrt_queue_context;

/* Embedded in struct vrt_queue. */
struct vrt_job_remote {
    struct vrt_queue_context *context;
    struct vrt_job_store *store;
    struct vrt_disk_space *space;
    struct vrt_admission *admission;
    struct vrt_list fetches;            /* of struct vrt_job_fetch.link */
    bool is_fetching;                   /* vrt_job_remote_fetch() is at it */
};

/* Whether the job must fetch its input, or be admitted with it, before it can start. */
bool vrt_job_remote_lacks_input(const struct vrt_job *job);

/* Fetches for jobs that are `fetching`, as many as are allowed. */
void vrt_job_remote_fetch(struct vrt_job_remote *remote);

/* The job doesn't want its input now; what was fetched of it stays. */
void vrt_job_remote_cancel(struct vrt_job *job);

/* The same for all jobs, which stay as they are: the queue stops. */
void vrt_job_remote_stop(struct vrt_job_remote *remote);

/* Sends the notice of a job that is over, if one is due. */
void vrt_job_remote_notify(struct vrt_job_remote *remote, struct vrt_job *job);
