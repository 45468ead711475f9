/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A job as the store keeps it, and when it is written
 *
 * A row with three JSON texts (job-record.c):
 *
 *     request     what was asked for, a struct vrt_job_request
 *     info        what is told of it, a struct vrt_job_info, long form
 *     work        what every run of it shares: struct vrt_job_decision
 *
 * and its segments, a row each. Writes take a while (job-store.c): a job may not be freed before
 * the last one is through, and so it is the store that frees what is forgotten. What is done then
 * with files and charges is the queue's, which is told of it.
 *
 * Thread: the loop's, or before it runs.
 */

#include "base/list.h"
#include "daemon/jobs/job.h"
#include "daemon/store/store.h"
#include "workers/media/files/fingerprint.h"
#include "workers/plan/recipe.h"

struct vrt_queue_context;

#define VRT_JOB_GROUPS_MAX 64      /* of one user; NFS knows 16 */

/* What admission decided and found; fixed from then on, but for the recipe's size and the last
 * two. */
struct vrt_job_decision {
    bool is_admitted;                   /* else the rest up to the groups is not known yet */
    struct vrt_recipe recipe;
    bool wants_smaller;                 /* the recipe is too large: the next start has a smaller */
    bool is_alpha_made;                 /* where the network restores transparency: that is done,
                                         * and the colours are due */
    bool uses_cpu_instead;              /* of accelerators that never worked when it was admitted,
                                         * or lack an op */
    struct vrt_fingerprint fingerprint; /* of the input */
    uint64_t network_checksum;
    uint64_t output_dev, output_ino;    /* of the output's file: known again if given again */
    gid_t groups[VRT_JOB_GROUPS_MAX];   /* of who submitted it: what files he may open */
    size_t n_groups;
    bool notice_due;                    /* its webhook was not told yet */
    bool is_cancelled;                  /* it is to end, whatever becomes of its run */
};

/* Of a job: embedded in struct vrt_job_parts. */
struct vrt_job_writes {
    struct vrt_list waits;              /* of struct vrt_job_wait.link */
    uint64_t n_begun;
    uint64_t n_cut;                     /* segments of the first so many are forgotten */
    int n_pending;                      /* that the job must outlive */
    bool is_unsaved;                    /* it changed, and the store could not take it */
    bool is_forgotten;                  /* freed with its last write */
};

/* Embedded in what waits for the store. */
struct vrt_job_wait {
    struct vrt_list link;
    uint64_t last;                      /* the job's write before it, */
    int n_writes;                       /* and how many up to there are still under way */
    void (*stored)(struct vrt_job_wait *wait, struct vrt_job *job);
};

/* What the store tells of; each may end the job's run, and none frees the job. */
struct vrt_job_store_events {
    /* The job's row is on the disk as it is now: no older or newer write of it is under way. */
    void (*settled)(struct vrt_queue_context *context, struct vrt_job *job);
    /* The segment is stored, and the job has it. */
    void (*segment_stored)(struct vrt_queue_context *context, struct vrt_job *job,
                           const struct vrt_segment_record *segment);
    /* The job is about to have no segments from this one on. */
    void (*segments_gone)(struct vrt_queue_context *context, struct vrt_job *job, size_t first);
};

/* Embedded in struct vrt_queue. */
struct vrt_job_store {
    struct vrt_queue_context *context;
    struct vrt_job_store_events events;
    int n_pending;                      /* writes and removals that aren't done */
    int64_t *left_out;                  /* jobs whose rows couldn't be read: left as they are */
    size_t n_left_out;
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
 * Makes of a job that is new, and has the row's number and user, the one that the row tells of.
 * Return: 0; -EINVAL: the row makes no sense, `error` says why; -ENOMEM.
 */
int vrt_job_record_read(const struct vrt_store_job *row, struct vrt_job *job,
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

/* Nothing is under way. */
void vrt_job_store_init(struct vrt_job_store *store, struct vrt_queue_context *context,
                        const struct vrt_job_store_events *events);

/* Frees what the store itself holds; nothing may be under way. */
void vrt_job_store_done(struct vrt_job_store *store);

/* Reads all jobs into the list, in the states that they were in. Return: 0; -errno with `error`. */
int vrt_job_store_load(struct vrt_job_store *store, struct vrt_error *error) VRT_MUST_CHECK;

/* Whether the job is one whose row couldn't be read, so that its files stay. */
bool vrt_job_store_left_out(const struct vrt_job_store *store, int64_t job_id);

/*
 * Writes the job's row; `then` (or NULL) is called on the loop when it is on the disk for good
 * (r = 0) or couldn't be written; a job that couldn't is written later again.
 */
void vrt_job_store_save(struct vrt_job_store *store, struct vrt_job *job,
                        void (*then)(struct vrt_job *job, int r));

/* Tries again what the store couldn't take. Return: whether there is still something. */
bool vrt_job_store_save_rest(struct vrt_job_store *store);

/* Writes the job's history, if it has any. What comes later takes its place. */
void vrt_job_store_save_history(struct vrt_job_store *store, const struct vrt_job *job);

/* Writes a segment's row, with the job's history until then, and takes it into the job's list when
 * that is done. */
void vrt_job_store_save_segment(struct vrt_job_store *store, struct vrt_job *job,
                                const struct vrt_segment_record *segment);

/* Forgets the job's segments from this one on, everywhere. */
void vrt_job_store_cut_segments(struct vrt_job_store *store, struct vrt_job *job, size_t first);

/* Forgets all of them, in the store first; `then` is told as by vrt_job_store_save(). */
void vrt_job_store_drop_segments(struct vrt_job_store *store, struct vrt_job *job,
                                 void (*then)(struct vrt_job *job, int r));

/* Forgets the job, which is in no list. It frees it: soon. */
void vrt_job_store_forget(struct vrt_job_store *store, struct vrt_job *job);

/*
 * Calls `stored`, once, when all that was done to the job is on the disk, so that no crash takes it
 * back, or couldn't be written yet: soon by the loop; at once where no write is under way.
 */
void vrt_job_store_await(struct vrt_job *job, struct vrt_job_wait *wait);
