/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What the objects of the queue share: its parameters, the list of its jobs, and the way up
 *
 * No object below the queue calls a function of queue.c. What it has to say up there goes through
 * struct vrt_queue_events, which the queue gives when it is made; here are the calls. What an
 * object keeps of each job is a struct of its own in struct vrt_job_parts, and no other's to touch;
 * only the descriptors are used by all, who also see whether there is an admission, fetch or run.
 *
 * Thread: the loop's.
 */

#include "daemon/jobs/disk-space.h"
#include "daemon/jobs/job-files.h"
#include "daemon/jobs/job-store.h"
#include "daemon/jobs/queue.h"

struct vrt_job_admission;
struct vrt_job_fetch;
struct vrt_job_run;
struct vrt_queue_context;

/* What is kept of a job besides what it is, by whom. */
struct vrt_job_parts {
    struct vrt_job_files files;             /* job-files.c */
    struct vrt_job_writes writes;           /* job-store.c */
    struct vrt_job_disk disk;               /* disk-space.c */
    struct vrt_job_admission *admission;    /* admission.c; NULL once it is over */
    struct vrt_job_fetch *fetch;            /* job-remote.c: its input on its way; or NULL */
    struct vrt_job_run *run;                /* run.c: what goes on for it; or NULL */
    bool is_charged;                        /* admission.c, queue.c: to its user */
    bool is_untold;                         /* it changed, and nobody was told yet */
};

/* What happens below the queue that is the queue's to deal with. */
struct vrt_queue_events {
    void (*over)(struct vrt_queue_context *context, struct vrt_job *job, enum vrt_job_event event,
                 const struct vrt_error *error);
    void (*wait_for_descriptors)(struct vrt_queue_context *context, struct vrt_job *job,
                                 const struct vrt_error *error);
    void (*stop_run)(struct vrt_queue_context *context, struct vrt_job *job,
                     const struct vrt_error *error);
    void (*proceed)(struct vrt_queue_context *context);
    void (*check_stopped)(struct vrt_queue_context *context);
    void (*look_soon)(struct vrt_queue_context *context);
};

/* Embedded in struct vrt_queue, whose address it stands for. */
struct vrt_queue_context {
    struct vrt_queue_params params;
    struct vrt_queue_events events;
    struct vrt_jobs jobs;
    bool is_loaded;                         /* the store was read: jobs may start */
    bool is_stopping;
    bool lacks_descriptors;                 /* until the next housekeeping none starts */
};

/* A job as vrt_job_new() makes it, with its parts. Return: 0, -ENOMEM. */
int vrt_queue_make_job(int64_t id, uid_t uid, struct vrt_job **ret_job);

/* Frees a job with its parts, none of which may be at anything. Return: NULL. */
struct vrt_job *vrt_queue_free_job(struct vrt_job *job);

/* Fills in where a job runs, and in which precision, where its request leaves that open: once for
 * all, when it is submitted. */
void vrt_queue_settle_device(const struct vrt_queue_params *params,
                             struct vrt_job_request *request);

/* Fills in what else the configuration says where nothing was asked for, of a result that is called
 * so. */
void vrt_queue_settle(const struct vrt_queue_params *params, const char *output_name,
                      struct vrt_job_settings *settings);

/* What a pipeline is asked for by a request, whose settings are settled and pointed to: it lives
 * until vrt_pipeline_new() returns. The rest is filled in by the caller. */
void vrt_queue_fill_params(const struct vrt_queue_context *context, struct vrt_job *job,
                           struct vrt_job_request *request, struct vrt_network *network,
                           struct vrt_pipeline_params *ret_params);

/* Tells of the job what changed. */
void vrt_queue_tell(struct vrt_queue_context *context, struct vrt_job *job);

/* The job is over: told, saved, given back to its user's quota. `error` may be NULL. */
void vrt_queue_end_job(struct vrt_queue_context *context, struct vrt_job *job,
                       enum vrt_job_event event, const struct vrt_error *error);

/* The job waits, and all others that would start, until files were closed, or for a while. It is
 * queued again, unless it is paused or fetches its input. */
void vrt_queue_wait_for_descriptors(struct vrt_queue_context *context, struct vrt_job *job,
                                    const struct vrt_error *error);

/* Ends the job's run, if there is one, which fails of `error`. */
void vrt_queue_stop_run(struct vrt_queue_context *context, struct vrt_job *job,
                        const struct vrt_error *error);

/* Starts what may be started now, and the timers that are needed. */
void vrt_queue_proceed(struct vrt_queue_context *context);

/* To be called wherever something went that the queue's end may have waited for. Frees the queue,
 * but never within the call. */
void vrt_queue_check_stopped(struct vrt_queue_context *context);

/* Something waits for time to go by from now on. */
void vrt_queue_look_soon(struct vrt_queue_context *context);

VRT_DEFINE_CLEANUP(struct vrt_job, vrt_queue_free_job)
