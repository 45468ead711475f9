/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The life of a job, and the list of all jobs
 *
 *     event    queued       running      finishing  waiting        over
 *     FETCH    fetching     -            -          -              -
 *     START    running      -            -          -              -
 *     FINISH   -            finishing    -          -              -
 *     SUCCEED  -            done         done       -              -
 *     FAIL     failed       failed       failed     failed         -
 *     CANCEL   cancelled    cancelled    cancelled  cancelled      -
 *     PAUSE    paused       paused       -          paused 1       -
 *     LOSE     needs_input  needs_input  -          needs_input 2  -
 *     FILL     disk_full    disk_full    disk_full  disk_full 3    -
 *     REQUEUE  -            queued       queued     queued         -
 *     RETRY    -            -            -          -              queued 4
 *
 * Which function says each is told in docs/life-of-a-job.md.
 *
 * waiting: fetching, paused, needs_input, disk_full; over: done, failed, cancelled.
 * 1: from fetching and disk_full; 2: not from needs_input; 3: from fetching; 4: not from done.
 *
 * A job is in the list, and known to users, from the moment it was admitted, or the fetching of its
 * input begins: before that nobody but its submitter waits for it, and a refusal leaves no trace.
 * Pure: queue.h says who does what with jobs, and what those keep of each is in structs of their
 * own.
 *
 * Thread: the loop's.
 */

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/list.h"
#include "daemon/jobs/history/job-history.h"
#include "msg_job.h"
#include "workers/media/segment-record.h"

struct vrt_glimpse;
struct vrt_job_decision;
struct vrt_job_parts;
struct vrt_pipeline;

enum vrt_job_event {
    VRT_JOB_FETCH,                      /* its input must come from elsewhere first */
    VRT_JOB_START,
    VRT_JOB_FINISH,
    VRT_JOB_SUCCEED,
    VRT_JOB_FAIL,
    VRT_JOB_CANCEL,
    VRT_JOB_PAUSE,
    VRT_JOB_LOSE,                       /* the daemon has its files no more, or has others */
    VRT_JOB_FILL,                       /* a disk is full */
    VRT_JOB_REQUEUE,                    /* whatever held it up is over */
    VRT_JOB_RETRY,
    VRT_JOB_EVENT_COUNT,
};

/* What of a job is told to whom. */
enum vrt_job_view {
    VRT_JOB_VIEW_FULL,                  /* its owner, and administrators: daemon/access/access.h */
    VRT_JOB_VIEW_REDACTED,              /* others: without names, paths, and texts with names */
    VRT_JOB_VIEW_COUNT,
};

/* What a user's jobs have in common. */
struct vrt_job_user {
    uid_t uid;
    int n_jobs, n_running, n_over;
    struct vrt_job *first;              /* in order, that run or wait: disk-space.c's own */
    uint64_t turn;                      /* when one of his was started last, counted in starts */
};

struct vrt_job {
    struct vrt_list link;               /* in vrt_jobs.all, once admitted */
    struct vrt_job_user *user;          /* who submitted it, while it is in the list */
    uid_t uid;
    char name[24];                      /* its number, as text */
    struct vrt_job_info info;           /* what is told of it; its arrays are the job's */
    uint64_t ended;                     /* as the how many-th it was over; 0: it isn't */
    int64_t ended_ns;                   /* and when, by the clock that doesn't jump */
    bool is_remote;                     /* its input has a URL, or was uploaded */
    bool keeps_result;                  /* its output is vrtd's own file, to be downloaded */
    bool has_webhook;                   /* somebody wants to be told of its end */
    bool shows_model;                   /* everybody may know its model's name */
    struct vrt_buf short_texts[VRT_JOB_VIEW_COUNT];     /* as JSON; empty: to be printed again */

    /* What outlives the daemon, besides `info`: see job-store.h. */
    char *request;                      /* the struct vrt_job_request as JSON */
    struct vrt_job_decision *decision;  /* what every run of it shares */
    struct vrt_segment_record *segments;        /* of its result, that are stored, in order */
    size_t n_segments;
    int64_t n_made;                     /* segments, with those that are about to be stored */
    int n_fruitless;                    /* starts since the last progress: queue.c has the rule */
    bool has_media_failed;              /* vrt-media ended or hung since then: once is forgiven */
    size_t n_forgiven;                  /* segments there were at most when that was forgiven */
    double ran_s;                       /* of earlier runs */
    struct vrt_job_history history;     /* of all its runs */

    int64_t output_bytes;               /* the estimate of its size; -1: unknown */
    struct vrt_pipeline *pipeline;      /* that finds out how to do it, or does it; or NULL */
    size_t n_told_warnings;             /* of its pipeline */
    struct vrt_glimpse *glimpse;        /* of the same, while it runs; or NULL */
    struct vrt_job_parts *parts;        /* what others keep of it: queue-context.h; or NULL */
};

/* All jobs that are remembered. */
struct vrt_jobs {
    struct vrt_list all;                /* of struct vrt_job.link, oldest first */
    int counts[VRT_JOB_STATE_COUNT];
    int n_queued[VRT_API_PRIORITY_MAX - VRT_API_PRIORITY_MIN + 1];     /* by priority */
    struct vrt_job **by_id;             /* the same jobs, in the same order */
    size_t n_jobs, capacity;
    struct vrt_job_user **users;        /* who has jobs in the list */
    size_t n_users;
    int64_t last_id;
    uint64_t n_ended;                   /* since the start */
    int64_t n_over[VRT_JOB_STATE_COUNT];        /* likewise, by how; retried ones again */
    int64_t n_failed[VRT_API_ERROR_COUNT];      /* likewise, by why: enum vrt_api_error_index */
    uint64_t n_starts;
};

/* What `state` becomes by `event`, or VRT_UNKNOWN where it cannot happen. */
int vrt_job_state_after(int state, enum vrt_job_event event);

/* Owned by nobody yet, known to nobody; `id` 0: without a number. Return: 0, -ENOMEM. */
int vrt_job_new(int64_t id, uid_t uid, struct vrt_job **ret_job);

/* Gives it a number that nobody was told of yet. */
static inline void vrt_job_set_id(struct vrt_job *job, int64_t id)
{
    job->info.id = id;
    if (id)
        snprintf(job->name, sizeof(job->name), "%" PRId64, id);
    else
        snprintf(job->name, sizeof(job->name), "being submitted");
}

/* It must be in no list and have neither pipeline nor parts. Return: NULL. */
struct vrt_job *vrt_job_free(struct vrt_job *job);

/* What is told of it has changed: its text is printed anew when it is next asked for. */
void vrt_job_touch(struct vrt_job *job);

/*
 * Its short form as JSON, for lists and events; printed once and kept, so that a long list costs
 * no more than copying. It lives until the job changes. NULL: no memory.
 */
const struct vrt_buf *vrt_job_short_text(struct vrt_job *job, enum vrt_job_view view);

/* Appends its long form as JSON. Return: 0, -ENOMEM, -EMSGSIZE. */
int vrt_job_print(const struct vrt_job *job, enum vrt_job_view view,
                  struct vrt_buf *buf) VRT_MUST_CHECK;

/* Adds a warning, unless it is there. Return: 0, -ENOMEM. */
int vrt_job_add_warning(struct vrt_job *job, const char *text);

/* Makes room for the shares of n devices, those there are kept. Return: 0, -ENOMEM. */
int vrt_job_set_n_devices(struct vrt_job *job, size_t n);

/* No jobs, none so far. */
void vrt_jobs_init(struct vrt_jobs *jobs);

/* Frees what the list itself holds; no job may be in it. */
void vrt_jobs_done(struct vrt_jobs *jobs);

/* Adds a job, in whatever state it is. The list doesn't own it. Return: 0, -ENOMEM. */
int vrt_jobs_add(struct vrt_jobs *jobs, struct vrt_job *job) VRT_MUST_CHECK;

/* Takes it out of the list. */
void vrt_jobs_remove(struct vrt_jobs *jobs, struct vrt_job *job);

/* The job with this number, or NULL. */
struct vrt_job *vrt_jobs_find(const struct vrt_jobs *jobs, int64_t id);

/* The oldest job whose number is over this one, or NULL. */
struct vrt_job *vrt_jobs_after(const struct vrt_jobs *jobs, int64_t id);

/* The one that follows this one, or NULL. */
static inline struct vrt_job *vrt_jobs_behind(const struct vrt_jobs *jobs,
                                              const struct vrt_job *job)
{
    return job->link.next == &jobs->all ? NULL :
           vrt_container_of(job->link.next, struct vrt_job, link);
}

/*
 * The queued job that should start next: one of the highest priority; of those one of the user
 * with the fewest jobs running, of several users the one whose last start is longest ago; his
 * oldest. NULL: none is queued.
 */
struct vrt_job *vrt_jobs_next(const struct vrt_jobs *jobs);

/* Which running job makes room for one that waits; NULL: none does. */
struct vrt_jobs_room {
    struct vrt_job *job;
    bool at_once;                       /* else when it has had its turn */
};

/*
 * Whether that one may start, where max_running jobs run at a time. One of a higher priority than
 * some of those is started beside them, since it takes their devices anyway (sched.h); where that
 * makes twice as many, one of the lowest priority makes room. One of no higher priority is made
 * room for by the user who has most jobs running, if he has more of them than its own; of several
 * such users by the one whose last start is longest ago: by the job that he submitted last, at once
 * where he has another one besides.
 */
bool vrt_jobs_may_start(const struct vrt_jobs *jobs, int max_running,
                        struct vrt_jobs_room *ret_room);

/* Gives it another priority. */
void vrt_jobs_set_priority(struct vrt_jobs *jobs, struct vrt_job *job, int priority);

/* Of the jobs that are over, the first that was; or NULL. */
struct vrt_job *vrt_jobs_first_over(const struct vrt_jobs *jobs);

/* Where more than `history` jobs are over: the first that was of the user who has most of them, so
 * that nobody can have others' forgotten by many small ones of his own. Else NULL. */
struct vrt_job *vrt_jobs_expired(const struct vrt_jobs *jobs, int history);

/* How many run, or finish. */
static inline int vrt_jobs_n_running(const struct vrt_jobs *jobs)
{
    return jobs->counts[VRT_JOB_RUNNING] + jobs->counts[VRT_JOB_FINISHING];
}

/* Moves it along the table; a start is its user's turn. Return: whether its state allows that. */
bool vrt_jobs_move(struct vrt_jobs *jobs, struct vrt_job *job, enum vrt_job_event event);

VRT_DEFINE_CLEANUP(struct vrt_job, vrt_job_free)
