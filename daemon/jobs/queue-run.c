/* SPDX-License-Identifier: MIT */

/*
 * From a job's start to the end of what works for it
 *
 *     SAVING      the store counts the start: if it crashes the daemon, the next one knows
 *     LOOKING     on a thread: its folder, its model, its files
 *     ADMITTING   a pipeline of the stored recipe asks the devices; or of a smaller one, after a
 *                 run for which they had no memory: then what the larger one made is forgotten
 *     GOING       until the pipeline is done
 *
 * Whatever a user or a signal wants meanwhile is noted as a wish, and the next step finds it; a
 * pipeline is told at once. A run ends in one place, end_run(), and what becomes of its job then
 * depends on the wish, the error, and the state that the job is in: a job that was paused, and even
 * one that was queued again meanwhile, is no longer the run's to move.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/access/descriptors.h"
#include "daemon/jobs/job-report.h"
#include "daemon/systemd/fd-store.h"
#include "daemon/models/models.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/jobs/queue-impl.h"
#include "daemon/jobs/spool.h"

#define VRT_LOG_TOPIC "queue"

/* What a run ends with that is only to stop. */
static struct vrt_error parked_error(void)
{
    return (struct vrt_error){ .id = VRT_E(JOB_PARKED), .message = "the job is put back" };
}

static bool is_parked(const struct vrt_error *error)
{
    return vrt_error_is(error, VRT_E(JOB_PARKED));
}

/* It was ended in good order, and is to be gone on with. */
static void put_back(struct vrt_queue *queue, struct vrt_job *job)
{
    job->n_barren = 0;
    if (job->info.state == VRT_JOB_RUNNING || job->info.state == VRT_JOB_FINISHING)
        vrt_assert(vrt_jobs_move(&queue->jobs, job, VRT_JOB_REQUEUE));
    vrt_log_info("job %" PRId64 " is put back, %zu segments are stored", job->info.id,
                 job->n_segments);
    vrt_queue_tell(queue, job);
    vrt_queue_save(queue, job, NULL);
}

/* Whether the devices had too little memory for the job's recipe, and a smaller one may do. */
static bool is_too_large(const struct vrt_job *job, const struct vrt_queue_run *run,
                         const struct vrt_error *error)
{
    return vrt_error_is(error, VRT_E(DEVICE_MEMORY)) &&
           run->wish == VRT_RUN_GO && job->info.state == VRT_JOB_RUNNING &&
           !job->work->wants_smaller && !job->queue->stopping;
}

/* Begins the job anew, with a recipe that each time is smaller. */
static void begin_smaller(struct vrt_job *job, const struct vrt_error *error)
{
    vrt_log_warning("job %" PRId64 " is begun anew with smaller clips or tiles: %s",
                    job->info.id, error->message);
    job->work->wants_smaller = true;
    job->n_barren = 0;
    vrt_queue_run_start(job);
}

/* Somebody paused and resumed it while it was about to end: that is no start that failed. */
static void begin_again(struct vrt_job *job)
{
    job->n_barren = 0;
    vrt_queue_run_start(job);
}

/* It has failed. To try it again is to try the recipe that it has. */
static void fail(struct vrt_queue *queue, struct vrt_job *job, const struct vrt_error *error)
{
    job->work->wants_smaller = false;
    vrt_queue_end_job(queue, job, VRT_JOB_FAIL, error);
}

/* Whether the run's end says nothing against going on. One that is paused finds a full disk again,
 * if it still is, when it is resumed. */
static bool is_put_back(const struct vrt_queue_run *run, const struct vrt_error *error)
{
    bool was_ended = run->wish != VRT_RUN_GO && (is_parked(error) || !run->failure.message[0]);

    return was_ended || (vrt_queue_is_about_room(error) && run->job->info.state == VRT_JOB_PAUSED);
}

/* Whether what the job's user has to give again is not what the job began with. */
static bool has_other_file(const struct vrt_job *job, const struct vrt_error *error)
{
    bool is_input = vrt_error_is(error, VRT_E(INPUT_OTHER));
    bool is_model = vrt_error_is(error, VRT_E(MODEL_OTHER));

    return (is_input && !job->is_remote) || (is_model && job->fds[VRT_JOB_MODEL] >= 0);
}

/* Nothing is lost yet: it goes on when it is given the right ones. */
static void ask_for_files(struct vrt_queue *queue, struct vrt_job *job,
                          const struct vrt_error *error)
{
    vrt_assert(vrt_jobs_move(&queue->jobs, job, VRT_JOB_LOSE));
    vrt_job_report_error(job, error);
    job->n_barren = 0;
    vrt_queue_close_files(job);
    vrt_fd_store_drop(queue->params.fd_store, job->info.id);
    vrt_log_info("job %" PRId64 " needs its files again: %s", job->info.id, error->message);
    vrt_queue_tell(queue, job);
    vrt_queue_save(queue, job, NULL);
}

/* That counts for more than that somebody wanted it otherwise: the file is there. */
static void succeed(struct vrt_queue *queue, struct vrt_job *job)
{
    if (job->info.state == VRT_JOB_PAUSED)
        vrt_assert(vrt_jobs_move(&queue->jobs, job, VRT_JOB_REQUEUE));
    if (job->info.state == VRT_JOB_QUEUED)
        vrt_assert(vrt_jobs_move(&queue->jobs, job, VRT_JOB_START));
    vrt_queue_end_job(queue, job, VRT_JOB_SUCCEED, NULL);
}

/* What the job is now that its run has ended with `error`, NULL: well. */
static void conclude(struct vrt_queue *queue, struct vrt_job *job, const struct vrt_queue_run *run,
                     const struct vrt_error *error)
{
    if (run->failure.message[0])
        error = error ? &run->failure : NULL;
    if (!error)
        succeed(queue, job);
    else if (run->wish == VRT_RUN_CANCEL)
        vrt_queue_end_job(queue, job, VRT_JOB_CANCEL, NULL);
    else if (run->again && job->info.state == VRT_JOB_RUNNING && !queue->stopping)
        begin_again(job);
    else if (vrt_queue_is_about_room(error) && job->info.state != VRT_JOB_PAUSED)
        vrt_queue_wait_for_room(queue, job, error);
    else if (is_put_back(run, error))
        put_back(queue, job);
    else if (vrt_descriptors_are_out(error))
        vrt_queue_wait_for_descriptors(queue, job, error);
    else if (is_too_large(job, run, error))
        begin_smaller(job, error);
    else if (has_other_file(job, error))
        ask_for_files(queue, job, error);
    else
        fail(queue, job, error);
}

/* Nothing of the run is under way any more. `error` may lie in the pipeline. */
static void end_run(struct vrt_queue_run *run, const struct vrt_error *error)
{
    struct vrt_job *job = run->job;
    struct vrt_queue *queue = job->queue;
    const struct vrt_error last = error ? *error : (struct vrt_error){ .id = NULL };
    struct vrt_pipeline_snapshot now;

    if (job->pipeline && run->phase == VRT_RUN_GOING) {
        vrt_queue_refresh(queue, job);
        vrt_pipeline_snapshot(job->pipeline, &now);
        job->ran_s += now.elapsed_s > 0 ? now.elapsed_s : 0;
    }
    vrt_queue_free_pipeline(job);
    vrt_job_report_idle(job);
    job->run = NULL;
    queue->n_runs--;
    vrt_closep(&run->spool_fd);
    vrt_network_unref(run->network);
    conclude(queue, job, run, error ? &last : NULL);
    free(run);
    vrt_queue_start_jobs(queue);
    vrt_queue_check_stopped(queue);
}

static void on_done(void *ctx, const struct vrt_error *error)
{
    struct vrt_job *job = ctx;

    end_run(job->run, error);
}

static void on_segment_done(void *ctx, const struct vrt_segment_record *segment)
{
    struct vrt_job *job = ctx;

    vrt_queue_save_segment(job->queue, job, segment);
}

static void on_segments_cut(void *ctx, int64_t first_number)
{
    struct vrt_job *job = ctx;

    vrt_log_warning("job %" PRId64 ": its segments from %" PRId64 " on are damaged or missing, and "
                    "are made anew", job->info.id, first_number);
    vrt_queue_cut_segments(job->queue, job, (size_t)first_number);
}

/* Ends a run by its wish, between two steps. Return: whether it has. */
static bool end_if_unwanted(struct vrt_queue_run *run)
{
    const struct vrt_error parked = parked_error();

    if (run->wish == VRT_RUN_GO)
        return false;
    end_run(run, run->failure.message[0] ? &run->failure : &parked);
    return true;
}

/* Ends a run that the store can't learn of. */
static void end_unstored(struct vrt_queue_run *run, int r)
{
    struct vrt_error error = { .id = NULL };

    vrt_refuse(&error, r, r == -ENOSPC ? VRT_E(STORE_FULL) : VRT_E(STORE_FAILED),
               "the job's start can't be stored: %s: make room on the disk of the state folder",
               strerror(-r));
    end_run(run, &error);
}

/* Ends a run between two steps where it isn't wanted any more, or where the store failed with r.
 * Return: whether it has. */
static bool end_if_over(struct vrt_queue_run *run, int r)
{
    if (end_if_unwanted(run))
        return true;
    if (r < 0)
        end_unstored(run, r);
    return r < 0;
}

/* The store knows of the smaller recipe, or has nothing to learn. */
static void on_settled(struct vrt_job *job, int r)
{
    struct vrt_queue_run *run = job->run;

    if (end_if_over(run, r))
        return;
    run->phase = VRT_RUN_GOING;
    vrt_pipeline_start(job->pipeline);
}

/* The store has forgotten what was made with the larger recipe. It must not hear of the smaller one
 * before that, or it would have a result of both. */
static void on_dropped(struct vrt_job *job, int r)
{
    struct vrt_queue_run *run = job->run;

    if (end_if_over(run, r))
        return;
    job->work->recipe = vrt_pipeline_info(job->pipeline)->recipe;
    job->work->wants_smaller = false;
    vrt_job_report_admitted(job);
    vrt_queue_tell(job->queue, job);
    vrt_queue_save(job->queue, job, on_settled);
}

static void on_admitted(void *ctx, const struct vrt_error *error)
{
    struct vrt_job *job = ctx;
    struct vrt_queue_run *run = job->run;

    if (!error)
        job->output_bytes = vrt_pipeline_info(job->pipeline)->output_bytes_estimate;
    if (error)
        end_run(run, error);
    else if (end_if_unwanted(run))
        return;
    else if (job->work->wants_smaller)
        vrt_queue_drop_segments(job->queue, job, on_dropped);
    else
        on_settled(job, 0);
}

/* Makes the run's pipeline. Return: 0; -errno with `error`. */
static int make_pipeline(struct vrt_queue_run *run, struct vrt_error *error)
{
    struct vrt_job *job = run->job;
    const struct vrt_job_work *work = job->work;
    struct vrt_pipeline_params params;

    vrt_queue_fill_params(job, &run->request, run->network, &params);
    params.spool_fd = run->spool_fd;
    params.recipe = &work->recipe;
    params.fingerprint = &work->fingerprint;
    params.network_checksum = work->network_checksum;
    params.wants_smaller = work->wants_smaller;
    params.segments = job->segments;
    params.n_segments = work->wants_smaller ? 0 : job->n_segments;
    params.admitted = on_admitted;
    params.done = on_done;
    params.segment_done = on_segment_done;
    params.segments_cut = on_segments_cut;
    return vrt_pipeline_new(job->queue->params.pool, &params, &job->pipeline, error);
}

static void look(uv_work_t *work)
{
    struct vrt_queue_run *run = work->data;
    struct vrt_job *job = run->job;
    struct vrt_queue *queue = job->queue;

    int r = vrt_spool_open(queue->params.spool_fd, job->info.id, &run->spool_fd);
    if (r == -ENOSPC || r == -EDQUOT)
        vrt_refuse(&run->error, r, VRT_E(SPOOL_FULL), "the disk of the state folder is full");
    else if (r < 0)
        vrt_refuse_errno(&run->error, r, "the spool folder");
    else
        (void)!vrt_queue_look(queue, job, &run->request, &run->network, &run->error);
}

static void on_looked(uv_work_t *work, int status)
{
    struct vrt_queue_run *run = work->data;
    struct vrt_error error = { .id = NULL };

    if (end_if_unwanted(run))
        return;
    run->phase = VRT_RUN_ADMITTING;
    if (status < 0)
        vrt_refuse_errno(&error, status, "looking at the files");
    else if (run->error.message[0])
        error = run->error;
    else if (make_pipeline(run, &error) == 0)
        return;
    end_run(run, &error);
}

/* The store knows of the start. */
static void on_saved(struct vrt_job *job, int r)
{
    struct vrt_queue_run *run = job->run;
    struct vrt_error error = { .id = NULL };

    if (end_if_over(run, r))
        return;
    run->phase = VRT_RUN_LOOKING;
    if (vrt_job_record_request(job, &run->request, &error) == 0 &&
        uv_queue_work(job->queue->params.loop, &run->work, look, on_looked) == 0)
        return;
    vrt_refuse_errno(&error, -ENOMEM, "starting the job");
    end_run(run, &error);
}

void vrt_queue_run_start(struct vrt_job *job)
{
    struct vrt_queue *queue = job->queue;
    struct vrt_queue_run *run;
    const struct vrt_error error = {
        .id = VRT_E(OUT_OF_MEMORY),
        .message = "there was no memory to start the job",
    };

    if (job->run && job->run->is_held && job->run->wish == VRT_RUN_GO) {
        vrt_queue_run_hold(job, false);
        return;
    }
    if (job->run) {
        job->run->again = true;
        return;
    }
    run = calloc(1, sizeof(*run));
    if (!run) {
        vrt_queue_end_job(queue, job, VRT_JOB_FAIL, &error);
        return;
    }
    run->job = job;
    run->spool_fd = -1;
    run->work.data = run;
    job->run = run;
    queue->n_runs++;
    run->began_ns = vrt_clock_now_ns();
    job->n_barren++;
    job->info.n_starts++;
    job->info.has_error = false;
    if (!job->info.started_at)
        job->info.started_at = vrt_clock_wall_ns();
    bool goes_on = job->n_segments > 0 && !job->work->wants_smaller;
    vrt_log_info("job %" PRId64 " starts%s%s", job->info.id,
                 goes_on ? ", behind what is stored of it" : "",
                 job->n_barren > 1 ? ", alone: vrtd died when it had begun before" : "");
    vrt_queue_save(queue, job, on_saved);
}

void vrt_queue_run_end(struct vrt_job *job, enum vrt_run_wish wish,
                       const struct vrt_error *failure)
{
    const struct vrt_error parked = parked_error();
    struct vrt_queue_run *run = job->run;

    if (!run || wish <= run->wish)
        return;
    run->wish = wish;
    if (failure && !run->failure.message[0])
        run->failure = *failure;
    /* The next step finds it, or there was none to be told yet. */
    if (!job->pipeline)
        return;
    if (wish == VRT_RUN_PARK)
        vrt_pipeline_park(job->pipeline);
    else if (wish == VRT_RUN_STOP)
        vrt_pipeline_stop(job->pipeline, failure ? failure : &parked);
    else
        vrt_pipeline_cancel(job->pipeline);
}

bool vrt_queue_run_is_going(const struct vrt_job *job)
{
    return job->run && job->run->phase == VRT_RUN_GOING;
}

bool vrt_queue_run_hold(struct vrt_job *job, bool held)
{
    struct vrt_queue_run *run = job->run;

    if (!vrt_queue_run_is_going(job) || run->wish != VRT_RUN_GO)
        return false;
    run->is_held = held;
    vrt_pipeline_hold(job->pipeline, held);
    return true;
}
