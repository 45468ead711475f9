/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What users do to jobs
 *
 * Each is told, and on its way to the store, before it returns; what a run still has in hand is put
 * down within one shard's time.
 *
 * Thread: the loop's. Owned by the queue; who may do it is looked at before.
 */

struct vrt_admission;
struct vrt_disk_space;
struct vrt_error;
struct vrt_job;
struct vrt_job_files_request;
struct vrt_job_store;
struct vrt_peer_files;
struct vrt_queue_context;
struct vrt_runs;

/* Embedded in struct vrt_queue. */
struct vrt_control {
    struct vrt_queue_context *context;
    struct vrt_job_store *store;
    struct vrt_disk_space *space;
    struct vrt_admission *admission;
    struct vrt_runs *runs;
};

/* Files that are given for a job again. */
struct vrt_handover {
    const struct vrt_job_files_request *request;
    struct vrt_peer_files *files;       /* those that the request names are taken out */
};

/*
 * Stops a job, whether listed or not yet: it is over when its devices have put down what they
 * hold. It stays in the list for now. Return: 0; -EALREADY: it is over.
 */
int vrt_control_cancel(struct vrt_control *control, struct vrt_job *job);

/*
 * The others take listed jobs.
 * Return: 0; -EINVAL: its state doesn't allow that; -errno; `error` says what would help.
 */

/* Nothing more of it is computed, until vrt_control_resume(); the devices' memory becomes free. */
int vrt_control_pause(struct vrt_control *control, struct vrt_job *job, struct vrt_error *error);

/* Goes on with a job that is paused, that waits for space on a disk, or whose files are needed:
 * they are in `handover` (else NULL). */
int vrt_control_resume(struct vrt_control *control, struct vrt_job *job,
                       const struct vrt_handover *handover, struct vrt_error *error);

/* Queues a job again that failed or was cancelled; what is stored of its result counts. */
int vrt_control_retry(struct vrt_control *control, struct vrt_job *job,
                      const struct vrt_handover *handover, struct vrt_error *error);

/* Removes a job that is over from the list and the store, with what is stored of its result; the
 * result itself stays. The job is gone afterwards. */
int vrt_control_forget(struct vrt_control *control, struct vrt_job *job, struct vrt_error *error);

/* Forgets jobs that were over longest ago, where there are too many or too old ones. */
void vrt_control_forget_expired(struct vrt_control *control);

/* A higher one is heard at the next shard. */
int vrt_control_set_priority(struct vrt_control *control, struct vrt_job *job, int priority,
                             struct vrt_error *error);
