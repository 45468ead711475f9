/* SPDX-License-Identifier: MIT */

/*
 * Jobs whose input is somewhere else
 *
 *     submitted -> listed as fetching -> fetched to spool/ID/input -> admitted -> queued, as any
 *
 * Such a job may lack its input at other times too: after a retry, or when somebody cleaned up. It
 * is never started then, but fetches it first. As many are fetched at a time as are allowed, of one
 * user half of them, those of users with the fewest first. A fetch that isn't wanted any more is
 * let go of at once, and ends by itself; until then its file isn't touched by another.
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "daemon/access/descriptors.h"
#include "daemon/remote/fetch.h"
#include "daemon/jobs/queue-impl.h"
#include "daemon/remote/remote.h"
#include "daemon/jobs/spool.h"

#define VRT_LOG_TOPIC "queue"

#define FETCHES_MAX 4                   /* at a time, */
#define USER_FETCHES_MAX 2              /* and of one user: a slow server may hold them for hours */
#define PART_NAME "input.part"

/* An input on its way. */
struct vrt_queue_fetch {
    struct vrt_list link;
    struct vrt_queue *queue;
    struct vrt_job *job;                /* NULL: it isn't wanted any more */
    int64_t job_id;
    struct vrt_fetch *fetch;
    int spool_fd;                       /* the job's folder */
};

bool vrt_queue_lacks_input(const struct vrt_job *job)
{
    return !job->work->is_admitted || (job->is_remote && job->fds[VRT_JOB_INPUT] < 0);
}

int vrt_queue_open_fetched(const struct vrt_queue *queue, int64_t job_id)
{
    char path[48];

    snprintf(path, sizeof(path), "%" PRId64 "/" VRT_FETCHED_NAME, job_id);
    return openat(queue->params.spool_fd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
}

static void fetch_free(struct vrt_queue_fetch *fetch)
{
    vrt_list_remove(&fetch->link);
    vrt_closep(&fetch->spool_fd);
    free(fetch);
}

/* The job is no longer this fetch's. */
static void let_go(struct vrt_queue_fetch *fetch)
{
    fetch->job->fetch = NULL;
    fetch->job->user->n_fetching--;
    fetch->job = NULL;
}

/* Its input is there: what was found out about others when they were submitted comes now. */
static void take_input(struct vrt_queue *queue, struct vrt_job *job)
{
    struct vrt_error error = { .id = NULL };

    if (job->work->is_admitted) {
        vrt_assert(vrt_jobs_move(&queue->jobs, job, VRT_JOB_REQUEUE));
        vrt_queue_tell(queue, job);
        vrt_queue_save(queue, job, NULL);
    } else if (vrt_queue_admit_listed(queue, job, &error) < 0) {
        vrt_queue_end_job(queue, job, VRT_JOB_FAIL, &error);
    }
}

static void on_progress(void *ctx, int64_t done_bytes, int64_t total_bytes)
{
    struct vrt_queue_fetch *fetch = ctx;
    struct vrt_job *job = fetch->job;

    if (!job)
        return;
    job->info.fetched_bytes = done_bytes;
    job->info.fetch_bytes = total_bytes;
    job->untold = true;
}

/* Gives what was fetched its name. Return: 0; -errno with `error`. */
static int keep_input(struct vrt_queue_fetch *fetch, struct vrt_error *error)
{
    if (renameat(fetch->spool_fd, PART_NAME, fetch->spool_fd, VRT_FETCHED_NAME) < 0)
        return vrt_refuse_errno(error, vrt_raise(-errno), "keeping what was fetched");
    fetch->job->fds[VRT_JOB_INPUT] = vrt_queue_open_fetched(fetch->queue, fetch->job_id);
    if (fetch->job->fds[VRT_JOB_INPUT] < 0)
        return vrt_refuse_errno(error, vrt_raise(-errno), "opening what was fetched");
    return 0;
}

static void on_fetched(void *ctx, const struct vrt_fetch_result *result,
                       const struct vrt_error *error)
{
    struct vrt_queue_fetch *fetch = ctx;
    struct vrt_queue *queue = fetch->queue;
    struct vrt_job *job = fetch->job;
    struct vrt_error failure = { .id = NULL };

    if (error) {
        failure = *error;
    } else if (job && keep_input(fetch, &failure) == 0) {
        job->info.fetched_bytes = job->info.fetch_bytes = result->size_bytes;
        vrt_queue_charge_bytes(job, result->size_bytes);
    }
    if (job)
        let_go(fetch);
    fetch_free(fetch);
    queue->n_saving--;
    /* At the end of the daemon it stays as it is: the next one goes on. */
    if (job && !queue->stopping) {
        if (!failure.message[0])
            take_input(queue, job);
        else if (vrt_queue_is_about_room(&failure))
            vrt_queue_wait_for_room(queue, job, &failure);
        else if (vrt_descriptors_are_out(&failure))
            vrt_queue_wait_for_descriptors(queue, job, &failure);
        else
            vrt_queue_end_job(queue, job, VRT_JOB_FAIL, &failure);
    }
    vrt_queue_start_jobs(queue);
    vrt_queue_check_stopped(queue);
}

/* Begins to fetch a job's input, or finds it. Return: 0; 1: it is there; -errno with `error`. */
static int begin(struct vrt_queue *queue, struct vrt_job *job, struct vrt_error *error)
{
    struct vrt_queue_fetch *fetch = NULL;
    struct vrt_job_request request;

    if (job->fds[VRT_JOB_INPUT] < 0)
        job->fds[VRT_JOB_INPUT] = vrt_queue_open_fetched(queue, job->info.id);
    job->info.has_error = false;
    if (job->fds[VRT_JOB_INPUT] >= 0)
        return 1;
    int r = vrt_job_record_request(job, &request, error);
    if (r < 0)
        return vrt_fold(r);
    fetch = calloc(1, sizeof(*fetch));
    if (!fetch)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "fetching the input");
    vrt_list_init(&fetch->link);
    fetch->queue = queue;
    fetch->job_id = job->info.id;
    fetch->spool_fd = -1;
    r = vrt_spool_open(queue->params.spool_fd, job->info.id, &fetch->spool_fd);
    if (r == -ENOSPC || r == -EDQUOT)
        vrt_refuse(error, r, VRT_E(SPOOL_FULL), "the disk of the state folder is full");
    else if (r < 0)
        vrt_refuse_errno(error, r, "the spool folder");
    else
        r = vrt_remote_fetch_input(queue->params.remote, &(struct vrt_remote_input){
            .url = request.input.url,
            .folder_fd = fetch->spool_fd,
            .name = PART_NAME,
            .progress = on_progress,
            .done = on_fetched,
            .ctx = fetch,
        }, &fetch->fetch, error);
    if (r < 0) {
        fetch_free(fetch);
        return vrt_fold(r);
    }
    fetch->job = job;
    job->fetch = fetch;
    job->user->n_fetching++;
    queue->n_saving++;
    vrt_list_append(&queue->fetches, &fetch->link);
    return 0;
}

/* Whether a fetch of this job, wanted or not, goes on. */
static bool is_being_fetched(const struct vrt_queue *queue, const struct vrt_job *job)
{
    const struct vrt_queue_fetch *fetch;

    VRT_LIST_FOREACH(fetch, &queue->fetches, link)
        if (fetch->job_id == job->info.id)
            return true;
    return false;
}

/* The job that should fetch next, or NULL. */
static struct vrt_job *next_job(struct vrt_queue *queue)
{
    struct vrt_job *job, *next = NULL;
    const struct vrt_queue_fetch *fetch;
    int n = 0;

    VRT_LIST_FOREACH(fetch, &queue->fetches, link)
        n++;
    if (n >= FETCHES_MAX || queue->jobs.counts[VRT_JOB_FETCHING] == 0)
        return NULL;
    VRT_LIST_FOREACH(job, &queue->jobs.all, link)
        if (job->info.state == VRT_JOB_FETCHING && !job->admission &&
            job->user->n_fetching < USER_FETCHES_MAX &&
            (!next || job->user->n_fetching < next->user->n_fetching) &&
            !is_being_fetched(queue, job))
            next = job;
    return next;
}

void vrt_queue_fetch_jobs(struct vrt_queue *queue)
{
    struct vrt_job *job;

    /* A job that ends in here would have the next one's begun within its own. */
    if (queue->is_fetching || queue->stopping || !queue->is_loaded)
        return;
    queue->is_fetching = true;
    while (!queue->is_short && (job = next_job(queue))) {
        struct vrt_error error = { .id = NULL };
        int r = begin(queue, job, &error);
        if (r > 0)
            take_input(queue, job);
        else if (r < 0 && vrt_queue_is_about_room(&error))
            vrt_queue_wait_for_room(queue, job, &error);
        else if (r < 0 && vrt_descriptors_are_out(&error))
            vrt_queue_wait_for_descriptors(queue, job, &error);
        else if (r < 0)
            vrt_queue_end_job(queue, job, VRT_JOB_FAIL, &error);
    }
    queue->is_fetching = false;
}

void vrt_queue_fetch_end(struct vrt_job *job)
{
    struct vrt_queue_fetch *fetch = job->fetch;

    if (!fetch)
        return;
    let_go(fetch);
    vrt_fetch_cancel(fetch->fetch);
}

void vrt_queue_fetch_end_all(struct vrt_queue *queue)
{
    struct vrt_queue_fetch *fetch;

    VRT_LIST_FOREACH(fetch, &queue->fetches, link)
        vrt_fetch_cancel(fetch->fetch);
}
