/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What jobs have to do with other machines: inputs that are fetched, and notices of their ends
 *
 * What was uploaded is as what was fetched, from the submission on.
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
#include "msg_job.h"

struct vrt_admission;
struct vrt_disk_space;
struct vrt_job;
struct vrt_job_store;
struct vrt_error;
struct vrt_queue_context;
struct vrt_remote;

/* Embedded in struct vrt_queue. */
struct vrt_job_remote {
    struct vrt_queue_context *context;
    struct vrt_job_store *store;
    struct vrt_disk_space *space;
    struct vrt_admission *admission;
    struct vrt_list fetches;            /* of struct vrt_job_fetch.link */
    bool is_fetching;                   /* vrt_job_remote_fetch() is at it */
};

/* Whether the input comes from elsewhere: fetched, or uploaded already. */
static inline bool vrt_job_remote_is(const struct vrt_job_request *request)
{
    return request->input.url[0] || request->input.upload != VRT_UNKNOWN;
}

/* Whether what a request wants of other machines is allowed. Return: 0; -errno with `error`. */
int vrt_job_remote_check(const struct vrt_remote *remote, const struct vrt_job_request *request,
                         struct vrt_error *error);

/* Opens the uploads that a request names as the job's files. Return: 0; -errno with `error`. */
int vrt_job_remote_open_uploads(const struct vrt_queue_context *context, struct vrt_job *job,
                                const struct vrt_job_request *request,
                                struct vrt_error *error) VRT_MUST_CHECK;

/* The same uploads are the job's own from now on, which has its number: files of its folder,
 * charged as what is fetched. Where one is gone none is taken. Return: likewise; what was taken by
 * then vrt_disk_space_sweep() removes. */
int vrt_job_remote_take_uploads(struct vrt_disk_space *space, struct vrt_job *job,
                                const struct vrt_job_request *request,
                                struct vrt_error *error) VRT_MUST_CHECK;

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
