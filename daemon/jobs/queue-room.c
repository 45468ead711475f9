/* SPDX-License-Identifier: MIT */

/*
 * Jobs that wait for room: on a disk that is full, in what one user may have of it, or for files to
 * be closed
 *
 * On a full disk a job goes on when there is room for all that it still has to write, as far as
 * that is known: its segments that are missing, and all of them once more, joined. The estimate may
 * be wrong, and what filled the disk may have been gone when it was looked at: after ROOM_AGAIN_S
 * room for the next segment is enough.
 *
 * Of the jobs of one user that run or wait for spool_per_user only the first in order (the highest
 * priority, then the oldest) goes on in whatever room there is; the others where there is room for
 * them to the end. When none of his jobs runs, nothing would ever become free: then the last in
 * order that wait give their segments back until the first can go on. That ends: the first never
 * gives anything back, each of its runs stores a segment or more, and so it is done, or alone too
 * large, after a number of starts that is bounded by its segments; then the next one is the first.
 */

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/jobs/job-report.h"
#include "daemon/jobs/queue-impl.h"
#include "daemon/access/quota.h"
#include "daemon/jobs/room.h"
#include "daemon/jobs/spool.h"

#define VRT_LOG_TOPIC "queue"

/* What must have become free before a job tries a full disk again, at least. */
#define ROOM_MIN_BYTES (INT64_C(4) << 20)

/* ... or so much later. */
#define ROOM_AGAIN_S (15 * 60)

static bool is_id(const char *id, enum vrt_api_error_index index)
{
    return strcmp(id, vrt_api_errors[index].id) == 0;
}

bool vrt_queue_is_about_room(const struct vrt_error *error)
{
    static const enum vrt_api_error_index ids[] = { VRT_API_E_SPOOL_FULL, VRT_API_E_OUTPUT_FULL,
                                                    VRT_API_E_STORE_FULL, VRT_API_E_SPOOL_QUOTA };

    for (size_t i = 0; error->id && i < VRT_ARRAY_SIZE(ids); i++)
        if (is_id(error->id, ids[i]))
            return true;
    return false;
}

/* Bytes that are free on the disk that the job's error is about. */
static int64_t room_bytes(const struct vrt_queue *queue, const struct vrt_job *job)
{
    int spool_fd = queue->params.spool_fd, output_fd = job->fds[VRT_JOB_OUTPUT];
    const char *id = job->info.error.id;

    if (is_id(id, VRT_API_E_OUTPUT_FULL))
        return output_fd < 0 ? INT64_MAX : vrt_spool_room_bytes(output_fd);
    return is_id(id, VRT_API_E_STORE_FULL) ? vrt_spool_room_above_bytes(spool_fd) :
           vrt_spool_room_bytes(spool_fd);
}

void vrt_queue_wait_for_room(struct vrt_queue *queue, struct vrt_job *job,
                             const struct vrt_error *error)
{
    vrt_assert(vrt_jobs_move(&queue->jobs, job, VRT_JOB_FILL));
    vrt_job_report_error(job, error);
    job->room_bytes = room_bytes(queue, job);
    job->filled_ns = vrt_clock_now_ns();
    job->n_barren = 0;
    vrt_log_warning("job %" PRId64 " waits for room: %s", job->info.id, error->message);
    vrt_queue_tell(queue, job);
    vrt_queue_save(queue, job, NULL);
    vrt_queue_look_soon(queue);
}

void vrt_queue_wait_for_descriptors(struct vrt_queue *queue, struct vrt_job *job,
                                    const struct vrt_error *error)
{
    if (job->info.state == VRT_JOB_RUNNING || job->info.state == VRT_JOB_FINISHING)
        vrt_assert(vrt_jobs_move(&queue->jobs, job, VRT_JOB_REQUEUE));
    vrt_job_report_error(job, error);
    job->n_barren = 0;
    queue->is_short = true;
    vrt_log_warning("job %" PRId64 " waits for descriptors: %s", job->info.id, error->message);
    vrt_queue_tell(queue, job);
    vrt_queue_save(queue, job, NULL);
    vrt_queue_look_soon(queue);
}

/* What is known of the job's size. */
static struct vrt_room room_of(const struct vrt_job *job)
{
    return (struct vrt_room){
        .frames_total = job->info.frames_total,
        .output_bytes = job->output_bytes,
        .segments = job->segments,
        .n_segments = job->n_segments,
    };
}

/* Whether there is enough on the disk that was full. */
static bool has_disk(const struct vrt_queue *queue, const struct vrt_job *job)
{
    const struct vrt_room room = room_of(job);
    const char *id = job->info.error.id;
    bool is_late = vrt_clock_now_ns() - job->filled_ns > ROOM_AGAIN_S * VRT_NS_PER_S;
    int64_t free_bytes = room_bytes(queue, job), needed = 0;

    if (is_late)
        return free_bytes >= VRT_MAX(ROOM_MIN_BYTES, vrt_room_next_bytes(&room));
    if (is_id(id, VRT_API_E_SPOOL_FULL))
        needed = vrt_room_spool_bytes(&room);
    else if (is_id(id, VRT_API_E_OUTPUT_FULL))
        needed = vrt_room_output_bytes(&room) - vrt_spool_held_bytes(job->fds[VRT_JOB_OUTPUT]);
    /* An estimate that is too low must not start it again and again. */
    return free_bytes - job->room_bytes >= VRT_MAX(ROOM_MIN_BYTES, vrt_room_next_bytes(&room)) &&
           free_bytes >= needed;
}

static bool waits_for_quota(const struct vrt_job *job)
{
    return job->info.state == VRT_JOB_DISK_FULL && job->info.has_error &&
           is_id(job->info.error.id, VRT_API_E_SPOOL_QUOTA);
}

/* Whether `a` stands before `b`, a job of the same user. */
static bool is_before(const struct vrt_job *a, const struct vrt_job *b)
{
    if (a->info.priority != b->info.priority)
        return a->info.priority > b->info.priority;
    return a->info.id < b->info.id;
}

/* Notes for each user which of his jobs that run, or wait for spool_per_user, is the first: those
 * behind one that runs must not take what it will need. */
static void note_first(struct vrt_queue *queue)
{
    struct vrt_job *job;

    for (size_t i = 0; i < queue->jobs.n_users; i++)
        queue->jobs.users[i]->first = NULL;
    VRT_LIST_FOREACH(job, &queue->jobs.all, link)
        if ((waits_for_quota(job) || job->info.state == VRT_JOB_RUNNING ||
             job->info.state == VRT_JOB_FINISHING) &&
            (!job->user->first || is_before(job, job->user->first)))
            job->user->first = job;
}

/* The last of the user's jobs that wait for room, behind `first`, and have segments; or NULL. */
static struct vrt_job *find_giver(const struct vrt_queue *queue, const struct vrt_job *first)
{
    struct vrt_job *job, *last = NULL;

    VRT_LIST_FOREACH(job, &queue->jobs.all, link)
        if (job->uid == first->uid && job->info.state == VRT_JOB_DISK_FULL &&
            job->n_segments > 0 && is_before(first, job) && (!last || is_before(last, job)))
            last = job;
    return last;
}

/* Lets the last ones give back what the first needs. Return: whether it can go on. */
static bool make_room(struct vrt_queue *queue, const struct vrt_job *first, int64_t needed)
{
    struct vrt_job *giver;
    int64_t held;

    while (!vrt_queue_may_spool(first, needed)) {
        giver = find_giver(queue, first);
        if (!giver)
            break;
        vrt_log_warning("job %" PRId64 " gives its %zu segments back, which are computed again "
                        "later: job %" PRId64 " of the same user comes first, and none of his runs",
                        giver->info.id, giver->n_segments, first->info.id);
        vrt_queue_give_segments_back(queue, giver);
    }
    /* Alone it is done, or is told that it is too large. */
    held = vrt_quota_held(queue->params.quota, VRT_QUOTA_SPOOL_BYTES, first->uid);
    return held <= first->spool_bytes || vrt_queue_may_spool(first, needed);
}

/* Whether the job may go on with what its user may have. */
static bool has_quota(struct vrt_queue *queue, const struct vrt_job *job)
{
    const struct vrt_room room = room_of(job);
    /* What is stored is charged for being joined too. */
    int64_t rest = vrt_room_spool_bytes(&room) - vrt_room_stored_bytes(&room);
    int64_t next = VRT_MAX(vrt_room_next_bytes(&room), 1);

    /* Of one about which nothing is known nobody can say that there is room to its end. */
    if (job->user->first != job)
        return (rest > 0 || job->n_segments > 0) &&
               vrt_queue_may_spool(job, VRT_MAX(rest, next));
    return vrt_queue_may_spool(job, next) ||
           (job->user->n_running == 0 && make_room(queue, job, next));
}

bool vrt_queue_try_full(struct vrt_queue *queue)
{
    struct vrt_job *job;
    bool any = false;

    note_first(queue);
    VRT_LIST_FOREACH(job, &queue->jobs.all, link) {
        if (job->info.state != VRT_JOB_DISK_FULL)
            continue;
        any = true;
        if (queue->stopping ||
            !(waits_for_quota(job) ? has_quota(queue, job) : has_disk(queue, job)))
            continue;
        vrt_log_info("job %" PRId64 ": there is room again", job->info.id);
        job->info.has_error = false;
        vrt_assert(vrt_jobs_move(&queue->jobs, job, VRT_JOB_REQUEUE));
        vrt_queue_tell(queue, job);
    }
    return any;
}
