/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What the queue is made of: private to daemon/queue*.c. Everything here is the loop's.
 *
 *     queue-admit.c       from a request to a listed job
 *     queue-run.c         from a start to its end, whatever end
 *     queue-spool.c       its working files
 *     queue-room.c        jobs that wait for room on a disk, or for descriptors
 *     queue-files.c       the descriptors of a job, and what is made of them
 *     queue-control.c     what users do to jobs meanwhile
 *     queue-fetch.c       jobs whose input is fetched from elsewhere
 *     queue-notice.c      who wants to be told of a job's end
 *     queue-store.c       what outlives the daemon, and what a start finds
 *     queue-suspects.c       which job it was that took the daemon with it
 *     queue.c             which job is started, the timers, the end
 */

#include <uv.h>

#include "daemon/jobs/job-record.h"
#include "daemon/jobs/queue.h"
#include "daemon/store/store.h"
#include "daemon/sched/turns.h"

struct vrt_pipeline_params;

/* In a job's folder: what was fetched for it. */
#define VRT_FETCHED_NAME "input"

struct vrt_queue {
    struct vrt_queue_params params;
    struct vrt_jobs jobs;
    int64_t *left_out;                      /* jobs whose rows couldn't be read: left as they are */
    size_t n_left_out;
    uv_timer_t progress;                    /* runs while jobs do */
    uv_timer_t house;                       /* looks after what waits for time to go by */
    uv_timer_t patience;                    /* runs while the queue stops */
    int n_handles;                          /* of those three, not closed yet */
    struct vrt_list admissions;             /* of struct vrt_queue_admission.link */
    struct vrt_turns turns;                 /* of those */
    struct vrt_list fetches;                /* of struct vrt_queue_fetch.link */
    bool is_fetching;                       /* vrt_queue_fetch_jobs() is at it */
    int n_runs;                             /* struct vrt_queue_run that there are */
    int n_saving;                           /* writes and removals that aren't done */
    bool is_loaded;                         /* the store was read: jobs may start */
    bool is_short;                          /* of descriptors: until `house`, none starts */
    bool has_suspects;                    /* or had when it was last looked, see queue-suspects.c */
    bool stopping;
    void (*stopped)(void *ctx);
    void *stopped_ctx;
};

/* A job on its way into the list. */
struct vrt_queue_admission {
    struct vrt_queue *queue;
    struct vrt_list link;
    struct vrt_turn turn;                   /* until it is over */
    struct vrt_job *job;
    struct vrt_job_request request;
    /* NULL: the job is listed already, as fetching, and nobody waits for this. */
    void (*admitted)(void *ctx, struct vrt_job *job, const struct vrt_error *error);
    void *ctx;
    bool is_unwanted;                       /* nobody waits for it any more, or the queue stops */
    bool is_stopping;
    uv_work_t work;
    /* by the work's thread, then the loop's */
    struct vrt_network *network;
    struct vrt_error error;                 /* with a message: the job is refused */
};

/* How far a start has come. */
enum vrt_run_phase {
    VRT_RUN_SAVING,                         /* the store learns of it, before anything can crash */
    VRT_RUN_LOOKING,                        /* a thread opens its files and reads the model */
    VRT_RUN_ADMITTING,                      /* its pipeline asks the devices; then, where it has a
                                             * recipe that is new, the store learns of that */
    VRT_RUN_GOING,                          /* its pipeline was started */
};

/* What shall become of a run before its own end. */
enum vrt_run_wish {
    VRT_RUN_GO,
    VRT_RUN_PARK,                           /* end it at a good moment; it will be gone on with */
    VRT_RUN_STOP,                           /* end it now; likewise */
    VRT_RUN_CANCEL,                         /* end it now, and the job */
};

/* What goes on for a job between its start and the end of what works for it. */
struct vrt_queue_run {
    struct vrt_job *job;
    enum vrt_run_phase phase;
    enum vrt_run_wish wish;
    bool is_held;                           /* its pipeline was told to hold */
    bool again;                             /* once it has ended, begin anew */
    int64_t began_ns;
    struct vrt_error failure;               /* with a message: why it was stopped */
    uv_work_t work;
    /* by the work's thread, then the loop's */
    struct vrt_job_request request;
    int spool_fd;                           /* the job's own folder; -1: not open yet */
    struct vrt_network *network;
    struct vrt_error error;                 /* with a message: it can't go on */
};

/* Tells of the job what changed. */
void vrt_queue_tell(struct vrt_queue *queue, struct vrt_job *job);

/* Starts what may be started, and the timers that are needed. */
void vrt_queue_start_jobs(struct vrt_queue *queue);

/* To be called wherever something went that the end may have waited for. Frees the queue, but
 * never within the call. */
void vrt_queue_check_stopped(struct vrt_queue *queue);

/* Looks after what waits for time to go by; `house` calls it. */
void vrt_queue_on_house(uv_timer_t *timer);

/* Something waits for time to go by from now on. */
void vrt_queue_look_soon(struct vrt_queue *queue);

/* Lets no more held pipelines stay than may run: each holds frames in memory. */
void vrt_queue_limit_held(struct vrt_queue *queue);

/* Goes on with jobs for which there is room now. Return: whether any waited. */
bool vrt_queue_try_full(struct vrt_queue *queue);

/* Has the job's descriptors kept past the end of the daemon, where anybody does that. */
void vrt_queue_keep_files(struct vrt_job *job);

/* Closes the job's descriptors. */
void vrt_queue_close_files(struct vrt_job *job);

/* The job is over: told, saved, given back to its user's quota. `error` may be NULL. */
void vrt_queue_end_job(struct vrt_queue *queue, struct vrt_job *job, enum vrt_job_event event,
                       const struct vrt_error *error);

/* The files and the store. */

/*
 * Writes the job's row; `then` (or NULL) is called on the loop when it is on the disk for good
 * (r = 0) or couldn't be written; a job that couldn't is written later again.
 */
void vrt_queue_save(struct vrt_queue *queue, struct vrt_job *job,
                    void (*then)(struct vrt_job *job, int r));

/* Writes a segment's row, and takes it into the job's list when that is done. */
void vrt_queue_save_segment(struct vrt_queue *queue, struct vrt_job *job,
                            const struct vrt_segment_record *segment);

/* Forgets the job's segments from this one on, everywhere. */
void vrt_queue_cut_segments(struct vrt_queue *queue, struct vrt_job *job, size_t first);

/* Forgets all of them, in the store first; `then` is told as by vrt_queue_save(). */
void vrt_queue_drop_segments(struct vrt_queue *queue, struct vrt_job *job,
                             void (*then)(struct vrt_job *job, int r));

/* Forgets the job, which is over or was never listed, and its files. It frees it: soon. */
void vrt_queue_forget(struct vrt_queue *queue, struct vrt_job *job);

/* Reads the store, and takes up the jobs that weren't over. Return: 0; -errno with `error`. */
int vrt_queue_load(struct vrt_queue *queue, struct vrt_error *error);

/* Finds the files of a job that was read from the store; without them it needs its input. */
void vrt_queue_find_files(struct vrt_queue *queue, struct vrt_job *job);

/* Removes the job's working files, unless that was done, and gives back what they were charged. */
void vrt_queue_sweep(struct vrt_queue *queue, struct vrt_job *job);

/* Likewise those of jobs that failed so long ago that nobody will retry them. */
void vrt_queue_sweep_failed(struct vrt_queue *queue);

/* Does without the segments of a job that has no run: they go, and are computed again. */
void vrt_queue_give_segments_back(struct vrt_queue *queue, struct vrt_job *job);

/* Charges working files to the job's user; where that is too much for him its run ends. */
void vrt_queue_charge_bytes(struct vrt_job *job, int64_t bytes);
void vrt_queue_charge_segment(struct vrt_job *job, const struct vrt_segment_record *segment);

/* Charges what is there of a job that was read from the store, however much that is. */
void vrt_queue_charge_stored(struct vrt_job *job);

/* Gives back the charge of the segments from this one on, and of all that the job holds. */
void vrt_queue_uncharge_segments(struct vrt_job *job, size_t first);
void vrt_queue_uncharge(struct vrt_job *job);

/* Whether the job's user may have so many more bytes of working files now. */
bool vrt_queue_may_spool(const struct vrt_job *job, int64_t bytes);

/* Tries again what the store couldn't take. Return: whether there is still something. */
bool vrt_queue_save_rest(struct vrt_queue *queue);

/* Takes the descriptors that a request names, by enum vrt_job_file, out of `files` into the job.
 * Return: 0; -EBADF, -EMFILE with `error`. */
int vrt_queue_take_files(struct vrt_job *job, const struct vrt_file_ref *const *refs,
                         struct vrt_peer_files *files, struct vrt_error *error);

/* Whether no other job that isn't over writes to this file. Return: 0; -EBUSY with `error`. */
int vrt_queue_check_unused(const struct vrt_queue *queue, const struct vrt_job *job, int output_fd,
                           struct vrt_error *error);

/* Whether the daemon itself opens the file. */
bool vrt_queue_is_by_path(const struct vrt_file_ref *ref);

/* Charges a job to its user. Return: 0; -EDQUOT, -ESHUTDOWN, -ENOMEM with `error`. */
int vrt_queue_charge(struct vrt_queue *queue, uid_t uid, struct vrt_error *error);

/* Nobody wants the job any more, or the queue stops: it ends as soon as it can. */
void vrt_queue_give_up_admission(struct vrt_queue_admission *admission, bool is_stopping);

/* What a request's files are found to be, on a thread: those named by their path are opened, and
 * it is told which network it is, and whether the output may be written. Return: 0; -errno with
 * `error`. */
int vrt_queue_look(struct vrt_queue *queue, struct vrt_job *job,
                   const struct vrt_job_request *request, struct vrt_network **ret_network,
                   struct vrt_error *error);

/* Removes, on a thread, an output that this daemon made by its path for a job that came to nothing,
 * if it is empty still. A job that is retried makes it again. */
void vrt_queue_remove_output(struct vrt_job *job);

/* What a pipeline is asked for by a request; the rest is filled in by the caller. */
void vrt_queue_fill_params(struct vrt_job *job, const struct vrt_job_request *request,
                           struct vrt_network *network, struct vrt_pipeline_params *ret_params);

/* Inputs from elsewhere. */

/* Whether the job must fetch its input, or be admitted with it, before it can start. */
bool vrt_queue_lacks_input(const struct vrt_job *job);

/* The input that was fetched for a job. Return: a descriptor; -1: there is none. */
int vrt_queue_open_fetched(const struct vrt_queue *queue, int64_t job_id);

/* Fetches for jobs that are `fetching`, as many as are allowed. */
void vrt_queue_fetch_jobs(struct vrt_queue *queue);

/* The job doesn't want its input now; what was fetched of it stays. */
void vrt_queue_fetch_end(struct vrt_job *job);

/* The same for all jobs, which stay as they are: the queue stops. */
void vrt_queue_fetch_end_all(struct vrt_queue *queue);

/* Admits a listed job whose input has come. Return: 0, it becomes queued or fails; -errno with
 * `error`. */
int vrt_queue_admit_listed(struct vrt_queue *queue, struct vrt_job *job, struct vrt_error *error);

/* Sends the notice of a job that is over, if one is due. */
void vrt_queue_send_notice(struct vrt_queue *queue, struct vrt_job *job);

/* Whether it is a disk that the error is about, so that the job goes on when there is room. */
bool vrt_queue_is_about_room(const struct vrt_error *error);

/* The job waits until there is more room than now. */
void vrt_queue_wait_for_room(struct vrt_queue *queue, struct vrt_job *job,
                             const struct vrt_error *error);

/* The job waits, and all others that would start, until files were closed, or for a while. It is
 * queued again, unless it is paused or fetches its input. */
void vrt_queue_wait_for_descriptors(struct vrt_queue *queue, struct vrt_job *job,
                                    const struct vrt_error *error);

/* Suspects. */

/* Whether others wait for a job that is tried alone. *ret_next is the one that is queued and may
 * start now; NULL: none. */
bool vrt_queue_has_suspects(struct vrt_queue *queue, struct vrt_job **ret_next);

/* Ends the run of a suspect that takes too long, so that the others go on. */
void vrt_queue_limit_suspect(struct vrt_queue *queue);

/* Runs. */

/* Begins one; the job was moved by START already. */
void vrt_queue_run_start(struct vrt_job *job);

/* Ends the job's run, if there is one, as `wish` says; a weaker wish than one before is nothing.
 * `failure` (or NULL) is what it then failed of. */
void vrt_queue_run_end(struct vrt_job *job, enum vrt_run_wish wish,
                       const struct vrt_error *failure);

/* Frees the job's pipeline, which has ended or was never started. */
void vrt_queue_free_pipeline(struct vrt_job *job);

/* Whether its pipeline works for the job, or could. */
bool vrt_queue_run_is_going(const struct vrt_job *job);

/* Holds the run, or lets it go on. Return: whether there was one to be held. */
bool vrt_queue_run_hold(struct vrt_job *job, bool held);
