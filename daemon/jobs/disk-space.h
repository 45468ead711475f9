/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Space for jobs' working files: whom it is charged to, when files go, and jobs that wait for it
 *
 * Beside a disk that is full it may be the user's limit, spool_per_user, that a job waits for; both
 * are looked at again with each housekeeping of the queue.
 *
 * Thread: the loop's. Owned by the queue; files are removed on threads.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vrt_error;
struct vrt_job;
struct vrt_job_store;
struct vrt_queue_context;
struct vrt_segment_record;

/* Of a job: embedded in struct vrt_job_parts. */
struct vrt_job_disk {
    int64_t charged_bytes;              /* to its user */
    int64_t joined_bytes;               /* of those, for what the finished file has beside them */
    int64_t wanted_bytes;               /* for that, when it waits for space; 0: nobody knows */
    int64_t promised_bytes;             /* to the file that is being made; 0: none is */
    bool was_alone;                     /* when that was begun: no other job of his held space */
    bool is_swept;                      /* its working files are gone, or about to go */
    int64_t free_bytes;                 /* that there were when it found a disk full */
    int64_t filled_ns;                  /* when that was, by the clock that doesn't jump */
};

/* Embedded in struct vrt_queue. */
struct vrt_disk_space {
    struct vrt_queue_context *context;
    struct vrt_job_store *store;
    int n_removals;                     /* of files, that aren't done */
};

/* Charges working files to the job's user; where that is too much for him its run ends. */
void vrt_disk_space_charge(struct vrt_disk_space *space, struct vrt_job *job, int64_t bytes);

/* Likewise a segment that is stored, unless the job's files are swept. */
void vrt_disk_space_charge_segment(struct vrt_disk_space *space, struct vrt_job *job,
                                   const struct vrt_segment_record *segment);

/* Likewise what is stored of a pipe since it was charged last. */
void vrt_disk_space_charge_pipe(struct vrt_disk_space *space, struct vrt_job *job);

/* Charges what is there of a job that was read from the store, however much that is. */
void vrt_disk_space_load(struct vrt_disk_space *space, struct vrt_job *job);

/* How large the job's finished file may become for what its user may have; 0: that has no limit. */
int64_t vrt_disk_space_joined_max(struct vrt_disk_space *space, struct vrt_job *job);

/* A run has ended, of `error` where it has a message: charges the finished file, if one stays, and
 * where its user's limit was the reason says in `error` whether the job is alone too large. */
void vrt_disk_space_note_run(struct vrt_disk_space *space, struct vrt_job *job,
                             struct vrt_error *error);

/* Gives back the charge of the segments from this one on. */
void vrt_disk_space_uncharge_segments(struct vrt_disk_space *space, struct vrt_job *job,
                                      size_t first);

/* Removes the job's working files, unless that was done, and gives back what they were charged. */
void vrt_disk_space_sweep(struct vrt_disk_space *space, struct vrt_job *job);

/* Removes a result that is kept, and gives back what it was charged: the job is forgotten. */
void vrt_disk_space_drop_result(struct vrt_disk_space *space, struct vrt_job *job);

/* Whether a job that is read from the store needs its working files, or its result. NULL: none. */
bool vrt_disk_space_keeps(const struct vrt_job *job, bool is_result);

/* The job, which is over yet, is tried again: segments that are swept, and all of one that was
 * cancelled, must be computed again. */
void vrt_disk_space_retry(struct vrt_disk_space *space, struct vrt_job *job);

/* Sweeps the jobs that failed so long ago that nobody will retry them, and uploads that no job has
 * taken. */
void vrt_disk_space_sweep_failed(struct vrt_disk_space *space);

/* Whether it is a disk that the error is about, so that the job goes on when there is space. */
bool vrt_disk_space_is_lacking(const struct vrt_error *error);

/* The job waits until there is more space than now. */
void vrt_disk_space_wait(struct vrt_disk_space *space, struct vrt_job *job,
                         const struct vrt_error *error);

/* Goes on with jobs for which there is space now. Return: whether any waited. */
bool vrt_disk_space_look(struct vrt_disk_space *space);
