/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The jobs and what happens to them: admitted, waiting, running, over
 *
 *     vrt_admission_submit() -> files and model looked at on a thread, then a pipeline's own
 *         -> stored -> admitted(ctx, job, NULL): listed as queued
 *         -> started as soon as fewer than max_running run -> done, failed or cancelled
 *
 * A job that waits is its row in the store, its text and its descriptors. Every change is told by
 * `changed`, progress no more often than VRT_API_EVENT_PERIOD_MS.
 *
 * The queue owns the objects that do it, each with a struct of its own, and one of what it keeps of
 * each job. Each calls only what stands further down:
 *
 *     queue.c             which job starts when, the timers, what a start of the daemon takes up,
 *                         suspects of a crash, the end
 *     control.c           what users do to jobs
 *     job-remote.c        inputs that are fetched, notices of ends; calls admission.c
 *     admission.c         from a request to a listed job
 *     run.c               from a start to the end of what works for the job
 *     disk-space.c        charges for working files, and jobs that wait for space
 *     job-store.c         when rows and segments are written, and what is read
 *     queue-context.c     what all of these share; what they say upwards, by functions of queue.c's
 *     job-files.c         a job's descriptors, and what a pipeline is told of them
 *     job-report.c        what is told of a pipeline       job-record.c    a job as a row's texts
 *     spool.c             the folders of working files
 *     job.c               what a job is, its states, the list of all; pure
 *
 * Thread: the loop's.
 */

#include "base/macro.h"
#include "daemon/jobs/job.h"

struct uv_loop_s;
struct vrt_accounts;
struct vrt_admission;
struct vrt_control;
struct vrt_fd_store;
struct vrt_media;
struct vrt_models;
struct vrt_pipeline_part;
struct vrt_pipeline_totals;
struct vrt_pool;
struct vrt_queue;
struct vrt_quota;
struct vrt_remote;
struct vrt_store;
struct vrt_uploads;

struct vrt_queue_params {
    struct uv_loop_s *loop;
    struct vrt_pool *pool;
    struct vrt_models *models;
    const struct vrt_media *media;      /* for files that are named by their paths */
    struct vrt_accounts *users;         /* for the names of owners */
    struct vrt_quota *quota;            /* charged for each job that isn't over */
    struct vrt_store *store;            /* opened, and not read yet */
    struct vrt_remote *remote;          /* for inputs and notices; lives longer */
    struct vrt_uploads *uploads;        /* for inputs; lives longer; NULL: there are none */
    struct vrt_fd_store *fd_store;      /* what holds descriptors past the daemon's end */
    struct vrt_pipeline_totals *totals; /* of pipelines: counted up; may be NULL */
    int spool_fd;                       /* a folder for working files; stays the caller's */
    int max_running, history;
    int64_t failed_files_s;             /* what a failed job has stored stays so long */
    int64_t history_s;                  /* jobs that are over are remembered so long; 0: for ever */
    int fallback;                       /* enum vrt_fallback */
    int64_t turn_s;                 /* after which a job makes room for another user's */
    struct {
        const char *device;             /* lives as long as the queue, as does preset */
        int precision;                  /* enum vrt_precision */
        bool scene_cuts;
        int codec;                      /* enum vrt_codec */
        int64_t quality_h264, quality_hevc;
        int64_t segment_frames, decoder_threads;
        const char *preset;
        int hwaccel;                    /* enum vrt_hwaccel */
    } left_open;                        /* what stands for what a request leaves open */

    const struct vrt_pipeline_part *part;       /* that jobs are done of; NULL: the whole; lives as
                                                 * long as the queue */

    void (*changed)(void *ctx, struct vrt_job *job);
    /* A segment of the job is on the disk for good, and stored; NULL: nobody asks. */
    void (*segment_stored)(void *ctx, struct vrt_job *job,
                           const struct vrt_segment_record *segment);
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

/* Warns where jobs that name no device would be refused, because there is none of those that
 * `params` says. */
void vrt_queue_check_device(const struct vrt_queue_params *params);

/* Every job that is listed; not to be changed from outside. */
const struct vrt_jobs *vrt_queue_jobs(const struct vrt_queue *queue);

/* What takes new jobs. */
struct vrt_admission *vrt_queue_admission(struct vrt_queue *queue);

/* What users do to jobs. */
struct vrt_control *vrt_queue_control(struct vrt_queue *queue);

/* Brings the progress of a running job up to date. */
void vrt_queue_refresh(struct vrt_queue *queue, struct vrt_job *job);

/*
 * Takes no more jobs and parks those that run: what they are at is finished and stored, but for no
 * longer than `timeout_ms`, after which the last unfinished parts are given up. Then frees the
 * queue and calls `stopped`, once, by the loop. The jobs are in the store.
 */
void vrt_queue_stop(struct vrt_queue *queue, int timeout_ms, void (*stopped)(void *ctx),
                    void *ctx);
