/* SPDX-License-Identifier: MIT */

/*
 * The working files of jobs: whom they are charged to, and when they go
 *
 * A segment is charged twice its size, because all of them together are once more on the disk when
 * they are joined; what was fetched for a job, as it is. Both are charged when they are there: a
 * user's limit is passed by what was under way for him, at most. His job then waits until other
 * jobs of his have freed enough, see queue-room.c; one that is alone too large for the limit fails.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/jobs/queue-impl.h"
#include "daemon/access/quota.h"
#include "daemon/jobs/spool.h"

#define VRT_LOG_TOPIC "queue"

/* Files to be removed, by a thread: there may be thousands. */
struct sweep {
    uv_work_t work;
    struct vrt_queue *queue;
    char name[64];
};

static void sweep_files(uv_work_t *work)
{
    const struct sweep *sweep = work->data;

    vrt_spool_remove(sweep->queue->params.spool_fd, sweep->name);
}

static void on_swept(uv_work_t *work, int status)
{
    struct sweep *sweep = work->data;
    struct vrt_queue *queue = sweep->queue;

    (void)status;
    free(sweep);
    queue->n_saving--;
    vrt_queue_check_stopped(queue);
}

/* All of them; or with `keeps_input` those of runs. */
static void remove_files(struct vrt_queue *queue, int64_t job_id, bool keeps_input)
{
    struct sweep *sweep = calloc(1, sizeof(*sweep));
    int r = sweep ? vrt_spool_detach(queue->params.spool_fd, job_id, sweep->name,
                                     sizeof(sweep->name)) : -ENOMEM;

    if (r == 0) {
        if (keeps_input)
            vrt_spool_take_back(queue->params.spool_fd, sweep->name, job_id,
                                VRT_FETCHED_NAME);
        sweep->work.data = sweep;
        sweep->queue = queue;
        r = uv_queue_work(queue->params.loop, &sweep->work, sweep_files, on_swept);
    }
    if (r == 0) {
        queue->n_saving++;
        return;
    }
    free(sweep);
    /* The next start finds that they belong to nobody. */
    if (r != -ENOENT)
        vrt_log_warning("job %" PRId64 ": its working files stay for now: %s", job_id,
                        strerror(-r));
}

void vrt_queue_sweep(struct vrt_queue *queue, struct vrt_job *job)
{
    if (job->is_swept)
        return;
    job->is_swept = true;
    vrt_queue_uncharge(job);
    remove_files(queue, job->info.id, false);
}

static int64_t charge_of(const struct vrt_segment_record *segment)
{
    return 2 * VRT_MAX(segment->size_bytes, 0);
}

void vrt_queue_charge_bytes(struct vrt_job *job, int64_t bytes)
{
    struct vrt_quota *quota = job->queue->params.quota;
    struct vrt_error error = { .id = NULL };
    bool is_too_large;

    if (bytes <= 0)
        return;
    int r = vrt_quota_take_amount(quota, VRT_QUOTA_SPOOL_BYTES, job->uid, bytes);
    if (r == 0) {
        job->spool_bytes += bytes;
        return;
    }
    /* They are there, whatever he may have. */
    if (vrt_quota_charge(quota, VRT_QUOTA_SPOOL_BYTES, job->uid, bytes) == 0)
        job->spool_bytes += bytes;
    is_too_large = job->spool_bytes > vrt_quota_limit(quota, VRT_QUOTA_SPOOL_BYTES);
    vrt_refuse(&error, -EDQUOT, is_too_large ? VRT_E(SPOOL_TOO_LARGE) : VRT_E(SPOOL_QUOTA),
               is_too_large ? "the job's working files take more than one user may have: cut the "
                          "video, or ask the administrator for a higher spool_per_user" :
                          "the working files of this user's jobs take as much as he may have: the "
                          "job goes on when others of them are over");
    vrt_queue_run_end(job, VRT_RUN_STOP, &error);
}

void vrt_queue_charge_segment(struct vrt_job *job, const struct vrt_segment_record *segment)
{
    vrt_queue_charge_bytes(job, charge_of(segment));
}

/* Gives back so many bytes. */
static void give_back(struct vrt_job *job, int64_t bytes)
{
    bytes = VRT_MIN(bytes, job->spool_bytes);
    if (bytes > 0)
        vrt_quota_give_amount(job->queue->params.quota, VRT_QUOTA_SPOOL_BYTES, job->uid, bytes);
    job->spool_bytes -= bytes;
}

void vrt_queue_uncharge_segments(struct vrt_job *job, size_t first)
{
    for (size_t i = first; i < job->n_segments; i++)
        give_back(job, charge_of(&job->segments[i]));
}

void vrt_queue_give_segments_back(struct vrt_queue *queue, struct vrt_job *job)
{
    vrt_assert(!job->run);
    vrt_queue_cut_segments(queue, job, 0);
    job->info.frames_done = 0;
    /* A crash before they are forgotten finds them missing, which is the same. */
    remove_files(queue, job->info.id, true);
    vrt_queue_tell(queue, job);
    vrt_queue_save(queue, job, NULL);
}

void vrt_queue_uncharge(struct vrt_job *job)
{
    give_back(job, job->spool_bytes);
}

void vrt_queue_charge_stored(struct vrt_job *job)
{
    const struct vrt_job_info *info = &job->info;
    int64_t bytes = 0;

    if (job->is_remote && info->fetched_bytes > 0 && info->fetched_bytes == info->fetch_bytes)
        bytes = info->fetched_bytes;
    for (size_t i = 0; i < job->n_segments; i++)
        bytes += charge_of(&job->segments[i]);
    if (bytes > 0 && vrt_quota_charge(job->queue->params.quota, VRT_QUOTA_SPOOL_BYTES, job->uid,
                                      bytes) == 0)
        job->spool_bytes = bytes;
}

bool vrt_queue_may_spool(const struct vrt_job *job, int64_t bytes)
{
    struct vrt_quota *quota = job->queue->params.quota;

    if (vrt_quota_take_amount(quota, VRT_QUOTA_SPOOL_BYTES, job->uid, bytes) != 0)
        return false;
    vrt_quota_give_amount(quota, VRT_QUOTA_SPOOL_BYTES, job->uid, bytes);
    return true;
}

void vrt_queue_sweep_failed(struct vrt_queue *queue)
{
    int64_t kept_ns = queue->params.failed_files_s * VRT_NS_PER_S;
    struct vrt_job *job;

    VRT_LIST_FOREACH(job, &queue->jobs.all, link) {
        if (job->info.state != VRT_JOB_FAILED || job->is_swept ||
            vrt_clock_now_ns() - job->ended_ns <= kept_ns)
            continue;
        if (job->n_segments > 0)
            vrt_log_info("job %" PRId64 " failed long ago: its working files go", job->info.id);
        vrt_queue_sweep(queue, job);
        vrt_queue_cut_segments(queue, job, 0);
    }
}
