/* SPDX-License-Identifier: MIT */

/*
 * What users do to jobs that are listed. Each checks first, and then takes effect whole.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/thread.h"
#include "daemon/access/peer.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/access/quota.h"
#include "daemon/jobs/queue-impl.h"

#define VRT_LOG_TOPIC "queue"

static int refuse_state(const struct vrt_job *job, const char *cure, struct vrt_error *error)
{
    return vrt_refuse(error, -EINVAL, VRT_E(JOB_STATE), "job %" PRId64 " %s%s", job->info.id,
                      vrt_job_state_phrases[job->info.state], cure);
}

int vrt_queue_pause(struct vrt_queue *queue, struct vrt_job *job, struct vrt_error *error)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    /* It may be about to be done, which was not told yet. */
    vrt_queue_refresh(queue, job);
    if (!vrt_jobs_move(&queue->jobs, job, VRT_JOB_PAUSE))
        return refuse_state(job, job->info.state == VRT_JOB_FINISHING ?
                            ": it is about to be done" : ": there is nothing to pause", error);
    /* One that is only beginning holds nothing yet: it begins anew. */
    if (!vrt_queue_run_hold(job, true))
        vrt_queue_run_end(job, VRT_RUN_STOP, NULL);
    /* Whatever the daemon dies of meanwhile, it wasn't this one. */
    if (job->run)
        job->n_barren = 0;
    vrt_queue_fetch_end(job);
    vrt_queue_tell(queue, job);
    vrt_queue_save(queue, job, NULL);
    vrt_queue_limit_held(queue);
    vrt_queue_start_jobs(queue);
    return 0;
}

/* Whether the job has all its files, or will have with those that were handed over. */
static int check_files(const struct vrt_job *job, const struct vrt_queue_handover *handover,
                       struct vrt_error *error)
{
    static const char *const names[VRT_JOB_FILE_COUNT] = { "input", "output", "model" };
    struct vrt_job_request request;
    int r = vrt_job_record_request(job, &request, error);

    if (r < 0)
        return vrt_fold(r);
    const struct vrt_file_ref *given[VRT_JOB_FILE_COUNT] = { NULL };
    if (handover) {
        given[VRT_JOB_INPUT] = &handover->request->input;
        given[VRT_JOB_OUTPUT] = &handover->request->output;
        given[VRT_JOB_MODEL] = &handover->request->model;
    }
    /* What is named by its path is opened by the next start. */
    const bool is_elsewhere[VRT_JOB_FILE_COUNT] = {
        [VRT_JOB_INPUT] = job->is_remote || vrt_queue_is_by_path(&request.input),
        [VRT_JOB_OUTPUT] = vrt_queue_is_by_path(&request.output),
        [VRT_JOB_MODEL] = request.model.fd == VRT_UNKNOWN,
    };
    for (int i = 0; i < VRT_JOB_FILE_COUNT; i++) {
        if (job->fds[i] >= 0 || (given[i] && given[i]->fd != VRT_UNKNOWN) || is_elsewhere[i])
            continue;
        return vrt_refuse(error, -ENOENT, VRT_E(JOB_NEEDS_INPUT),
                          "vrtd has the %s of job %" PRId64 " no more: give its files again",
                          names[i], job->info.id);
    }
    return 0;
}

/* An output that may be written to is known again when what is in it is ours. */
static void note_output(struct vrt_job *job, bool overwrite)
{
    struct stat output;

    if (fstat(job->fds[VRT_JOB_OUTPUT], &output) < 0 || (output.st_size > 0 && !overwrite))
        return;
    job->work->output_dev = (uint64_t)output.st_dev;
    job->work->output_ino = (uint64_t)output.st_ino;
}

/* What is handed over as the output must not be another job's. */
static int check_output(const struct vrt_job *job, const struct vrt_queue_handover *handover,
                        struct vrt_error *error)
{
    const struct vrt_peer_files *files = handover->files;
    int64_t fd = handover->request->output.fd;

    /* One that didn't come is found by vrt_queue_take_files(). */
    if (fd == VRT_UNKNOWN || fd >= files->n || files->fds[fd] < 0)
        return 0;
    return vrt_fold(vrt_queue_check_unused(job->queue, job, files->fds[fd], error));
}

/* Takes the files that were handed over in the place of those there are. */
static int take_handover(struct vrt_job *job, const struct vrt_queue_handover *handover,
                         struct vrt_error *error)
{
    int r = check_files(job, handover, error);

    if (r == 0 && handover)
        r = check_output(job, handover, error);
    if (r == 0 && handover)
        r = vrt_queue_take_files(job, (const struct vrt_file_ref *const[]){
            [VRT_JOB_INPUT] = &handover->request->input,
            [VRT_JOB_OUTPUT] = &handover->request->output,
            [VRT_JOB_MODEL] = &handover->request->model,
        }, handover->files, error);
    if (r == 0 && handover)
        r = vrt_job_record_give(job, handover->request, error);
    if (r < 0 || !handover)
        return vrt_fold(r);
    if (job->work && handover->request->output.fd != VRT_UNKNOWN)
        note_output(job, handover->request->overwrite);
    vrt_queue_keep_files(job);
    return 0;
}

/* The job waits in the queue as if it had never been away. */
static void requeue(struct vrt_queue *queue, struct vrt_job *job, enum vrt_job_event event)
{
    vrt_assert(vrt_jobs_move(&queue->jobs, job, event));
    job->info.has_error = false;
    job->info.finished_at = 0;
    vrt_job_touch(job);
    vrt_queue_tell(queue, job);
    vrt_queue_save(queue, job, NULL);
    vrt_queue_start_jobs(queue);
}

int vrt_queue_resume(struct vrt_queue *queue, struct vrt_job *job,
                     const struct vrt_queue_handover *handover, struct vrt_error *error)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    int state = job->info.state;

    if (state != VRT_JOB_PAUSED && state != VRT_JOB_NEEDS_INPUT && state != VRT_JOB_DISK_FULL)
        return refuse_state(job, state == VRT_JOB_DONE ? ": there is nothing to resume" :
                            vrt_job_state_is_final(state) ? ": to do it once more, retry it" :
                            ": it goes on by itself", error);
    /* What a thread or a pipeline works with stays: it knows the old ones. */
    int r = job->run || job->admission ? 0 : take_handover(job, handover, error);
    if (r == 0)
        requeue(queue, job, VRT_JOB_REQUEUE);
    return vrt_fold(r);
}

int vrt_queue_retry(struct vrt_queue *queue, struct vrt_job *job,
                    const struct vrt_queue_handover *handover, struct vrt_error *error)
{
    int state = job->info.state;

    vrt_assert_thread(VRT_THREAD_LOOP);
    if (vrt_job_state_after(state, VRT_JOB_RETRY) == VRT_UNKNOWN)
        return refuse_state(job, vrt_job_state_is_final(state) ? ": there is nothing to retry" :
                            ": it isn't over", error);
    int r = vrt_queue_charge(queue, job->uid, error);
    if (r < 0)
        return vrt_fold(r);
    r = take_handover(job, handover, error);
    if (r < 0) {
        /* Of some that were given and some that weren't, none is kept. */
        vrt_queue_close_files(job);
        vrt_quota_give(queue->params.quota, VRT_QUOTA_JOBS, job->uid);
        return vrt_fold(r);
    }
    job->is_charged = true;
    job->n_barren = 0;
    /* Its working files are gone, or are about to go. */
    if (job->is_swept)
        vrt_queue_cut_segments(queue, job, 0);
    job->is_swept = false;
    job->work->is_cancelled = false;
    job->info.frames_done = 0;
    requeue(queue, job, VRT_JOB_RETRY);
    return 0;
}

int vrt_queue_set_priority(struct vrt_queue *queue, struct vrt_job *job, int priority,
                           struct vrt_error *error)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    if (vrt_job_state_is_final(job->info.state))
        return refuse_state(job, ": its priority is of no use any more", error);
    vrt_jobs_set_priority(&queue->jobs, job, priority);
    if (job->pipeline)
        vrt_pipeline_set_priority(job->pipeline, priority);
    vrt_queue_tell(queue, job);
    vrt_queue_save(queue, job, NULL);
    vrt_queue_start_jobs(queue);
    return 0;
}

int vrt_queue_cancel(struct vrt_queue *queue, struct vrt_job *job)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    if (vrt_job_state_is_final(job->info.state))
        return -EALREADY;
    if (!job->admission && !job->run) {
        vrt_queue_end_job(queue, job, VRT_JOB_CANCEL, NULL);
        return 0;
    }
    /* That takes a moment, in which the daemon may die. What isn't listed isn't stored either. */
    if (job->work && !vrt_list_is_empty(&job->link)) {
        job->work->is_cancelled = true;
        vrt_queue_save(queue, job, NULL);
    }
    if (job->admission)
        vrt_queue_give_up_admission(job->admission, false);
    else
        vrt_queue_run_end(job, VRT_RUN_CANCEL, NULL);
    return 0;
}
