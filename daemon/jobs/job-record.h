/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A job as the store keeps it: a row with three JSON texts
 *
 *     request     what was asked for, a struct vrt_job_request
 *     info        what is told of it, a struct vrt_job_info, long form
 *     work        what every run of it shares: struct vrt_job_work
 *
 * Thread: the loop's, or before it runs.
 */

#include "daemon/jobs/job.h"
#include "daemon/store/store.h"
#include "workers/media/fingerprint.h"
#include "workers/plan/recipe.h"

#define VRT_JOB_GROUPS_MAX 64

/* Found at admission; fixed from then on, but for the recipe's size and the last two. */
struct vrt_job_work {
    bool is_admitted;                   /* else the rest up to the groups is not known yet */
    struct vrt_recipe recipe;
    bool wants_smaller;                 /* the recipe is too large: the next start has a smaller */
    bool uses_cpu_instead;              /* of accelerators that never worked when it was admitted */
    struct vrt_fingerprint fingerprint; /* of the input */
    uint64_t network_checksum;
    uint64_t output_dev, output_ino;    /* of the output's file: known again if given again */
    gid_t groups[VRT_JOB_GROUPS_MAX];   /* of who submitted it: what files he may open */
    size_t n_groups;
    bool notice_due;                    /* its webhook was not told yet */
    bool is_cancelled;                  /* it is to end, whatever becomes of its run */
};

/* The texts of a row, while it is written. */
struct vrt_job_texts {
    struct vrt_buf info, work;
};

/*
 * Fills a row, whose texts are in `texts`, to be freed by vrt_job_texts_done(); others are the
 * job's. Return: 0, -ENOMEM.
 */
int vrt_job_record_print(const struct vrt_job *job, struct vrt_job_texts *texts,
                         struct vrt_store_job *ret_row) VRT_MUST_CHECK;

void vrt_job_texts_done(struct vrt_job_texts *texts);

/*
 * The job of a row, in the state that it was in, without descriptors; owned by nobody yet.
 * Return: 0; -EINVAL: the row makes no sense, `error` says why; -ENOMEM.
 */
int vrt_job_record_read(const struct vrt_store_job *row, struct vrt_job **ret_job,
                        struct vrt_error *error) VRT_MUST_CHECK;

/*
 * What was given again takes the place of what the request says: names, paths and descriptors, and
 * that the output may be overwritten. The texts of files that were not given stay.
 * Return: 0; -EINVAL, -ENOMEM with `error`, and nothing has changed.
 */
int vrt_job_record_give(struct vrt_job *job, const struct vrt_job_files_request *files,
                        struct vrt_error *error) VRT_MUST_CHECK;

/* The request as it was made. Return: 0; -EINVAL, -ENOMEM with `error`. */
int vrt_job_record_request(const struct vrt_job *job, struct vrt_job_request *ret_request,
                           struct vrt_error *error) VRT_MUST_CHECK;
