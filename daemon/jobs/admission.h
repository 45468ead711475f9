/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Admission: from a request to a listed job
 *
 * Its files are looked at on a thread, a pipeline finds out how it would be done, and is freed
 * again; the job's row is stored; only then it is listed, and its submitter told. Whoever was told
 * that his job is queued finds it again, whatever happens.
 *
 * Thread: the loop's. Owned by the queue, which asks it to stop before its end.
 */

#include "base/list.h"
#include "daemon/jobs/job.h"
#include "daemon/access/turns.h"

struct vrt_disk_space;
struct vrt_job_store;
struct vrt_peer;
struct vrt_peer_files;
struct vrt_queue_context;

/* Embedded in struct vrt_queue. */
struct vrt_admission {
    struct vrt_queue_context *context;
    struct vrt_job_store *store;
    struct vrt_disk_space *space;
    struct vrt_list jobs;                   /* of struct vrt_job_admission.link */
    struct vrt_turns turns;                 /* of those */
};

/* A submission; it needs to live only until vrt_admission_submit() returns. */
struct vrt_submission {
    const struct vrt_job_request *request;
    const struct vrt_peer *peer;
    struct vrt_peer_files *files;       /* those that the request names are taken out */
    /* Told once how the admission ended, never from within vrt_admission_submit(): with the job, or
     * with why there is none. After a dry run the job is as it would be listed, but it isn't, and
     * is gone afterwards. */
    void (*admitted)(void *ctx, struct vrt_job *job, const struct vrt_error *error);
    void *ctx;
};

/* None is under way. */
void vrt_admission_init(struct vrt_admission *admission, struct vrt_queue_context *context,
                        struct vrt_job_store *store, struct vrt_disk_space *space);

/*
 * Begins the admission of a job.
 * Return: 0, *ret_job lives at least until `admitted` returned; -errno, and `error` says why.
 */
int vrt_admission_submit(struct vrt_admission *admission, const struct vrt_submission *submission,
                         struct vrt_job **ret_job, struct vrt_error *error) VRT_MUST_CHECK;

/* Admits a listed job whose input has come. Return: 0, it becomes queued or fails; -errno with
 * `error`. */
int vrt_admission_admit_listed(struct vrt_admission *admission, struct vrt_job *job,
                               struct vrt_error *error);

/* Nobody wants the job any more, which is being admitted: that ends as soon as it can. */
void vrt_admission_give_up(struct vrt_job *job);

/* The queue stops: all that are under way end as soon as they can. */
void vrt_admission_stop(struct vrt_admission *admission);

/* Charges a job to its user. Return: 0; -EDQUOT, -ESHUTDOWN, -ENOMEM with `error`. */
int vrt_admission_charge(struct vrt_admission *admission, uid_t uid, struct vrt_error *error);

/* Whether no other job that isn't over writes to this file. Return: 0; -EBUSY with `error`. */
int vrt_admission_check_unused(const struct vrt_admission *admission, const struct vrt_job *job,
                               int output_fd, struct vrt_error *error);
