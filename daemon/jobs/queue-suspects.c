/* SPDX-License-Identifier: MIT */

/*
 * Which job it was that took the daemon with it
 *
 * A crash says nothing of which of the jobs that ran did it. So a start is counted before anything
 * is done for it (n_barren, and the store's `starts`), and forgotten when a segment is stored, or
 * when the run ends or rests in good order. A job that waits with such a count had begun when a
 * daemon died, and is a suspect. Suspects are tried, the oldest first:
 *
 *     - while one waits no other job is started, and those that run are put back;
 *     - then it runs alone until a segment of it is stored, or it ends in whatever way; when no
 *       other suspect waits the others go on.
 *
 * So a first count may be owed to any of the jobs that ran, but each further one only to the job
 * itself: at BARREN_MAX it fails, and never for what another did. Each such run ends: by a segment,
 * by the job's end, by a crash that counts, or, where a job gets nowhere, after SUSPECT_MAX_S. Then
 * it is like one that was begun beside others.
 */

#include <inttypes.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/jobs/queue-impl.h"

#define VRT_LOG_TOPIC "queue"

/* So long the others wait for one that may be slow, or waits for a device that doesn't come. */
#define SUSPECT_MAX_S (10 * 60)

/* One that wasn't suspected begins with a count of one. */
static bool runs_alone(const struct vrt_job *job)
{
    return job->run && job->n_barren > 1;
}

static bool is_suspect(const struct vrt_job *job)
{
    return !job->run && job->n_barren > 0 && !vrt_job_state_is_final(job->info.state);
}

/* Puts back what works. Those that are held or finish are left: these are about to be done.
 * Return: whether anything works still. */
static bool clear_the_room(struct vrt_queue *queue)
{
    struct vrt_job *job;
    bool any = false;

    VRT_LIST_FOREACH(job, &queue->jobs.all, link) {
        if (!job->run || (job->run->is_held && job->run->wish == VRT_RUN_GO))
            continue;
        any = true;
        if (job->info.state == VRT_JOB_RUNNING)
            vrt_queue_run_end(job, VRT_RUN_STOP, NULL);
    }
    return any;
}

bool vrt_queue_has_suspects(struct vrt_queue *queue, struct vrt_job **ret_next)
{
    struct vrt_job *job, *next = NULL;
    bool any = false;

    *ret_next = NULL;
    if (!queue->has_suspects)
        return false;
    VRT_LIST_FOREACH(job, &queue->jobs.all, link) {
        if (runs_alone(job))
            return true;
        if (!is_suspect(job))
            continue;
        any = true;
        if (!next && job->info.state == VRT_JOB_QUEUED)
            next = job;
    }
    /* Only a start of the daemon makes suspects. */
    queue->has_suspects = any;
    if (!next)
        return false;
    if (!clear_the_room(queue))
        *ret_next = next;
    return true;
}

void vrt_queue_limit_suspect(struct vrt_queue *queue)
{
    struct vrt_job *job;

    if (!queue->has_suspects)
        return;
    VRT_LIST_FOREACH(job, &queue->jobs.all, link) {
        if (!runs_alone(job) ||
            vrt_clock_now_ns() - job->run->began_ns < SUSPECT_MAX_S * VRT_NS_PER_S)
            continue;
        vrt_log_info("job %" PRId64 " has stored nothing in %d minutes: others run beside it from "
                     "now on", job->info.id, SUSPECT_MAX_S / 60);
        job->n_barren = 1;
        vrt_queue_save(queue, job, NULL);
        vrt_queue_start_jobs(queue);
    }
}
