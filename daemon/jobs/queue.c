/* SPDX-License-Identifier: MIT */

/*
 * Which job is started when, what is looked after by time, what a start of the daemon takes up, and
 * the end. queue.h has the other objects.
 *
 * A crash says nothing of which of the jobs that ran did it. So a start is counted before anything
 * is done for it (n_fruitless, and the store's `starts`), and forgotten when a segment is stored,
 * or when the run ends or rests in good order. A job that waits with such a count had begun when a
 * daemon died, and is a suspect. Suspects are tried, the oldest first:
 *
 *     - while one waits no other job is started, and those that run are put back;
 *     - then it runs alone until a segment of it is stored, or it ends in whatever way; when no
 *       other suspect waits the others go on.
 *
 * So a first count may be owed to any of the jobs that ran, but each further one only to the job
 * itself: at FRUITLESS_MAX it fails, and never for what another did. Each such run ends: by a
 * segment, by the job's end, by a crash that counts, or, where a job gets nowhere, after
 * SUSPECT_MAX_S. Then it is like one that was begun beside others.
 *
 * The queue's end is told by its last job, admission or write, whichever goes last: none of them is
 * ever taken from under the thread or the devices that still work for it.
 */

#include "daemon/jobs/queue.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "daemon/access/quota.h"
#include "daemon/jobs/admission.h"
#include "daemon/jobs/control.h"
#include "daemon/jobs/job-remote.h"
#include "daemon/jobs/job-report.h"
#include "daemon/jobs/queue-context.h"
#include "daemon/jobs/run.h"
#include "daemon/jobs/spool.h"
#include "daemon/systemd/fd-store.h"
#include "frames/process/child.h"

#define VRT_LOG_TOPIC "queue"

/* Of the housekeeping: while something waits for time to go by; and where jobs only grow old. */
#define HOUSEKEEPING_SOON_MS (5 * 1000)
#define HOUSEKEEPING_LATE_MS (3600 * 1000)

/* A start that comes to nothing so often is not tried again. */
#define FRUITLESS_MAX 3

/* So long the others wait for one that may be slow, or waits for a device that doesn't come. */
#define SUSPECT_MAX_S (10 * 60)

/* How often it is looked whether a running job's turn is over. */
#define TURNS_LOOK_NS (5 * VRT_NS_PER_S)

struct vrt_queue {
    struct vrt_queue_context context;
    struct vrt_job_store store;
    struct vrt_disk_space space;
    struct vrt_admission admission;
    struct vrt_runs runs;
    struct vrt_job_remote remote;
    struct vrt_control control;
    uv_timer_t progress;                    /* runs while jobs do */
    uv_timer_t housekeeping;                /* looks after what waits for time to go by */
    uv_timer_t patience;                    /* runs while the queue stops */
    int n_handles;                          /* of those three, not closed yet */
    bool has_suspects;                      /* or had when it was last looked */
    int64_t turns_looked_ns;                /* whether it is another user's turn */
    void (*stopped)(void *ctx);
    void *stopped_ctx;
};

static struct vrt_queue *queue_of(struct vrt_queue_context *context)
{
    return vrt_container_of(context, struct vrt_queue, context);
}

static void on_housekeeping(uv_timer_t *timer);

/* The queue is gone before `stopped` is called: that may begin to take down what it stood on. */
static void on_timer_closed(uv_handle_t *handle)
{
    struct vrt_queue *queue = handle->data;
    void (*stopped)(void *ctx) = queue->stopped;
    void *ctx = queue->stopped_ctx;

    if (--queue->n_handles > 0)
        return;
    free(queue);
    if (stopped)
        stopped(ctx);
}

/* Frees what there is, without a word to the store: its rows stay. */
static void close_queue(struct vrt_queue *queue)
{
    struct vrt_job *job;

    VRT_LIST_FOREACH(job, &queue->context.jobs.all, link) {
        vrt_jobs_remove(&queue->context.jobs, job);
        vrt_queue_free_job(job);
    }
    vrt_jobs_done(&queue->context.jobs);
    vrt_job_store_done(&queue->store);
    uv_close((uv_handle_t *)&queue->progress, on_timer_closed);
    uv_close((uv_handle_t *)&queue->housekeeping, on_timer_closed);
    uv_close((uv_handle_t *)&queue->patience, on_timer_closed);
}

static void check_stopped(struct vrt_queue_context *context)
{
    struct vrt_queue *queue = queue_of(context);

    if (!queue->stopped || !vrt_list_is_empty(&queue->admission.jobs) || queue->runs.n > 0 ||
        !vrt_list_is_empty(&queue->remote.fetches) || queue->store.n_pending > 0 ||
        queue->space.n_removals > 0 || uv_is_closing((uv_handle_t *)&queue->progress))
        return;
    close_queue(queue);
}

/* Whether there is progress to be told of. */
static bool is_busy(const struct vrt_queue *queue)
{
    return queue->runs.n > 0 || !vrt_list_is_empty(&queue->remote.fetches);
}

/* One that wasn't suspected begins with a count of one. */
static bool runs_alone(const struct vrt_job *job)
{
    return job->parts->run && job->n_fruitless > 1;
}

static bool is_suspect(const struct vrt_job *job)
{
    return !job->parts->run && job->n_fruitless > 0 && !vrt_job_state_is_final(job->info.state);
}

/* Puts back what works. Those that are held or finish are left: these are about to be done.
 * Return: whether anything works still. */
static bool put_others_back(const struct vrt_jobs *jobs)
{
    struct vrt_job *job;
    bool any = false;

    VRT_LIST_FOREACH(job, &jobs->all, link) {
        if (!job->parts->run || vrt_run_is_held(job))
            continue;
        any = true;
        if (job->info.state == VRT_JOB_RUNNING && !job->parts->files.is_pipe_begun)
            vrt_run_end(job, VRT_RUN_STOP, NULL);
    }
    return any;
}

/* Whether others wait for a job that is tried alone. *ret_next is the one that is queued and may
 * start now; NULL: none. */
static bool has_suspects(struct vrt_queue *queue, struct vrt_job **ret_next)
{
    const struct vrt_jobs *jobs = &queue->context.jobs;
    struct vrt_job *job, *next = NULL;
    bool any = false;

    *ret_next = NULL;
    if (!queue->has_suspects)
        return false;
    VRT_LIST_FOREACH(job, &jobs->all, link) {
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
    if (!put_others_back(jobs))
        *ret_next = next;
    return true;
}

/* One that makes room is put back at the end of its segment. Until it is, it stays the same one,
 * and to park it once more changes nothing. */
static void make_room(const struct vrt_queue_context *context, const struct vrt_jobs_room *room)
{
    const int64_t turn_ns = context->params.turn_s * VRT_NS_PER_S;

    if (room->job && !room->job->parts->files.is_pipe_begun &&
        (room->at_once || (vrt_run_is_going(room->job) &&
                           vrt_clock_now_ns() - vrt_run_began_ns(room->job) >= turn_ns)))
        vrt_run_end(room->job, VRT_RUN_PARK, NULL);
}

/* The job that starts now; NULL: none may. */
static struct vrt_job *next_job(struct vrt_queue *queue)
{
    const struct vrt_queue_context *context = &queue->context;
    struct vrt_jobs_room room;
    struct vrt_job *job;

    if (context->is_stopping || !context->is_loaded || context->lacks_descriptors)
        return NULL;
    if (has_suspects(queue, &job))
        return job;
    if (vrt_jobs_may_start(&context->jobs, context->params.max_running, &room))
        return vrt_jobs_next(&context->jobs);
    make_room(context, &room);
    return NULL;
}

static void on_progress(uv_timer_t *timer);

/* The timer runs only while jobs do: a daemon without work shall not wake its machine. */
static void start_jobs(struct vrt_queue_context *context)
{
    struct vrt_queue *queue = queue_of(context);
    struct vrt_job *job;

    while ((job = next_job(queue))) {
        if (vrt_job_remote_lacks_input(job)) {
            vrt_assert(vrt_jobs_move(&context->jobs, job, VRT_JOB_FETCH));
            vrt_queue_tell(context, job);
            vrt_job_store_save(&queue->store, job, NULL);
            continue;
        }
        vrt_assert(vrt_jobs_move(&context->jobs, job, VRT_JOB_START));
        vrt_run_start(&queue->runs, job);
        vrt_queue_tell(context, job);
    }
    vrt_job_remote_fetch(&queue->remote);
    if (is_busy(queue) && !uv_is_active((uv_handle_t *)&queue->progress))
        uv_timer_start(&queue->progress, on_progress, VRT_API_EVENT_PERIOD_MS,
                       VRT_API_EVENT_PERIOD_MS);
}

/* Ends the run of a suspect that takes too long, so that the others go on. */
static void limit_suspect(struct vrt_queue *queue)
{
    struct vrt_job *job;

    if (!queue->has_suspects)
        return;
    VRT_LIST_FOREACH(job, &queue->context.jobs.all, link) {
        if (!runs_alone(job) ||
            vrt_clock_now_ns() - vrt_run_began_ns(job) < SUSPECT_MAX_S * VRT_NS_PER_S)
            continue;
        vrt_log_info("job %" PRId64 " has stored nothing in %d minutes: others run beside it from "
                     "now on", job->info.id, SUSPECT_MAX_S / 60);
        job->n_fruitless = 1;
        vrt_job_store_save(&queue->store, job, NULL);
    }
}

static void on_progress(uv_timer_t *timer)
{
    struct vrt_queue *queue = timer->data;
    struct vrt_job *job;

    if (!is_busy(queue))
        uv_timer_stop(timer);
    VRT_LIST_FOREACH(job, &queue->context.jobs.all, link) {
        vrt_run_refresh(&queue->runs, job);
        if (job->parts->is_untold)
            vrt_queue_tell(&queue->context, job);
    }
    limit_suspect(queue);
    if (queue->context.jobs.counts[VRT_JOB_QUEUED] > 0 &&
        vrt_clock_now_ns() - queue->turns_looked_ns > TURNS_LOOK_NS) {
        queue->turns_looked_ns = vrt_clock_now_ns();
        start_jobs(&queue->context);
    }
}

/* What happens below. */

static void end_job(struct vrt_queue_context *context, struct vrt_job *job,
                    enum vrt_job_event event, const struct vrt_error *error)
{
    struct vrt_queue *queue = queue_of(context);

    vrt_assert(vrt_jobs_move(&context->jobs, job, event));
    vrt_job_report_end(job, error);
    vrt_log_info("job %" PRId64 " %s%s%s", job->info.id, vrt_job_state_phrases[job->info.state],
                 error ? ": " : "", error ? error->message : "");
    vrt_job_remote_cancel(job);
    if (event != VRT_JOB_SUCCEED)
        vrt_job_files_remove_output(context, job);
    vrt_job_files_close(job);
    if (job->parts->is_charged)
        vrt_quota_give(context->params.quota, VRT_QUOTA_JOBS, job->uid);
    job->parts->is_charged = false;
    vrt_queue_tell(context, job);
    job->decision->notice_due = job->has_webhook;
    vrt_job_store_save(&queue->store, job, NULL);
    vrt_job_remote_notify(&queue->remote, job);
    /* For good: a list of a thousand such jobs shall not be printed all at once. */
    for (int i = 0; i < VRT_JOB_VIEW_COUNT; i++)
        vrt_job_short_text(job, i);
    /* Not now: whoever ended a job still looks at it. */
    uv_timer_start(&queue->housekeeping, on_housekeeping, 0, 0);
    start_jobs(context);
    check_stopped(context);
}

static void look_soon(struct vrt_queue_context *context)
{
    uv_timer_t *timer = &queue_of(context)->housekeeping;

    if (context->is_stopping || (uv_is_active((uv_handle_t *)timer) &&
                                 uv_timer_get_due_in(timer) <= HOUSEKEEPING_SOON_MS))
        return;
    uv_timer_start(timer, on_housekeeping, HOUSEKEEPING_SOON_MS, 0);
}

static void wait_for_descriptors(struct vrt_queue_context *context, struct vrt_job *job,
                                 const struct vrt_error *error)
{
    if (job->info.state == VRT_JOB_RUNNING || job->info.state == VRT_JOB_FINISHING)
        vrt_assert(vrt_jobs_move(&context->jobs, job, VRT_JOB_REQUEUE));
    vrt_job_report_error(job, error);
    job->n_fruitless = 0;
    context->lacks_descriptors = true;
    vrt_log_warning("job %" PRId64 " waits for descriptors: %s", job->info.id, error->message);
    vrt_queue_tell(context, job);
    vrt_job_store_save(&queue_of(context)->store, job, NULL);
    look_soon(context);
}

static void stop_run(struct vrt_queue_context *context, struct vrt_job *job,
                     const struct vrt_error *error)
{
    (void)context;
    vrt_run_end(job, VRT_RUN_STOP, error);
}

static const struct vrt_queue_events queue_events = {
    .over = end_job,
    .wait_for_descriptors = wait_for_descriptors,
    .stop_run = stop_run,
    .proceed = start_jobs,
    .check_stopped = check_stopped,
    .look_soon = look_soon,
};

/* An earlier row says that it isn't over: with the last one its end is on the disk. */
static void on_settled(struct vrt_queue_context *context, struct vrt_job *job)
{
    int state = job->info.state;

    /* What was fetched for a job that then was refused serves no retry either. */
    if (state == VRT_JOB_DONE || state == VRT_JOB_CANCELLED ||
        (state == VRT_JOB_FAILED && (job->info.input_piped || !job->decision->is_admitted)))
        vrt_disk_space_sweep(&queue_of(context)->space, job);
    if (vrt_job_state_is_final(state))
        vrt_fd_store_drop(context->params.fd_store, job->info.id);
}

static void on_segment_stored(struct vrt_queue_context *context, struct vrt_job *job,
                              const struct vrt_segment_record *segment)
{
    struct vrt_queue *queue = queue_of(context);

    vrt_disk_space_charge_segment(&queue->space, job, segment);
    job->parts->is_untold |= job->info.state != VRT_JOB_DONE;
    vrt_run_commit(job, segment->number);
    if (context->params.segment_stored)
        context->params.segment_stored(context->params.ctx, job, segment);
    /* It is above suspicion now. */
    if (queue->has_suspects)
        start_jobs(context);
}

static void on_segments_gone(struct vrt_queue_context *context, struct vrt_job *job, size_t first)
{
    vrt_disk_space_uncharge_segments(&queue_of(context)->space, job, first);
}

static const struct vrt_job_store_events store_events = {
    .settled = on_settled,
    .segment_stored = on_segment_stored,
    .segments_gone = on_segments_gone,
};

static void on_housekeeping(uv_timer_t *timer)
{
    struct vrt_queue *queue = timer->data;
    struct vrt_queue_context *context = &queue->context;
    bool is_urgent;

    if (!context->is_stopping)
        vrt_control_forget_expired(&queue->control);
    vrt_disk_space_sweep_failed(&queue->space);
    is_urgent = vrt_disk_space_look(&queue->space);
    is_urgent |= vrt_job_store_save_rest(&queue->store);
    if (!context->is_stopping)
        uv_timer_start(timer, on_housekeeping,
                       is_urgent ? HOUSEKEEPING_SOON_MS : HOUSEKEEPING_LATE_MS, 0);
    context->lacks_descriptors = false;
    start_jobs(context);
    vrt_child_look_after();
}

/* A job that wasn't over when the last daemon ended. */
static void take_up(struct vrt_queue *queue, struct vrt_job *job)
{
    const struct vrt_error looping = {
        .id = VRT_E(JOB_CRASH_LOOP),
        .message = "vrtd ended three times while it began this job, before anything was done: "
                   "see its log, then retry the job",
    };
    struct vrt_queue_context *context = &queue->context;
    bool was_running = job->info.state == VRT_JOB_RUNNING || job->info.state == VRT_JOB_FINISHING;

    int r = vrt_quota_charge(context->params.quota, VRT_QUOTA_JOBS, job->uid, 1);
    job->parts->is_charged = r == 0;
    if (was_running) {
        vrt_assert(vrt_jobs_move(&context->jobs, job, VRT_JOB_REQUEUE));
        vrt_log_info("job %" PRId64 " was interrupted, %zu segment%s of it stored", job->info.id,
                     job->n_segments, job->n_segments == 1 ? "" : "s");
    }
    if (job->decision->is_cancelled) {
        vrt_queue_end_job(context, job, VRT_JOB_CANCEL, NULL);
        return;
    }
    const bool is_piped = job->info.input_piped;
    if (is_piped || (was_running && job->n_fruitless >= FRUITLESS_MAX)) {
        vrt_queue_end_job(context, job, VRT_JOB_FAIL, is_piped ? &vrt_job_files_spent : &looping);
        return;
    }
    queue->has_suspects |= job->n_fruitless > 0;
    if (!vrt_job_files_find(context, job) && vrt_jobs_move(&context->jobs, job, VRT_JOB_LOSE))
        vrt_log_info("job %" PRId64 " needs its files again", job->info.id);
    /* That files are missing is found again by the next start: ten thousand jobs may wait. */
    if (was_running)
        vrt_job_store_save(&queue->store, job, NULL);
}

/* Whether its working files stay. */
static bool is_known(void *ctx, int64_t job_id, bool is_result)
{
    const struct vrt_queue *queue = ctx;
    const struct vrt_job *job = vrt_jobs_find(&queue->context.jobs, job_id);

    return vrt_job_store_left_out(&queue->store, job_id) || vrt_disk_space_keeps(job, is_result);
}

/* Reads the store, and takes up the jobs that weren't over. Return: 0; -errno with `error`. */
static int load(struct vrt_queue *queue, struct vrt_error *error)
{
    struct vrt_job *job;

    int r = vrt_job_store_load(&queue->store, error);
    if (r == 0)
        r = vrt_spool_clean(queue->context.params.spool_fd, is_known, queue);
    if (r < 0)
        return vrt_refuse_errno(error, vrt_fold(r), "reading the jobs");
    VRT_LIST_FOREACH(job, &queue->context.jobs.all, link) {
        vrt_disk_space_load(&queue->space, job);
        if (vrt_job_state_is_final(job->info.state))
            vrt_job_remote_notify(&queue->remote, job);
        else
            take_up(queue, job);
    }
    return 0;
}

/* Makes what the queue owns, none of which does anything yet. */
static void init_objects(struct vrt_queue *queue)
{
    struct vrt_queue_context *context = &queue->context;
    struct vrt_job_store *store = &queue->store;
    struct vrt_disk_space *space = &queue->space;

    vrt_jobs_init(&context->jobs);
    vrt_job_store_init(store, context, &store_events);
    *space = (struct vrt_disk_space){ .context = context, .store = store };
    vrt_admission_init(&queue->admission, context, store, &queue->space);
    queue->runs = (struct vrt_runs){ .context = context, .store = store, .space = space };
    queue->remote = (struct vrt_job_remote){ .context = context, .store = store, .space = space,
                                             .admission = &queue->admission };
    vrt_list_init(&queue->remote.fetches);
    queue->control = (struct vrt_control){ .context = context, .store = store, .space = space,
                                           .admission = &queue->admission,
                                           .runs = &queue->runs };
}

int vrt_queue_new(const struct vrt_queue_params *params, struct vrt_queue **ret_queue,
                  struct vrt_error *error)
{
    struct vrt_queue *queue = calloc(1, sizeof(*queue));
    uv_timer_t *timers[3];

    vrt_assert_thread(VRT_THREAD_LOOP);
    if (!queue)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "starting the queue");
    queue->context.params = *params;
    queue->context.events = queue_events;
    init_objects(queue);
    timers[0] = &queue->progress;
    timers[1] = &queue->housekeeping;
    timers[2] = &queue->patience;
    for (size_t i = 0; i < VRT_ARRAY_SIZE(timers); i++, queue->n_handles++) {
        uv_timer_init(params->loop, timers[i]);
        timers[i]->data = queue;
    }
    int r = load(queue, error);
    /* Where it failed the next start may still find whose they are. */
    if (r == 0)
        vrt_fd_store_sweep(params->fd_store);
    queue->context.is_loaded = r == 0;
    /* By now there may be writes under way: the queue's end waits for them. */
    *ret_queue = queue;
    if (r < 0)
        return vrt_fold(r);
    uv_timer_start(&queue->housekeeping, on_housekeeping, 0, 0);
    return 0;
}

void vrt_queue_configure(struct vrt_queue *queue, const struct vrt_queue_params *params)
{
    struct vrt_queue_params *own = &queue->context.params;

    vrt_assert_thread(VRT_THREAD_LOOP);
    own->max_running = params->max_running;
    own->history = params->history;
    own->history_s = params->history_s;
    own->failed_files_s = params->failed_files_s;
    own->fallback = params->fallback;
    own->turn_s = params->turn_s;
    own->left_open = params->left_open;
    if (!queue->context.is_stopping)
        uv_timer_start(&queue->housekeeping, on_housekeeping, 0, 0);
}

const struct vrt_jobs *vrt_queue_jobs(const struct vrt_queue *queue)
{
    return &queue->context.jobs;
}

struct vrt_admission *vrt_queue_admission(struct vrt_queue *queue)
{
    return &queue->admission;
}

struct vrt_control *vrt_queue_control(struct vrt_queue *queue)
{
    return &queue->control;
}

void vrt_queue_refresh(struct vrt_queue *queue, struct vrt_job *job)
{
    vrt_run_refresh(&queue->runs, job);
}

static void on_out_of_patience(uv_timer_t *timer)
{
    struct vrt_queue *queue = timer->data;
    struct vrt_job *job;

    VRT_LIST_FOREACH(job, &queue->context.jobs.all, link)
        vrt_run_end(job, VRT_RUN_STOP, NULL);
}

void vrt_queue_stop(struct vrt_queue *queue, int timeout_ms, void (*stopped)(void *ctx), void *ctx)
{
    struct vrt_job *job;

    vrt_assert_thread(VRT_THREAD_LOOP);
    vrt_assert(!queue->stopped);
    queue->context.is_stopping = true;
    uv_timer_stop(&queue->housekeeping);
    (void)vrt_job_store_save_rest(&queue->store);
    vrt_admission_stop(&queue->admission);
    VRT_LIST_FOREACH(job, &queue->context.jobs.all, link)
        vrt_run_end(job, job->parts->files.is_pipe_begun ? VRT_RUN_STOP : VRT_RUN_PARK, NULL);
    vrt_job_remote_stop(&queue->remote);
    uv_timer_start(&queue->patience, on_out_of_patience, (uint64_t)timeout_ms, 0);
    /* Not earlier: what ends above would have freed the queue within these loops. */
    queue->stopped = stopped;
    queue->stopped_ctx = ctx;
    check_stopped(&queue->context);
}
