/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A run: what goes on for a job from its start to the end of what works for it
 *
 * Each run makes a pipeline of the recipe and of the segments that are stored: the first one, one
 * after a pause, a crash or a full disk, all in the same way. A job has one at most.
 *
 * Thread: the loop's. Owned by the queue.
 */

#include <stdbool.h>
#include <stdint.h>

struct vrt_disk_space;
struct vrt_error;
struct vrt_job;
struct vrt_job_store;
struct vrt_queue_context;

/* What shall become of a run before its own end. */
enum vrt_run_intent {
    VRT_RUN_GO,
    VRT_RUN_PARK,                           /* end it at a good moment; it will be gone on with */
    VRT_RUN_STOP,                           /* end it now; likewise */
    VRT_RUN_CANCEL,                         /* end it now, and the job */
};

/* Embedded in struct vrt_queue. */
struct vrt_runs {
    struct vrt_queue_context *context;
    struct vrt_job_store *store;
    struct vrt_disk_space *space;
    int n;                                  /* struct vrt_job_run that there are */
};

/* Begins one; the job was moved by START already. */
void vrt_run_start(struct vrt_runs *runs, struct vrt_job *job);

/* Ends the job's run, if there is one, as `intent` says; a weaker one than before is nothing.
 * `failure` (or NULL) is what it then failed of. */
void vrt_run_end(struct vrt_job *job, enum vrt_run_intent intent, const struct vrt_error *failure);

/* Whether its pipeline works for the job, or could. */
bool vrt_run_is_going(const struct vrt_job *job);

/* Holds the run, or lets it go on. Return: whether there was one to be held. */
bool vrt_run_hold(struct vrt_job *job, bool held);

/* Whether the job has a run that is held, and nothing else was asked of it. */
bool vrt_run_is_held(const struct vrt_job *job);

/* When the job's run began, by the clock that doesn't jump. */
int64_t vrt_run_began_ns(const struct vrt_job *job);

/* Brings the progress of the job up to date, if it has a run that goes on. */
void vrt_run_refresh(struct vrt_runs *runs, struct vrt_job *job);

/* The segment with this number is stored. */
void vrt_run_commit(struct vrt_job *job, int64_t segment);
