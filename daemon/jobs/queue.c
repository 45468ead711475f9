/* SPDX-License-Identifier: MIT */

/*
 * Which job is started when, what is looked after by time, and the end. See queue-impl.h for the
 * other parts.
 *
 * max_running jobs run at a time. One of a higher priority than some of those is started beside
 * them, since it takes their devices anyway (sched.h); where that makes twice as many, one of the
 * lowest priority is put back first. What the daemon may have died of before runs alone.
 *
 * The queue's end is told by its last job, admission or write, whichever goes last: none of them is
 * ever taken from under the thread or the devices that still work for it.
 */

#include "daemon/jobs/queue.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "daemon/jobs/job-report.h"
#include "daemon/systemd/fd-store.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/jobs/queue-impl.h"
#include "daemon/access/quota.h"
#include "daemon/jobs/spool.h"

#define VRT_LOG_TOPIC "queue"

/* At a time: each is a thread that looks at a file, which may be made to be slow. */
#define ADMISSIONS_MAX 6
#define ADMISSIONS_PER_USER_MAX 2

/* While something waits for room on a disk; and where jobs only grow old. */
#define HOUSE_SOON_MS (5 * 1000)
#define HOUSE_LATE_MS (3600 * 1000)

void vrt_queue_tell(struct vrt_queue *queue, struct vrt_job *job)
{
    vrt_job_touch(job);
    job->untold = false;
    queue->params.changed(queue->params.ctx, job);
}

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

    VRT_LIST_FOREACH(job, &queue->jobs.all, link) {
        vrt_jobs_remove(&queue->jobs, job);
        vrt_job_free(job);
    }
    vrt_jobs_done(&queue->jobs);
    free(queue->left_out);
    uv_close((uv_handle_t *)&queue->progress, on_timer_closed);
    uv_close((uv_handle_t *)&queue->house, on_timer_closed);
    uv_close((uv_handle_t *)&queue->patience, on_timer_closed);
}

void vrt_queue_check_stopped(struct vrt_queue *queue)
{
    if (!queue->stopped || !vrt_list_is_empty(&queue->admissions) || queue->n_runs > 0 ||
        queue->n_saving > 0 || uv_is_closing((uv_handle_t *)&queue->progress))
        return;
    close_queue(queue);
}

/* Jobs that were over longest ago, where there are too many or too old ones. */
static void forget_expired(struct vrt_queue *queue)
{
    const struct vrt_queue_params *params = &queue->params;
    struct vrt_job *job;

    while ((job = vrt_jobs_expired(&queue->jobs, params->history)))
        vrt_queue_forget(queue, job);
    if (params->history_s <= 0)
        return;
    while ((job = vrt_jobs_first_over(&queue->jobs)) &&
           vrt_clock_now_ns() - job->ended_ns > params->history_s * VRT_NS_PER_S)
        vrt_queue_forget(queue, job);
}

void vrt_queue_end_job(struct vrt_queue *queue, struct vrt_job *job, enum vrt_job_event event,
                       const struct vrt_error *error)
{
    vrt_assert(vrt_jobs_move(&queue->jobs, job, event));
    vrt_job_report_end(job, error);
    vrt_log_info("job %" PRId64 " %s%s%s", job->info.id, vrt_job_state_phrases[job->info.state],
                 error ? ": " : "", error ? error->message : "");
    vrt_queue_fetch_end(job);
    if (event != VRT_JOB_SUCCEED)
        vrt_queue_remove_output(job);
    vrt_queue_close_files(job);
    if (job->is_charged)
        vrt_quota_give(queue->params.quota, VRT_QUOTA_JOBS, job->uid);
    job->is_charged = false;
    vrt_queue_tell(queue, job);
    job->work->notice_due = job->has_webhook;
    vrt_queue_save(queue, job, NULL);
    vrt_queue_send_notice(queue, job);
    /* For good: a list of a thousand such jobs shall not be printed all at once. */
    for (int i = 0; i < VRT_JOB_VIEW_COUNT; i++)
        vrt_job_short_text(job, i);
    /* Not now: whoever ended a job still looks at it. */
    uv_timer_start(&queue->house, vrt_queue_on_house, 0, 0);
    vrt_queue_start_jobs(queue);
    vrt_queue_check_stopped(queue);
}

void vrt_queue_refresh(struct vrt_queue *queue, struct vrt_job *job)
{
    enum vrt_pipeline_phase phase;

    if (!vrt_queue_run_is_going(job))
        return;
    if (vrt_job_report_progress(job, queue->params.pool, &phase))
        job->untold = true;
    if (phase == VRT_PIPELINE_FINISHING && job->info.state == VRT_JOB_RUNNING)
        vrt_jobs_move(&queue->jobs, job, VRT_JOB_FINISH);
}

/* Whether there is progress to be told of. */
static bool is_busy(const struct vrt_queue *queue)
{
    return queue->n_runs > 0 || !vrt_list_is_empty(&queue->fetches);
}

static void on_progress(uv_timer_t *timer)
{
    struct vrt_queue *queue = timer->data;
    struct vrt_job *job;

    if (!is_busy(queue))
        uv_timer_stop(timer);
    VRT_LIST_FOREACH(job, &queue->jobs.all, link) {
        vrt_queue_refresh(queue, job);
        if (job->untold)
            vrt_queue_tell(queue, job);
    }
    vrt_queue_limit_suspect(queue);
}

/* Jobs of this priority or a higher one that run; *ret_lowest is the one that should make room. */
static int count_running(const struct vrt_queue *queue, int64_t priority,
                         struct vrt_job **ret_lowest)
{
    struct vrt_job *job;
    int n = 0;

    *ret_lowest = NULL;
    VRT_LIST_FOREACH(job, &queue->jobs.all, link) {
        if (job->info.state != VRT_JOB_RUNNING && job->info.state != VRT_JOB_FINISHING)
            continue;
        n += job->info.priority >= priority;
        if (job->info.state == VRT_JOB_RUNNING &&
            (!*ret_lowest || job->info.priority <= (*ret_lowest)->info.priority))
            *ret_lowest = job;
    }
    return n;
}

/* Whether a job of the highest priority that is queued may start. */
static bool may_start(struct vrt_queue *queue)
{
    int priority = vrt_jobs_top_priority(&queue->jobs);
    int n = vrt_jobs_n_running(&queue->jobs), max = queue->params.max_running;
    struct vrt_job *lowest;

    if (priority < VRT_API_PRIORITY_MIN)
        return false;
    if (n < max)
        return true;
    if (count_running(queue, priority, &lowest) >= max)
        return false;
    if (n < 2 * max)
        return true;
    if (lowest && lowest->info.priority < priority)
        vrt_queue_run_end(lowest, VRT_RUN_PARK, NULL);
    return false;
}

/* The job that starts now; NULL: none may. */
static struct vrt_job *next_job(struct vrt_queue *queue)
{
    struct vrt_job *job;

    if (queue->stopping || !queue->is_loaded || queue->is_short)
        return NULL;
    if (vrt_queue_has_suspects(queue, &job))
        return job;
    return may_start(queue) ? vrt_jobs_next(&queue->jobs) : NULL;
}

/* The timer runs only while jobs do: a daemon without work shall not wake its machine. */
void vrt_queue_start_jobs(struct vrt_queue *queue)
{
    struct vrt_job *job;

    while ((job = next_job(queue))) {
        if (vrt_queue_lacks_input(job)) {
            vrt_assert(vrt_jobs_move(&queue->jobs, job, VRT_JOB_FETCH));
            vrt_queue_tell(queue, job);
            vrt_queue_save(queue, job, NULL);
            continue;
        }
        vrt_assert(vrt_jobs_move(&queue->jobs, job, VRT_JOB_START));
        vrt_queue_run_start(job);
        vrt_queue_tell(queue, job);
    }
    vrt_queue_fetch_jobs(queue);
    if (is_busy(queue) && !uv_is_active((uv_handle_t *)&queue->progress))
        uv_timer_start(&queue->progress, on_progress, VRT_API_EVENT_PERIOD_MS,
                       VRT_API_EVENT_PERIOD_MS);
}

void vrt_queue_limit_held(struct vrt_queue *queue)
{
    struct vrt_job *job, *oldest = NULL;
    int n = 0;

    VRT_LIST_FOREACH(job, &queue->jobs.all, link) {
        if (!job->run || !job->run->is_held || job->run->wish != VRT_RUN_GO)
            continue;
        n++;
        if (!oldest)
            oldest = job;
    }
    if (n > queue->params.max_running)
        vrt_queue_run_end(oldest, VRT_RUN_STOP, NULL);
}

void vrt_queue_look_soon(struct vrt_queue *queue)
{
    uv_timer_t *timer = &queue->house;

    if (queue->stopping ||
        (uv_is_active((uv_handle_t *)timer) && uv_timer_get_due_in(timer) <= HOUSE_SOON_MS))
        return;
    uv_timer_start(timer, vrt_queue_on_house, HOUSE_SOON_MS, 0);
}

void vrt_queue_on_house(uv_timer_t *timer)
{
    struct vrt_queue *queue = timer->data;
    bool is_urgent;

    if (!queue->stopping)
        forget_expired(queue);
    vrt_queue_sweep_failed(queue);
    is_urgent = vrt_queue_try_full(queue);
    is_urgent |= vrt_queue_save_rest(queue);
    if (!queue->stopping)
        uv_timer_start(timer, vrt_queue_on_house, is_urgent ? HOUSE_SOON_MS : HOUSE_LATE_MS, 0);
    queue->is_short = false;
    vrt_queue_start_jobs(queue);
}

int vrt_queue_new(const struct vrt_queue_params *params, struct vrt_queue **ret_queue,
                  struct vrt_error *error)
{
    struct vrt_queue *queue = calloc(1, sizeof(*queue));
    uv_timer_t *timers[3];

    vrt_assert_thread(VRT_THREAD_LOOP);
    if (!queue)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "starting the queue");
    queue->params = *params;
    vrt_jobs_init(&queue->jobs);
    vrt_list_init(&queue->admissions);
    vrt_turns_init(&queue->turns, ADMISSIONS_MAX, ADMISSIONS_PER_USER_MAX);
    vrt_list_init(&queue->fetches);
    timers[0] = &queue->progress;
    timers[1] = &queue->house;
    timers[2] = &queue->patience;
    for (size_t i = 0; i < VRT_ARRAY_SIZE(timers); i++, queue->n_handles++) {
        uv_timer_init(params->loop, timers[i]);
        timers[i]->data = queue;
    }
    int r = vrt_queue_load(queue, error);
    /* Where it failed the next start may still find whose they are. */
    if (r == 0)
        vrt_fd_store_sweep(params->fd_store);
    queue->is_loaded = r == 0;
    /* By now there may be writes under way: the queue's end waits for them. */
    *ret_queue = queue;
    if (r == 0)
        uv_timer_start(&queue->house, vrt_queue_on_house, 0, 0);
    return vrt_fold(r);
}

void vrt_queue_configure(struct vrt_queue *queue, const struct vrt_queue_params *params)
{
    struct vrt_queue_params *own = &queue->params;

    vrt_assert_thread(VRT_THREAD_LOOP);
    own->max_running = params->max_running;
    own->history = params->history;
    own->history_s = params->history_s;
    own->failed_files_s = params->failed_files_s;
    own->fallback = params->fallback;
    own->scene_cuts = params->scene_cuts;
    own->segment_frames = params->segment_frames;
    own->codec = params->codec;
    memcpy(own->quality, params->quality, sizeof(own->quality));
    own->preset = params->preset;
    if (!queue->stopping)
        uv_timer_start(&queue->house, vrt_queue_on_house, 0, 0);
}

const struct vrt_jobs *vrt_queue_jobs(const struct vrt_queue *queue)
{
    return &queue->jobs;
}

static void on_out_of_patience(uv_timer_t *timer)
{
    struct vrt_queue *queue = timer->data;
    struct vrt_job *job;

    VRT_LIST_FOREACH(job, &queue->jobs.all, link)
        vrt_queue_run_end(job, VRT_RUN_STOP, NULL);
}

void vrt_queue_stop(struct vrt_queue *queue, int timeout_ms, void (*stopped)(void *ctx), void *ctx)
{
    struct vrt_queue_admission *admission;
    struct vrt_job *job;

    vrt_assert_thread(VRT_THREAD_LOOP);
    vrt_assert(!queue->stopped);
    queue->stopping = true;
    uv_timer_stop(&queue->house);
    (void)vrt_queue_save_rest(queue);
    VRT_LIST_FOREACH(admission, &queue->admissions, link)
        vrt_queue_give_up_admission(admission, true);
    VRT_LIST_FOREACH(job, &queue->jobs.all, link)
        vrt_queue_run_end(job, VRT_RUN_PARK, NULL);
    vrt_queue_fetch_end_all(queue);
    uv_timer_start(&queue->patience, on_out_of_patience, (uint64_t)timeout_ms, 0);
    /* Not earlier: what ends above would have freed the queue within these loops. */
    queue->stopped = stopped;
    queue->stopped_ctx = ctx;
    vrt_queue_check_stopped(queue);
}
