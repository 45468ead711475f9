/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The jobs and what happens to them: admitted, waiting, running, over
 *
 *     vrt_queue_submit() -> admission: files and model looked at on a thread, then a pipeline's
 *         own -> stored -> admitted(ctx, job, NULL): listed as queued
 *         -> started as soon as fewer than max_running run -> done, failed or cancelled
 *
 * A job that waits is its row in the store, its text and its descriptors. Each start makes a
 * pipeline of the recipe and of the segments that are stored: the first one, one after a pause, a
 * crash or a full disk, all in the same way.
 *
 * Every change is told by `changed`, progress no more often than VRT_API_EVENT_PERIOD_MS.
 *
 * Thread: the loop's.
 */

#include "base/list.h"
#include "base/macro.h"
#include "daemon/jobs/job.h"

struct uv_loop_s;
struct vrt_accounts;
struct vrt_fd_store;
struct vrt_media;
struct vrt_models;
struct vrt_peer;
struct vrt_peer_files;
struct vrt_pool;
struct vrt_queue;
struct vrt_quota;
struct vrt_remote;
struct vrt_store;

struct vrt_queue_params {
    struct uv_loop_s *loop;
    struct vrt_pool *pool;
    struct vrt_models *models;
    const struct vrt_media *media;      /* for files that are named by their paths */
    struct vrt_accounts *users;         /* for the names of owners */
    struct vrt_quota *quota;            /* charged for each job that isn't over */
    struct vrt_store *store;            /* opened, and not read yet */
    struct vrt_remote *remote;          /* for inputs and notices; lives longer */
    struct vrt_fd_store *fd_store;      /* what holds descriptors past the daemon's end */
    int spool_fd;                       /* a folder for working files; stays the caller's */
    int max_running, history;
    int64_t failed_files_s;             /* what a failed job has stored stays so long */
    int64_t history_s;                  /* jobs that are over are remembered so long; 0: for ever */
    int fallback;                       /* enum vrt_fallback */
    /* What a request may leave open. */
    bool scene_cuts;
    int codec;                          /* enum vrt_job_codec */
    int64_t quality[VRT_JOB_CODEC_COUNT];       /* VRT_UNKNOWN: the codec has none */
    int64_t segment_frames;
    const char *preset;                 /* lives as long as the queue */

    void (*changed)(void *ctx, struct vrt_job *job);
    void *ctx;
};

/*
 * Makes the queue of the jobs in the store, and goes on with those that weren't over: as soon as
 * the loop runs. Return: 0; -errno, and `error` says why. Also on failure *ret_queue may be set,
 * and then, as always, it is freed by vrt_queue_stop().
 */
int vrt_queue_new(const struct vrt_queue_params *params, struct vrt_queue **ret_queue,
                  struct vrt_error *error) VRT_MUST_CHECK;

/* From now on that is what `params` says about the numbers of jobs, the devices that may replace
 * others, and what a request may leave open; the rest of it is as it was. */
void vrt_queue_configure(struct vrt_queue *queue, const struct vrt_queue_params *params);

/* Every job that is listed; not to be changed from outside. */
const struct vrt_jobs *vrt_queue_jobs(const struct vrt_queue *queue);

/* A submission; it needs to live only until vrt_queue_submit() returns. */
struct vrt_queue_submission {
    const struct vrt_job_request *request;
    const struct vrt_peer *peer;
    struct vrt_peer_files *files;       /* those that the request names are taken out */
    /* Told once how the admission ended, never from within vrt_queue_submit(): with the job, or
     * with why there is none. After a dry run the job is as it would be listed, but it isn't, and
     * is gone afterwards. */
    void (*admitted)(void *ctx, struct vrt_job *job, const struct vrt_error *error);
    void *ctx;
};

/*
 * Begins the admission of a job.
 * Return: 0, *ret_job lives at least until `admitted` returned; -errno, and `error` says why.
 */
int vrt_queue_submit(struct vrt_queue *queue, const struct vrt_queue_submission *submission,
                     struct vrt_job **ret_job, struct vrt_error *error) VRT_MUST_CHECK;

/*
 * Stops a job, whether listed or not yet: it is over when its devices have put down what they
 * hold. It stays in the list for now. Return: 0; -EALREADY: it is over.
 */
int vrt_queue_cancel(struct vrt_queue *queue, struct vrt_job *job);

/* Files that are given for a job again. */
struct vrt_queue_handover {
    const struct vrt_job_files_request *request;
    struct vrt_peer_files *files;       /* those that the request names are taken out */
};

/*
 * What users do to a listed job. Each is told, and on its way to the store, before it returns;
 * what a run still has in hand is put down within one shard's time.
 * Return: 0; -EINVAL: its state doesn't allow that; -errno; `error` says what would help.
 */

/* Nothing more of it is computed, until vrt_queue_resume(); the devices' memory becomes free. */
int vrt_queue_pause(struct vrt_queue *queue, struct vrt_job *job, struct vrt_error *error);

/* Goes on with a job that is paused, that waits for room on a disk, or whose files are needed: they
 * are in `handover` (else NULL). */
int vrt_queue_resume(struct vrt_queue *queue, struct vrt_job *job,
                     const struct vrt_queue_handover *handover, struct vrt_error *error);

/* Queues a job again that failed or was cancelled; what is stored of its result counts. */
int vrt_queue_retry(struct vrt_queue *queue, struct vrt_job *job,
                    const struct vrt_queue_handover *handover, struct vrt_error *error);

/* A higher one is heard at the next shard. */
int vrt_queue_set_priority(struct vrt_queue *queue, struct vrt_job *job, int priority,
                           struct vrt_error *error);

/* Embedded in what waits for the store. */
struct vrt_queue_wait {
    struct vrt_list link;
    uint64_t last;                      /* the job's write before it, */
    int n_writes;                       /* and how many up to there are still under way */
    void (*stored)(struct vrt_queue_wait *wait, struct vrt_job *job);
};

/*
 * Calls `stored`, once, when all that was done to the job is on the disk, so that no crash takes it
 * back, or couldn't be written yet: soon by the loop; at once where no write is under way.
 */
void vrt_queue_await_stored(struct vrt_job *job, struct vrt_queue_wait *wait);

/* Brings the progress of a running job up to date. */
void vrt_queue_refresh(struct vrt_queue *queue, struct vrt_job *job);

/*
 * Takes no more jobs and parks those that run: what they are at is finished and stored, but for no
 * longer than `timeout_ms`, after which the last unfinished parts are given up. Then frees the
 * queue and calls `stopped`, once, by the loop. The jobs are in the store.
 */
void vrt_queue_stop(struct vrt_queue *queue, int timeout_ms, void (*stopped)(void *ctx),
                    void *ctx);
