/* SPDX-License-Identifier: MIT */

/*
 *     SAVING      the store counts the start: if it crashes the daemon, the next one knows
 *     LOOKING     on a thread: its folder, its model, its files
 *     ADMITTING   a pipeline of the stored recipe asks the devices; or of a smaller one, after a
 *                 run for which they had no memory: then what the larger one made is forgotten
 *     GOING       until the pipeline is done
 *
 * Whatever a user or a signal wants meanwhile is noted as the intent, and the next step finds it; a
 * pipeline is told at once. A run ends in one place, end_run(), and what becomes of its job then
 * depends on the intent, the error, and the state that the job is in: a job that was paused, and
 * even one that was queued again meanwhile, is no longer the run's to move.
 */

#include "daemon/jobs/run.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/access/descriptors.h"
#include "daemon/jobs/job-report.h"
#include "daemon/jobs/queue-context.h"
#include "daemon/jobs/spool.h"
#include "daemon/models/models.h"
#include "daemon/pipeline/glimpse.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/systemd/fd-store.h"
#include "workers/media/encode-thread.h"

#define VRT_LOG_TOPIC "queue"

#define LOG_PERIOD_S 60         /* between two lines of a job's progress */

/* How far a start has come. */
enum run_phase {
    RUN_SAVING,                             /* the store learns of it, before anything can crash */
    RUN_LOOKING,                            /* a thread opens its files and reads the model */
    RUN_ADMITTING,                          /* its pipeline asks the devices; then, where it has a
                                             * recipe that is new, the store learns of that */
    RUN_GOING,                              /* its pipeline was started */
};

struct vrt_job_run {
    struct vrt_runs *owner;
    struct vrt_job *job;
    enum run_phase phase;
    enum vrt_run_intent intent;
    bool is_held;                           /* its pipeline was told to hold */
    bool lacks_alpha;                       /* what transparency became isn't in its folder */
    int64_t began_ns, logged_ns;            /* when its progress was logged last */
    int logged_tenth;                       /* and how many tenths were done */
    struct vrt_error failure;               /* with a message: why it was stopped */
    uv_work_t work;
    /* by the work's thread, then the loop's */
    struct vrt_job_request request;
    int spool_fd;                           /* the job's own folder; -1: not open yet */
    struct vrt_network *network;
    struct vrt_error error;                 /* with a message: it can't go on */
};

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
static void put_back(struct vrt_runs *runs, struct vrt_job *job)
{
    struct vrt_queue_context *context = runs->context;

    job->n_fruitless = 0;
    if (job->info.state == VRT_JOB_RUNNING || job->info.state == VRT_JOB_FINISHING)
        vrt_assert(vrt_jobs_move(&context->jobs, job, VRT_JOB_REQUEUE));
    vrt_log_info("job %" PRId64 " is put back, %zu segment%s of it stored", job->info.id,
                 job->n_segments, job->n_segments == 1 ? "" : "s");
    vrt_queue_tell(context, job);
    vrt_job_store_save(runs->store, job, NULL);
}

/* Whether the devices had too little memory for the job's recipe, and a smaller one may do. */
static bool is_too_large(const struct vrt_job *job, const struct vrt_job_run *run,
                         const struct vrt_error *error)
{
    return vrt_error_is(error, VRT_E(DEVICE_MEMORY)) &&
           run->intent == VRT_RUN_GO && job->info.state == VRT_JOB_RUNNING &&
           !job->decision->wants_smaller && !run->owner->context->is_stopping;
}

/* Begins the job anew, with a recipe that each time is smaller. */
static void begin_smaller(struct vrt_runs *runs, struct vrt_job *job,
                          const struct vrt_error *error)
{
    vrt_log_warning("job %" PRId64 " is begun anew with smaller clips or tiles: %s",
                    job->info.id, error->message);
    job->decision->wants_smaller = true;
    job->decision->is_alpha_made = false;
    job->n_fruitless = 0;
    vrt_run_start(runs, job);
}

/* Whether vrt-media ended or hung, for the first time since something of the result was stored. */
static bool is_media_failure(const struct vrt_job *job, const struct vrt_job_run *run,
                             const struct vrt_error *error)
{
    return (vrt_error_is(error, VRT_E(MEDIA_CRASHED)) ||
            vrt_error_is(error, VRT_E(MEDIA_TIMEOUT))) &&
           run->intent == VRT_RUN_GO && !job->has_media_failed &&
           (job->info.state == VRT_JOB_RUNNING || job->info.state == VRT_JOB_FINISHING) &&
           !run->owner->context->is_stopping;
}

/* Goes on from the last segment with a new process. Nothing of vrtd's own has failed. */
static void begin_after_media(struct vrt_runs *runs, struct vrt_job *job,
                              const struct vrt_error *error)
{
    char text[VRT_API_TEXT_BYTES];

    snprintf(text, sizeof(text), "%.400s: the job went on from its last segment", error->message);
    vrt_log_warning("job %" PRId64 ": %s", job->info.id, text);
    /* Without memory for it the log alone says so. */
    (void)vrt_job_add_warning(job, text);
    job->has_media_failed = true;
    job->n_forgiven = VRT_MAX(job->n_forgiven, job->n_segments);
    put_back(runs, job);
}

/* It has failed. To try it again is to try the recipe that it has. */
static void fail(struct vrt_runs *runs, struct vrt_job *job, const struct vrt_error *error)
{
    job->decision->wants_smaller = false;
    vrt_queue_end_job(runs->context, job, VRT_JOB_FAIL, error);
}

/* Whether the run's end says nothing against going on. One that is paused finds a full disk again,
 * if it still is, when it is resumed. */
static bool is_put_back(const struct vrt_job_run *run, const struct vrt_error *error)
{
    bool was_ended = run->intent != VRT_RUN_GO && (is_parked(error) || !run->failure.message[0]);

    return was_ended ||
           (vrt_disk_space_is_lacking(error) && run->job->info.state == VRT_JOB_PAUSED);
}

/* Nothing is lost yet: it goes on when it is given the right ones. */
static void ask_for_files(struct vrt_runs *runs, struct vrt_job *job,
                          const struct vrt_error *error)
{
    struct vrt_queue_context *context = runs->context;

    vrt_assert(vrt_jobs_move(&context->jobs, job, VRT_JOB_LOSE));
    vrt_job_report_error(job, error);
    job->n_fruitless = 0;
    vrt_job_files_close(job);
    vrt_fd_store_drop(context->params.fd_store, job->info.id);
    vrt_log_info("job %" PRId64 " needs its files again: %s", job->info.id, error->message);
    vrt_queue_tell(context, job);
    vrt_job_store_save(runs->store, job, NULL);
}

/* That counts for more than that somebody wanted it otherwise: the file is there. */
static void succeed(struct vrt_queue_context *context, struct vrt_job *job)
{
    if (job->info.state == VRT_JOB_PAUSED)
        vrt_assert(vrt_jobs_move(&context->jobs, job, VRT_JOB_REQUEUE));
    if (job->info.state == VRT_JOB_QUEUED)
        vrt_assert(vrt_jobs_move(&context->jobs, job, VRT_JOB_START));
    vrt_queue_end_job(context, job, VRT_JOB_SUCCEED, NULL);
}

/* Its transparency is a file of its own now, and the segments of that are of no more use. */
static void go_on_with_colours(struct vrt_runs *runs, struct vrt_job *job)
{
    job->decision->is_alpha_made = true;
    job->has_media_failed = false;
    job->info.frames_done = job->info.frames_repeated = 0;
    vrt_job_store_cut_segments(runs->store, job, 0);
    put_back(runs, job);
}

/* What the job is now that its run has ended with `error`, NULL: well. */
static void conclude(const struct vrt_job_run *run, const struct vrt_error *error)
{
    struct vrt_runs *runs = run->owner;
    struct vrt_queue_context *context = runs->context;
    struct vrt_job *job = run->job;
    const bool is_half = !error && vrt_job_report_is_alpha_due(job);

    if (run->failure.message[0])
        error = error ? &run->failure : NULL;
    if (is_half && run->intent != VRT_RUN_CANCEL)
        go_on_with_colours(runs, job);
    else if (!error && !is_half)
        succeed(context, job);
    else if (run->intent == VRT_RUN_CANCEL)
        vrt_queue_end_job(context, job, VRT_JOB_CANCEL, NULL);
    else if (job->parts->files.is_pipe_begun)
        fail(runs, job, vrt_job_files_why_spent(error));
    else if (vrt_disk_space_is_lacking(error) && job->info.state != VRT_JOB_PAUSED)
        vrt_disk_space_wait(runs->space, job, error);
    else if (is_put_back(run, error))
        put_back(runs, job);
    else if (vrt_descriptors_are_out(error))
        vrt_queue_wait_for_descriptors(context, job, error);
    else if (is_too_large(job, run, error))
        begin_smaller(runs, job, error);
    else if (is_media_failure(job, run, error))
        begin_after_media(runs, job, error);
    else if (vrt_job_files_has_other(job, error))
        ask_for_files(runs, job, error);
    else
        fail(runs, job, error);
}

/* How long the job's runs took, with this one until now. */
static double ran_s(const struct vrt_job *job)
{
    struct vrt_pipeline_snapshot now;

    vrt_pipeline_snapshot(job->pipeline, &now);
    return job->ran_s + VRT_MAX(now.elapsed_s, 0);
}

/* Nothing of the run is under way any more. `error` may lie in the pipeline. */
static void end_run(struct vrt_job_run *run, const struct vrt_error *error)
{
    struct vrt_job *job = run->job;
    struct vrt_runs *runs = run->owner;
    struct vrt_error last = error ? *error : (struct vrt_error){ .id = NULL };

    if (job->pipeline && run->phase == RUN_GOING) {
        vrt_run_refresh(runs, job);
        job->ran_s = ran_s(job);
        vrt_job_store_save_history(runs->store, job);
    }
    vrt_job_free_pipeline(job);
    vrt_job_report_idle(job);
    job->parts->run = NULL;
    runs->n--;
    vrt_closep(&run->spool_fd);
    vrt_network_unref(run->network);
    vrt_disk_space_note_run(runs->space, job, &last);
    conclude(run, error ? &last : NULL);
    free(run);
    vrt_queue_proceed(runs->context);
    vrt_queue_check_stopped(runs->context);
}

static void on_done(void *ctx, const struct vrt_error *error)
{
    struct vrt_job *job = ctx;

    end_run(job->parts->run, error);
}

static void on_segment_done(void *ctx, const struct vrt_segment_record *segment)
{
    struct vrt_job *job = ctx;
    struct vrt_segment_record made = *segment;

    made.ran_ms = (int64_t)(ran_s(job) * 1000);
    vrt_job_store_save_segment(job->parts->run->owner->store, job, &made);
}

static void on_segments_cut(void *ctx, int64_t first_number)
{
    struct vrt_job *job = ctx;

    vrt_log_warning("job %" PRId64 ": its segments from %" PRId64 " on are damaged or missing, and "
                    "are made anew", job->info.id, first_number);
    vrt_job_store_cut_segments(job->parts->run->owner->store, job, (size_t)first_number);
}

static int64_t joined_bytes_max(void *ctx)
{
    struct vrt_job *job = ctx;

    return vrt_disk_space_joined_max(job->parts->run->owner->space, job);
}

/* Ends a run that is not to go on, between two steps. Return: whether it has. */
static bool end_if_unwanted(struct vrt_job_run *run)
{
    const struct vrt_error parked = parked_error();

    if (run->intent == VRT_RUN_GO)
        return false;
    end_run(run, run->failure.message[0] ? &run->failure : &parked);
    return true;
}

/* Ends a run that the store can't learn of. */
static void end_unstored(struct vrt_job_run *run, int r)
{
    struct vrt_error error = { .id = NULL };

    vrt_refuse(&error, r, r == -ENOSPC ? VRT_E(STORE_FULL) : VRT_E(STORE_FAILED),
               "the job's start can't be stored: %s: make room on the disk of the state folder",
               strerror(-r));
    end_run(run, &error);
}

/* Ends a run between two steps where it isn't wanted any more, or where the store failed with r.
 * Return: whether it has. */
static bool end_if_over(struct vrt_job_run *run, int r)
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
    struct vrt_job_run *run = job->parts->run;

    if (end_if_over(run, r))
        return;
    run->phase = RUN_GOING;
    job->parts->files.is_pipe_begun = job->info.input_piped;
    vrt_pipeline_start(job->pipeline);
}

/* The store has forgotten what was made with the larger recipe. It must not hear of the smaller one
 * before that, or it would have a result of both. */
static void on_dropped(struct vrt_job *job, int r)
{
    struct vrt_job_run *run = job->parts->run;

    if (end_if_over(run, r))
        return;
    job->decision->recipe = vrt_pipeline_info(job->pipeline)->recipe;
    job->decision->wants_smaller = false;
    vrt_job_report_admitted(job);
    vrt_queue_tell(run->owner->context, job);
    vrt_job_store_save(run->owner->store, job, on_settled);
}

static void on_admitted(void *ctx, const struct vrt_error *error)
{
    struct vrt_job *job = ctx;
    struct vrt_job_run *run = job->parts->run;

    if (!error)
        job->output_bytes = vrt_pipeline_info(job->pipeline)->output_bytes_estimate;
    if (error)
        end_run(run, error);
    else if (end_if_unwanted(run))
        return;
    else if (job->decision->wants_smaller)
        vrt_job_store_drop_segments(run->owner->store, job, on_dropped);
    else
        on_settled(job, 0);
}

/* Makes the run's pipeline. Return: 0; -errno with `error`. */
static int make_pipeline(struct vrt_job_run *run, struct vrt_error *error)
{
    const struct vrt_queue_context *context = run->owner->context;
    struct vrt_job *job = run->job;
    const struct vrt_job_decision *decision = job->decision;
    struct vrt_pipeline_params params;

    vrt_queue_fill_params(context, job, &run->request, run->network, &params);
    params.spool_fd = run->spool_fd;
    params.totals = context->params.totals;
    params.recipe = &decision->recipe;
    params.fingerprint = &decision->fingerprint;
    params.network_checksum = decision->network_checksum;
    params.wants_smaller = decision->wants_smaller;
    params.segments = job->segments;
    params.n_segments = decision->wants_smaller ? 0 : job->n_segments;
    params.admitted = on_admitted;
    params.done = on_done;
    params.segment_done = on_segment_done;
    params.segments_cut = on_segments_cut;
    params.size_bytes_max = joined_bytes_max;
    /* Without memory for it nobody sees one. */
    if (!job->glimpse)
        (void)!vrt_glimpse_new(context->params.loop, &job->glimpse);
    params.glimpse = job->glimpse;
    return vrt_pipeline_new(context->params.pool, &params, &job->pipeline, error);
}

/* On a thread of libuv's. */
static void look(uv_work_t *work)
{
    struct vrt_job_run *run = work->data;
    const struct vrt_queue_context *context = run->owner->context;
    struct vrt_job *job = run->job;

    int r = vrt_spool_open(context->params.spool_fd, job->info.id, &run->spool_fd);
    if (r < 0)
        vrt_job_files_refuse_spool(&run->error, r, "the spool folder");
    else
        (void)!vrt_job_files_look(context, job, &run->request, &run->network, &run->error);
    run->lacks_alpha = r == 0 && job->decision->is_alpha_made &&
                       faccessat(run->spool_fd, VRT_ALPHA_FILE, R_OK,
                                 AT_SYMLINK_NOFOLLOW) < 0;
}

static void on_looked(uv_work_t *work, int status)
{
    struct vrt_job_run *run = work->data;
    struct vrt_error error = { .id = NULL };

    if (end_if_unwanted(run))
        return;
    run->phase = RUN_ADMITTING;
    if (run->lacks_alpha) {
        run->job->decision->is_alpha_made = false;
        vrt_job_store_cut_segments(run->owner->store, run->job, 0);
    }
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
    struct vrt_job_run *run = job->parts->run;
    struct vrt_error error = { .id = NULL };

    if (end_if_over(run, r))
        return;
    run->phase = RUN_LOOKING;
    if (vrt_job_record_request(job, &run->request, &error) == 0 &&
        uv_queue_work(run->owner->context->params.loop, &run->work, look, on_looked) == 0)
        return;
    vrt_refuse_errno(&error, -ENOMEM, "starting the job");
    end_run(run, &error);
}

void vrt_run_start(struct vrt_runs *runs, struct vrt_job *job)
{
    struct vrt_job_run *run = job->parts->run;
    const struct vrt_error error = {
        .id = VRT_E(OUT_OF_MEMORY),
        .message = "there was no memory to start the job",
    };

    if (vrt_run_is_held(job)) {
        vrt_run_hold(job, false);
        return;
    }
    if (run)
        return;
    run = calloc(1, sizeof(*run));
    if (!run) {
        vrt_queue_end_job(runs->context, job, VRT_JOB_FAIL, &error);
        return;
    }
    run->owner = runs;
    run->job = job;
    run->spool_fd = -1;
    run->work.data = run;
    job->parts->run = run;
    runs->n++;
    run->began_ns = vrt_clock_now_ns();
    job->n_fruitless++;
    job->info.n_starts++;
    job->info.has_error = false;
    if (!job->info.started_at)
        job->info.started_at = vrt_clock_wall_ns();
    vrt_job_report_log_start(job);
    vrt_job_store_save(runs->store, job, on_saved);
}

void vrt_run_end(struct vrt_job *job, enum vrt_run_intent intent, const struct vrt_error *failure)
{
    const struct vrt_error parked = parked_error();
    struct vrt_job_run *run = job->parts->run;

    if (!run || intent <= run->intent)
        return;
    run->intent = intent;
    if (failure && !run->failure.message[0])
        run->failure = *failure;
    /* The next step finds it, or there was none to be told yet. */
    if (!job->pipeline)
        return;
    if (intent == VRT_RUN_PARK)
        vrt_pipeline_park(job->pipeline);
    else if (intent == VRT_RUN_STOP)
        vrt_pipeline_stop(job->pipeline, failure ? failure : &parked);
    else
        vrt_pipeline_cancel(job->pipeline);
}

bool vrt_run_is_going(const struct vrt_job *job)
{
    return job->parts->run && job->parts->run->phase == RUN_GOING;
}

bool vrt_run_hold(struct vrt_job *job, bool held)
{
    struct vrt_job_run *run = job->parts->run;

    if (!vrt_run_is_going(job) || run->intent != VRT_RUN_GO)
        return false;
    run->is_held = held;
    vrt_pipeline_hold(job->pipeline, held);
    return true;
}

bool vrt_run_is_held(const struct vrt_job *job)
{
    const struct vrt_job_run *run = job->parts->run;

    return run && run->is_held && run->intent == VRT_RUN_GO;
}

int64_t vrt_run_began_ns(const struct vrt_job *job)
{
    return job->parts->run->began_ns;
}

/* For those who read logs: each tenth, and now and then, since a film takes hours. */
static void log_progress(struct vrt_job *job)
{
    struct vrt_job_run *run = job->parts->run;
    int64_t now_ns = vrt_clock_now_ns();
    int tenth = job->info.frames_total > 0 ?
                (int)(10 * job->info.frames_done / job->info.frames_total) : 0;

    if (tenth <= run->logged_tenth &&
        now_ns - VRT_MAX(run->began_ns, run->logged_ns) < LOG_PERIOD_S * VRT_NS_PER_S)
        return;
    run->logged_ns = now_ns;
    run->logged_tenth = VRT_MAX(run->logged_tenth, tenth);
    vrt_job_report_log(job);
}

void vrt_run_refresh(struct vrt_runs *runs, struct vrt_job *job)
{
    enum vrt_pipeline_phase phase;

    if (!vrt_run_is_going(job))
        return;
    vrt_disk_space_charge_pipe(runs->space, job);
    if (vrt_job_report_progress(job, &phase)) {
        job->parts->is_untold = true;
        log_progress(job);
    }
    if (phase != VRT_PIPELINE_FINISHING)
        return;
    /* What devices had of it when it was paused was all that was left. */
    if (job->info.state == VRT_JOB_PAUSED)
        vrt_run_hold(job, false);
    if (job->info.state == VRT_JOB_RUNNING || job->info.state == VRT_JOB_PAUSED)
        vrt_jobs_move(&runs->context->jobs, job, VRT_JOB_FINISH);
}

void vrt_run_commit(struct vrt_job *job, int64_t segment)
{
    if (vrt_run_is_going(job))
        vrt_pipeline_committed(job->pipeline, segment);
}
