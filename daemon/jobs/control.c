/* SPDX-License-Identifier: MIT */

/*
 * Each checks first, and then takes effect whole.
 */

#include "daemon/jobs/control.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "daemon/access/peer.h"
#include "daemon/access/quota.h"
#include "daemon/jobs/admission.h"
#include "daemon/jobs/job-remote.h"
#include "daemon/jobs/job-report.h"
#include "daemon/jobs/queue-context.h"
#include "daemon/jobs/run.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/systemd/fd-store.h"
#include "workers/media/files/pipe.h"

static int refuse_state(const struct vrt_job *job, const char *cure, struct vrt_error *error)
{
    return vrt_refuse(error, -EINVAL, VRT_E(JOB_STATE), "job %" PRId64 " %s%s", job->info.id,
                      vrt_job_state_phrases[job->info.state], cure);
}

/* Lets no more held pipelines stay than may run: each holds frames in memory. */
static void limit_held(struct vrt_queue_context *context)
{
    struct vrt_job *job, *oldest = NULL;
    int n = 0;

    VRT_LIST_FOREACH(job, &context->jobs.all, link) {
        if (!vrt_run_is_held(job))
            continue;
        n++;
        if (!oldest)
            oldest = job;
    }
    if (n > context->params.max_running)
        vrt_run_end(oldest, VRT_RUN_STOP, NULL);
}

/* What is held keeps its frames in memory, and what is not is begun anew. */
static int refuse_pipe(const struct vrt_job *job, const char *what, struct vrt_error *error)
{
    return vrt_refuse(error, vrt_raise(-EINVAL), VRT_E(INPUT_PIPE), "job %" PRId64 " reads a pipe, "
                      "of which nothing can be read a second time: %s", job->info.id, what);
}

int vrt_control_pause(struct vrt_control *control, struct vrt_job *job, struct vrt_error *error)
{
    struct vrt_queue_context *context = control->context;

    vrt_assert_thread(VRT_THREAD_LOOP);
    /* It may be about to be done, which was not told yet. */
    vrt_run_refresh(control->runs, job);
    if (job->parts->files.is_pipe_begun)
        return refuse_pipe(job, "pause the program that writes into it (Ctrl-Z), and the job waits",
                           error);
    if (!vrt_jobs_move(&context->jobs, job, VRT_JOB_PAUSE))
        return refuse_state(job, job->info.state == VRT_JOB_FINISHING ?
                            ": it is about to be done" : ": there is nothing to pause", error);
    /* One that is only beginning holds nothing yet: it begins anew. */
    if (!vrt_run_hold(job, true))
        vrt_run_end(job, VRT_RUN_STOP, NULL);
    /* Whatever the daemon dies of meanwhile, it wasn't this one. */
    if (job->parts->run)
        job->n_fruitless = 0;
    vrt_job_remote_cancel(job);
    vrt_queue_tell(context, job);
    vrt_job_store_save(control->store, job, NULL);
    limit_held(context);
    vrt_queue_proceed(context);
    return 0;
}

/* Whether the job has all its files, or will have with those that were handed over. */
static int check_files(const struct vrt_job *job, const struct vrt_handover *handover,
                       struct vrt_error *error)
{
    struct vrt_job_request request;
    int r = vrt_job_record_request(job, &request, error);

    if (r < 0)
        return vrt_fold(r);
    for (int i = 0; i < VRT_JOB_FILE_COUNT; i++) {
        /* What came by no descriptor is opened, or fetched, by the next start. */
        if (job->parts->files.fds[i] >= 0 || request.files[i].fd == VRT_UNKNOWN ||
            (handover && handover->request->files[i].fd != VRT_UNKNOWN))
            continue;
        return vrt_refuse(error, -ENOENT, VRT_E(JOB_NEEDS_INPUT),
                          "vrtd has the %s of job %" PRId64 " no more: give its files again",
                          vrt_job_file_names[i], job->info.id);
    }
    return 0;
}

/* An output that may be written to is known again when what is in it is ours. */
static void note_output(struct vrt_job *job, bool overwrite)
{
    struct stat output;

    if (fstat(job->parts->files.fds[VRT_JOB_OUTPUT], &output) == 0 &&
        (output.st_size == 0 || overwrite))
        vrt_job_files_note_output(job, &output);
}

/* What is handed over as the output must not be another job's. */
static int check_output(const struct vrt_control *control, const struct vrt_job *job,
                        const struct vrt_handover *handover, struct vrt_error *error)
{
    const struct vrt_peer_files *files = handover->files;
    int64_t fd = handover->request->output.fd;

    /* One that didn't come is found by vrt_job_files_take(). */
    if (fd == VRT_UNKNOWN || fd >= files->n || files->fds[fd] < 0)
        return 0;
    return vrt_fold(vrt_admission_check_unused(control->admission, job, files->fds[fd], error));
}

/* A pipe begins a job, and neither takes the place of another input nor gives its own to one. */
static int check_pipe(const struct vrt_job *job, const struct vrt_handover *handover,
                      struct vrt_error *error)
{
    const struct vrt_peer_files *files = handover->files;
    int64_t fd = handover->request->input.fd;

    if (fd == VRT_UNKNOWN || fd >= files->n)
        return 0;
    if (job->info.input_piped)
        return refuse_pipe(job, "let it go on without another input", error);
    if (!vrt_pipe_is_one(files->fds[fd]))
        return 0;
    return vrt_refuse(error, vrt_raise(-EINVAL), VRT_E(INPUT_PIPE), "job %" PRId64 " was begun "
                      "with a file, and goes on with no pipe: give the file, or submit a new job",
                      job->info.id);
}

/* Takes the files that were handed over in the place of those there are. */
static int take_handover(struct vrt_control *control, struct vrt_job *job,
                         const struct vrt_handover *handover, struct vrt_error *error)
{
    int r = check_files(job, handover, error);

    if (r == 0 && handover)
        r = check_output(control, job, handover, error);
    if (r == 0 && handover)
        r = check_pipe(job, handover, error);
    if (r == 0 && handover)
        r = vrt_job_files_take(job, handover->request->files, handover->files, error);
    if (r == 0 && handover)
        r = vrt_job_record_give(job, handover->request, error);
    if (r < 0 || !handover)
        return vrt_fold(r);
    if (handover->request->output.fd != VRT_UNKNOWN)
        note_output(job, handover->request->overwrite);
    vrt_job_files_keep(control->context, job);
    return 0;
}

/* The job waits in the queue as if it had never been away. */
static void requeue(struct vrt_control *control, struct vrt_job *job, enum vrt_job_event event)
{
    struct vrt_queue_context *context = control->context;

    vrt_assert(vrt_jobs_move(&context->jobs, job, event));
    job->info.has_error = false;
    job->info.finished_at = 0;
    vrt_queue_tell(context, job);
    vrt_job_store_save(control->store, job, NULL);
    vrt_queue_proceed(context);
}

int vrt_control_resume(struct vrt_control *control, struct vrt_job *job,
                       const struct vrt_handover *handover, struct vrt_error *error)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    int state = job->info.state;

    if (state != VRT_JOB_PAUSED && state != VRT_JOB_NEEDS_INPUT && state != VRT_JOB_DISK_FULL)
        return refuse_state(job, state == VRT_JOB_DONE ? ": there is nothing to resume" :
                            vrt_job_state_is_final(state) ? ": to do it once more, retry it" :
                            ": it goes on by itself", error);
    /* What a thread or a pipeline works with stays: it knows the old ones. */
    int r = job->parts->run || job->parts->admission ? 0 :
            take_handover(control, job, handover, error);
    if (r < 0)
        return vrt_fold(r);
    requeue(control, job, VRT_JOB_REQUEUE);
    return 0;
}

int vrt_control_retry(struct vrt_control *control, struct vrt_job *job,
                      const struct vrt_handover *handover, struct vrt_error *error)
{
    int state = job->info.state;

    vrt_assert_thread(VRT_THREAD_LOOP);
    if (vrt_job_state_after(state, VRT_JOB_RETRY) == VRT_UNKNOWN)
        return refuse_state(job, vrt_job_state_is_final(state) ? ": there is nothing to retry" :
                            ": it isn't over", error);
    if (job->info.input_piped)
        return refuse_pipe(job, "run the command again", error);
    int r = vrt_admission_charge(control->admission, job->uid, error);
    if (r < 0)
        return vrt_fold(r);
    r = take_handover(control, job, handover, error);
    if (r < 0) {
        /* Of some that were given and some that weren't, none is kept. */
        vrt_job_files_close(job);
        vrt_quota_give(control->context->params.quota, VRT_QUOTA_JOBS, job->uid);
        return vrt_fold(r);
    }
    job->parts->is_charged = true;
    job->n_fruitless = 0;
    job->has_media_failed = false;
    job->n_forgiven = 0;
    vrt_disk_space_retry(control->space, job);
    job->decision->is_cancelled = false;
    vrt_job_report_retried(job);
    requeue(control, job, VRT_JOB_RETRY);
    return 0;
}

int vrt_control_forget(struct vrt_control *control, struct vrt_job *job, struct vrt_error *error)
{
    struct vrt_queue_context *context = control->context;

    vrt_assert_thread(VRT_THREAD_LOOP);
    if (!vrt_job_state_is_final(job->info.state))
        return refuse_state(job, ": only jobs that are over are removed from the list", error);
    vrt_jobs_remove(&context->jobs, job);
    vrt_disk_space_sweep(control->space, job);
    vrt_disk_space_drop_result(control->space, job);
    vrt_fd_store_drop(context->params.fd_store, job->info.id);
    vrt_job_store_forget(control->store, job);
    return 0;
}

void vrt_control_forget_expired(struct vrt_control *control)
{
    const struct vrt_queue_params *params = &control->context->params;
    struct vrt_jobs *jobs = &control->context->jobs;
    struct vrt_job *job;

    while ((job = vrt_jobs_expired(jobs, params->history)))
        vrt_control_forget(control, job, NULL);
    if (params->history_s <= 0)
        return;
    while ((job = vrt_jobs_first_over(jobs)) &&
           vrt_clock_now_ns() - job->ended_ns > params->history_s * VRT_NS_PER_S)
        vrt_control_forget(control, job, NULL);
}

int vrt_control_set_priority(struct vrt_control *control, struct vrt_job *job, int priority,
                             struct vrt_error *error)
{
    struct vrt_queue_context *context = control->context;

    vrt_assert_thread(VRT_THREAD_LOOP);
    if (vrt_job_state_is_final(job->info.state))
        return refuse_state(job, ": its priority is of no use any more", error);
    vrt_jobs_set_priority(&context->jobs, job, priority);
    if (job->pipeline)
        vrt_pipeline_set_priority(job->pipeline, priority);
    vrt_queue_tell(context, job);
    vrt_job_store_save(control->store, job, NULL);
    vrt_queue_proceed(context);
    return 0;
}

int vrt_control_cancel(struct vrt_control *control, struct vrt_job *job)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    if (vrt_job_state_is_final(job->info.state))
        return -EALREADY;
    if (!job->parts->admission && !job->parts->run) {
        vrt_queue_end_job(control->context, job, VRT_JOB_CANCEL, NULL);
        return 0;
    }
    /* That takes a moment, in which the daemon may die. What isn't listed isn't stored either. */
    if (!vrt_list_is_empty(&job->link)) {
        job->decision->is_cancelled = true;
        job->info.cancelling = true;
        vrt_queue_tell(control->context, job);
        vrt_job_store_save(control->store, job, NULL);
    }
    if (job->parts->admission)
        vrt_admission_give_up(job);
    else
        vrt_run_end(job, VRT_RUN_CANCEL, NULL);
    return 0;
}
