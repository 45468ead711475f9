/* SPDX-License-Identifier: MIT */

/*
 * A job belongs to the queue from vrt_queue_submit() on. While it is admitted its admission holds
 * the request and the descriptors; the pipeline duplicates those it needs, so that they all go
 * with the admission. Only look() runs on another thread: it may use the admission and the models,
 * which have a lock of their own, and nothing else of the queue.
 *
 * Each job is charged to its user once, in charge(), and given back in one of three places: where
 * the submission fails, in end_admission() where it was refused, in end_job() where it is over.
 * Every end of a listed job goes through end_job(), whoever wanted it, and nothing else frees a
 * listed job's pipeline.
 *
 * The queue's end is told by its last job or admission, whichever goes last: none of them is ever
 * taken from under the thread or the devices that still work for it.
 */

#include "daemon/queue.h"

#include <errno.h>
#include <math.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "daemon/accounts.h"
#include "daemon/job-report.h"
#include "daemon/models.h"
#include "daemon/peer.h"
#include "daemon/pipeline.h"
#include "daemon/quota.h"

#define VRT_LOG_TOPIC "queue"

struct vrt_queue {
    struct vrt_queue_params params;
    struct vrt_jobs jobs;
    uv_timer_t progress;                    /* runs while jobs do */
    struct vrt_list admissions;             /* of struct vrt_queue_admission.link */
    bool stopping;
    void (*stopped)(void *ctx);
    void *stopped_ctx;
};

/* A job on its way into the list. */
struct vrt_queue_admission {
    struct vrt_queue *queue;
    struct vrt_list link;
    struct vrt_job *job;
    struct vrt_job_request request;
    void (*admitted)(void *ctx, struct vrt_job *job, const struct vrt_error *error);
    void *ctx;
    int input_fd, output_fd, model_fd;      /* -1: none */
    uv_work_t work;
    /* by the work's thread, then the loop's */
    struct vrt_network *network;
    struct vrt_error error;                 /* with a message: the job is refused */
};

static void start_jobs(struct vrt_queue *queue);

static void tell(struct vrt_queue *queue, struct vrt_job *job)
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

    free(queue);
    stopped(ctx);
}

/* Forgets a job that is over. */
static void forget(struct vrt_queue *queue, struct vrt_job *job)
{
    vrt_jobs_remove(&queue->jobs, job);
    vrt_job_free(job);
}

/* To be called wherever something went that the end may have waited for. Frees the queue, but
 * never within the call. */
static void end_if_stopped(struct vrt_queue *queue)
{
    struct vrt_job *job;

    if (!queue->stopped || !vrt_list_is_empty(&queue->admissions) ||
        vrt_jobs_n_running(&queue->jobs) > 0 || uv_is_closing((uv_handle_t *)&queue->progress))
        return;
    VRT_LIST_FOREACH(job, &queue->jobs.all, link)
        forget(queue, job);
    uv_close((uv_handle_t *)&queue->progress, on_timer_closed);
}

/* A job is over, whatever became of it. `error` may lie in its pipeline, which goes here: all that
 * is said of it comes first. */
static void end_job(struct vrt_queue *queue, struct vrt_job *job, enum vrt_job_event event,
                    const struct vrt_error *error)
{
    vrt_assert(vrt_jobs_move(&queue->jobs, job, event));
    vrt_job_report_end(job, error);
    vrt_log_info("job %" PRId64 " is %s%s%s", job->info.id, vrt_job_state_names[job->info.state],
                 error ? ": " : "", error ? error->message : "");
    job->pipeline = vrt_pipeline_free(job->pipeline);
    vrt_quota_give(queue->params.quota, VRT_QUOTA_JOBS, job->uid);
    tell(queue, job);
    /* For good: a list of a thousand such jobs shall not be printed all at once. */
    for (int i = 0; i < VRT_JOB_VIEW_COUNT; i++)
        vrt_job_short_text(job, i);
    /* At the end somebody goes through the list, who ends jobs: he forgets them all. */
    while (!queue->stopping && (job = vrt_jobs_expired(&queue->jobs, queue->params.history)))
        forget(queue, job);
    start_jobs(queue);
    end_if_stopped(queue);
}

/* The pipeline of a running job has ended. That it succeeded counts for more than that somebody
 * wanted it cancelled: the file is there. */
static void on_done(void *ctx, const struct vrt_error *error)
{
    struct vrt_job *job = ctx;
    struct vrt_queue *queue = job->queue;

    vrt_queue_refresh(queue, job);
    if (!error)
        end_job(queue, job, VRT_JOB_SUCCEED, NULL);
    else if (job->cancelling)
        end_job(queue, job, VRT_JOB_CANCEL, job->stop_reason.id ? &job->stop_reason : NULL);
    else
        end_job(queue, job, VRT_JOB_FAIL, error);
}

void vrt_queue_refresh(struct vrt_queue *queue, struct vrt_job *job)
{
    enum vrt_pipeline_phase phase;

    if (!job->pipeline || job->info.state == VRT_JOB_QUEUED)
        return;
    if (vrt_job_report_progress(job, queue->params.pool, &phase))
        job->untold = true;
    if (phase == VRT_PIPELINE_FINISHING)
        vrt_jobs_move(&queue->jobs, job, VRT_JOB_FINISH);
}

static void on_progress(uv_timer_t *timer)
{
    struct vrt_queue *queue = timer->data;
    struct vrt_job *job;

    if (vrt_jobs_n_running(&queue->jobs) == 0)
        uv_timer_stop(timer);
    VRT_LIST_FOREACH(job, &queue->jobs.all, link) {
        vrt_queue_refresh(queue, job);
        if (job->untold)
            tell(queue, job);
    }
}

/* The timer runs only while jobs do: a daemon without work shall not wake its machine. */
static void start_jobs(struct vrt_queue *queue)
{
    struct vrt_job *job;

    while (!queue->stopping && vrt_jobs_n_running(&queue->jobs) < queue->params.max_running &&
           (job = vrt_jobs_next(&queue->jobs))) {
        vrt_assert(vrt_jobs_move(&queue->jobs, job, VRT_JOB_START));
        job->info.started_at = vrt_clock_wall_ns();
        vrt_log_info("job %" PRId64 " starts", job->info.id);
        vrt_pipeline_start(job->pipeline);
        tell(queue, job);
    }
    if (vrt_jobs_n_running(&queue->jobs) > 0 && !uv_is_active((uv_handle_t *)&queue->progress))
        uv_timer_start(&queue->progress, on_progress, VRT_API_EVENT_PERIOD_MS,
                       VRT_API_EVENT_PERIOD_MS);
}

static struct vrt_queue_admission *admission_free(struct vrt_queue_admission *admission)
{
    vrt_list_remove(&admission->link);
    vrt_closep(&admission->input_fd);
    vrt_closep(&admission->output_fd);
    vrt_closep(&admission->model_fd);
    vrt_network_unref(admission->network);
    free(admission);
    return NULL;
}

/* The job is known to everybody from now on. */
static void list_job(struct vrt_queue *queue, struct vrt_job *job)
{
    char shown[VRT_API_NAME_BYTES];

    vrt_jobs_add(&queue->jobs, job);
    vrt_log_info("job %" PRId64 " of uid %d is queued: %s", job->info.id, (int)job->uid,
                 vrt_printable(job->info.input_name, shown, sizeof(shown)));
    tell(queue, job);
}

/* The admission is over: the job is listed, or it is gone, as it is where only its plan was wanted.
 * Whoever submitted it is told before start_jobs(), so that he learns of it as queued, as everybody
 * does. */
static void end_admission(struct vrt_queue_admission *admission, const struct vrt_error *error)
{
    bool is_listed = !error && !admission->request.dry_run;
    struct vrt_queue *queue = admission->queue;
    struct vrt_job *job = admission->job;
    enum vrt_pipeline_phase phase;

    job->admission = NULL;
    if (!error) {
        vrt_job_report_admitted(job);
        vrt_job_report_progress(job, queue->params.pool, &phase);
    } else {
        vrt_log_info("job %" PRId64 " of uid %d was refused: %s", job->info.id, (int)job->uid,
                     error->message);
    }
    if (is_listed)
        list_job(queue, job);
    admission->admitted(admission->ctx, job, error);
    if (!is_listed) {
        /* Only now: the error, or what the plan says, may be the pipeline's own. */
        job->pipeline = vrt_pipeline_free(job->pipeline);
        vrt_quota_give(queue->params.quota, VRT_QUOTA_JOBS, job->uid);
        vrt_job_free(job);
    }
    admission_free(admission);
    start_jobs(queue);
    end_if_stopped(queue);
}

static void on_admitted(void *ctx, const struct vrt_error *error)
{
    struct vrt_job *job = ctx;

    /* The pipeline says "cancelled" whoever stopped it: the queue knows why. */
    if (job->cancelling && (!error || job->stop_reason.id))
        error = &job->stop_reason;
    end_admission(job->admission, error);
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Refuses to write over what somebody may want to keep. The pipeline checks everything else. */
static int check_output(const struct vrt_queue_admission *admission, struct vrt_error *error)
{
    struct stat input, output, model;
    bool has_model = admission->model_fd >= 0;
    char shown[VRT_API_NAME_BYTES];

    /* A plan needs none. */
    if (admission->output_fd < 0)
        return 0;
    if (fstat(admission->input_fd, &input) < 0 || fstat(admission->output_fd, &output) < 0 ||
        (has_model && fstat(admission->model_fd, &model) < 0))
        return vrt_refuse_errno(error, vrt_raise(-errno), "looking at the files");
    if (has_model && is_same_file(&output, &model))
        return vrt_refuse(error, vrt_raise(-EINVAL), VRT_E(JOB_SAME_FILE),
                          "the output is the model's own file: name another one");
    if (output.st_size == 0 || admission->request.overwrite || !S_ISREG(output.st_mode) ||
        is_same_file(&input, &output))
        return 0;       /* the last is refused by the pipeline, in words of its own */
    vrt_printable(admission->request.output.name, shown, sizeof(shown));
    return vrt_refuse(error, vrt_raise(-EEXIST), VRT_E(JOB_OUTPUT),
                      "%s exists and is not empty: let it be overwritten, or give another name",
                      shown);
}

/* Off the loop: all that may wait for a disk, and a network's file may be on a slow one. What it
 * finds is read by on_looked() only, which libuv calls when this has returned. */
static void look(uv_work_t *work)
{
    struct vrt_queue_admission *admission = work->data;
    const struct vrt_file_ref *model = &admission->request.model;
    struct vrt_models *models = admission->queue->params.models;
    const char *name = model->name[0] ? model->name : vrt_models_default(models);

    if (check_output(admission, &admission->error) < 0)
        return;
    int r = admission->model_fd >= 0 ?
        vrt_models_read(models, admission->model_fd, name, &admission->network,
                        &admission->error) :
        vrt_models_find(models, name, &admission->network, &admission->error);
    if (r < 0)
        vrt_error_set_field(&admission->error, "model");
}

/* What is asked of a network that sees clips. */
static struct vrt_clip_wishes clip_wishes(const struct vrt_queue *queue,
                                          const struct vrt_job_request *request)
{
    struct vrt_clip_wishes wishes = {
        .frames = request->clip == VRT_UNKNOWN ? 0 : (int)request->clip,
        .has_overlap = request->clip_overlap != VRT_UNKNOWN,
        .overlap = (int)request->clip_overlap,
        .tiling = request->tiling == VRT_JOB_TILING_OFFICIAL ? VRT_TILING_OFFICIAL :
                                                               VRT_TILING_BLEND,
        .has_sigma = !isnan(request->sigma),
        .sigma = request->sigma,
    };

    if (!isnan(request->scene_cuts))
        wishes.scene_threshold = request->scene_cuts > 0 ? request->scene_cuts : -1;
    else if (!queue->params.scene_cuts)
        wishes.scene_threshold = -1;
    return wishes;
}

/* The pipeline of a job whose files and model were looked at. Return: 0, -errno. */
static int make_pipeline(struct vrt_queue_admission *admission, struct vrt_error *error)
{
    const struct vrt_queue_params *params = &admission->queue->params;
    const struct vrt_job_request *request = &admission->request;
    struct vrt_job *job = admission->job;
    char id[24];

    snprintf(id, sizeof(id), "%" PRId64, job->info.id);
    return vrt_pipeline_new(params->pool, &(struct vrt_pipeline_params){
        .job_id = id,
        .priority = (int)request->priority,
        .uid = job->uid,
        .input_fd = admission->input_fd,
        .input_name = request->input.name,
        .output_fd = admission->output_fd,
        .output_name = request->output.name,
        .spool_fd = params->spool_fd,
        .network = admission->network,
        .model_fd = -1,
        .model_name = job->info.model.name,
        .devices = request->device,
        .fallback = (enum vrt_fallback)params->fallback,
        .precision = vrt_job_precision_of(request->precision),
        .tile = request->tile == VRT_UNKNOWN ? 0 : (int)request->tile,
        .overlap = request->overlap == VRT_UNKNOWN ? -1 : (int)request->overlap,
        .clip = clip_wishes(admission->queue, request),
        .segment_frames = params->segment_frames,
        .codec = vrt_job_codec_names[job->info.recipe.codec],
        .preset = job->info.recipe.preset,
        .quality = (int)job->info.recipe.quality,
        .wants_speed = request->dry_run,
        .strict = request->strict,
        .admitted = on_admitted,
        .done = on_done,
        .ctx = job,
    }, &job->pipeline, error);
}

static void on_looked(uv_work_t *work, int status)
{
    struct vrt_queue_admission *admission = work->data;
    struct vrt_job *job = admission->job;
    struct vrt_error error = { .id = NULL };

    /* There was no pipeline to be told of it until now. */
    if (job->cancelling)
        vrt_refuse(&error, -ECANCELED, job->stop_reason.id, "%s",
                   job->stop_reason.id ? job->stop_reason.message : "it was cancelled");
    else if (status < 0)
        vrt_refuse_errno(&error, status, "looking at the files");
    else if (admission->error.message[0])
        error = admission->error;
    else if (make_pipeline(admission, &error) == 0)
        return;
    end_admission(admission, &error);
}

/* Takes the descriptor that a request names. Return: 0; -EBADF: none came, or it is taken. */
static int take_file(struct vrt_peer_files *files, const struct vrt_file_ref *file,
                     const char *field, int *ret_fd, struct vrt_error *error)
{
    if (file->fd == VRT_UNKNOWN && (file->path[0] || file->url[0])) {
        vrt_error_set_field(error, field);
        return vrt_refuse(error, vrt_raise(-EINVAL), VRT_E(REQUEST_DESCRIPTORS),
                          "a descriptor is needed for %s: vrtd opens no file by its name", field);
    }
    if (file->fd == VRT_UNKNOWN)
        return 0;
    if (file->fd >= files->n || files->fds[file->fd] < 0) {
        vrt_error_set_field(error, field);
        return vrt_refuse(error, vrt_raise(-EBADF), VRT_E(REQUEST_DESCRIPTORS),
                          "no descriptor %" PRId64 " for %s: %d came with the request, each for "
                          "one file", file->fd, field, files->n);
    }
    /* Leaves -1, so that no two files of a request share a descriptor. */
    *ret_fd = VRT_STEAL_FD(files->fds[file->fd]);
    return 0;
}

static int take_files(struct vrt_queue_admission *admission, struct vrt_peer_files *files,
                      struct vrt_error *error)
{
    const struct vrt_job_request *request = &admission->request;

    int r = take_file(files, &request->input, "input.fd", &admission->input_fd, error);
    if (r == 0)
        r = take_file(files, &request->output, "output.fd", &admission->output_fd, error);
    if (r == 0)
        r = take_file(files, &request->model, "model.fd", &admission->model_fd, error);
    return r;
}

/* The sum of both limits is one quota: a job is charged from its submission to its end, so that
 * starting it can't fail for its user's other jobs. */
static int charge(struct vrt_queue *queue, uid_t uid, struct vrt_error *error)
{
    if (queue->stopping)
        return vrt_refuse(error, vrt_raise(-ESHUTDOWN), VRT_E(SHUTTING_DOWN),
                          "vrtd is about to stop and takes no more jobs");
    int r = vrt_quota_take(queue->params.quota, VRT_QUOTA_JOBS, uid);
    if (r > 0)
        return vrt_refuse(error, vrt_raise(-EDQUOT), VRT_E(JOB_QUEUE_FULL),
                          "as many jobs wait as are allowed%s: try again when some are done",
                          r == VRT_QUOTA_E_USER ? " to one user" : "");
    return r < 0 ? vrt_refuse_errno(error, vrt_fold(r), "making a job") : 0;
}

/* Fills in what was asked for, and what the configuration says where nothing was. */
static void settle(const struct vrt_queue *queue, const struct vrt_job_request *request,
                   struct vrt_job *job)
{
    const struct vrt_queue_params *params = &queue->params;
    struct vrt_job_info *info = &job->info;
    struct vrt_job_recipe *recipe = &info->recipe;
    const char *model = request->model.name[0] ? request->model.name :
                        vrt_models_default(params->models);

    info->created_at = vrt_clock_wall_ns();
    vrt_accounts_name(params->users, job->uid, info->owner, sizeof(info->owner));
    /* One without a descriptor is of the daemon's folder, which GET /v1/models lists. */
    job->shows_model = request->model.fd == VRT_UNKNOWN && !request->model.path[0];
    info->priority = request->priority;
    snprintf(info->input_name, sizeof(info->input_name), "%s", request->input.name);
    snprintf(info->output_name, sizeof(info->output_name), "%s", request->output.name);
    snprintf(info->model.name, sizeof(info->model.name), "%s", model);
    snprintf(info->device, sizeof(info->device), "%s", request->device);
    recipe->codec = request->codec == VRT_UNKNOWN ? params->codec : request->codec;
    recipe->quality = request->quality == VRT_UNKNOWN ? params->quality[recipe->codec] :
                      request->quality;
    snprintf(recipe->preset, sizeof(recipe->preset), "%s",
             request->preset[0] ? request->preset : params->preset);
    recipe->precision = request->precision;
}

int vrt_queue_submit(struct vrt_queue *queue, const struct vrt_queue_submission *submission,
                     struct vrt_job **ret_job, struct vrt_error *error)
{
    struct vrt_queue_admission *admission = NULL;
    VRT_CLEANUP(vrt_job_freep) struct vrt_job *job = NULL;

    vrt_assert_thread(VRT_THREAD_LOOP);
    int r = charge(queue, submission->peer->uid, error);
    if (r < 0)
        return vrt_fold(r);
    admission = calloc(1, sizeof(*admission));
    r = admission ? vrt_job_new(queue->jobs.last_id + 1, submission->peer->uid, &job) :
        vrt_raise(-ENOMEM);
    if (admission) {
        vrt_list_init(&admission->link);
        admission->queue = queue;
        admission->request = *submission->request;
        admission->admitted = submission->admitted;
        admission->ctx = submission->ctx;
        admission->input_fd = admission->output_fd = admission->model_fd = -1;
        admission->work.data = admission;
    }
    if (r == 0)
        r = take_files(admission, submission->files, error);
    /* Last: once look() may be running nothing can fail here. It doesn't look at the job, which is
     * filled in below. */
    if (r == 0)
        r = uv_queue_work(queue->params.loop, &admission->work, look, on_looked);
    if (r < 0) {
        vrt_quota_give(queue->params.quota, VRT_QUOTA_JOBS, submission->peer->uid);
        if (admission)
            admission_free(admission);
        return vrt_refuse_errno(error, vrt_fold(r), "making a job");
    }
    /* Here, not when the job is listed: two that are admitted at a time need two numbers. Those
     * refused later leave gaps. */
    queue->jobs.last_id++;
    vrt_list_append(&queue->admissions, &admission->link);
    settle(queue, submission->request, job);
    job->queue = queue;
    job->admission = admission;
    admission->job = *ret_job = VRT_STEAL(job);
    return 0;
}

int vrt_queue_cancel(struct vrt_queue *queue, struct vrt_job *job)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    if (vrt_job_state_is_final(job->info.state))
        return -EALREADY;
    if (job->cancelling)
        return 0;
    job->cancelling = true;
    if (job->pipeline)
        vrt_pipeline_cancel(job->pipeline);
    /* A pipeline that was never started ends without a word; every other calls back. */
    if (!job->admission && job->info.state == VRT_JOB_QUEUED)
        end_job(queue, job, VRT_JOB_CANCEL, job->stop_reason.id ? &job->stop_reason : NULL);
    return 0;
}

int vrt_queue_new(const struct vrt_queue_params *params, struct vrt_queue **ret_queue)
{
    struct vrt_queue *queue = calloc(1, sizeof(*queue));

    vrt_assert_thread(VRT_THREAD_LOOP);
    if (!queue)
        return vrt_raise(-ENOMEM);
    queue->params = *params;
    /* Whoever ended a job still looks at it: the last one always stays. */
    queue->params.history = VRT_MAX(params->history, 1);
    vrt_jobs_init(&queue->jobs);
    vrt_list_init(&queue->admissions);
    uv_timer_init(params->loop, &queue->progress);
    queue->progress.data = queue;
    *ret_queue = queue;
    return 0;
}

void vrt_queue_configure(struct vrt_queue *queue, const struct vrt_queue_params *params)
{
    struct vrt_queue_params *own = &queue->params;
    struct vrt_job *job;

    vrt_assert_thread(VRT_THREAD_LOOP);
    own->max_running = params->max_running;
    own->history = VRT_MAX(params->history, 1);
    own->fallback = params->fallback;
    own->scene_cuts = params->scene_cuts;
    own->segment_frames = params->segment_frames;
    own->codec = params->codec;
    memcpy(own->quality, params->quality, sizeof(own->quality));
    own->preset = params->preset;
    while (!queue->stopping && (job = vrt_jobs_expired(&queue->jobs, own->history)))
        forget(queue, job);
    start_jobs(queue);
}

const struct vrt_jobs *vrt_queue_jobs(const struct vrt_queue *queue)
{
    return &queue->jobs;
}

void vrt_queue_stop(struct vrt_queue *queue, void (*stopped)(void *ctx), void *ctx)
{
    const struct vrt_error reason = {
        .id = VRT_E(JOB_INTERRUPTED),
        .message = "vrtd was stopped before this job was done",
    };
    struct vrt_queue_admission *admission;
    struct vrt_job *job;

    vrt_assert_thread(VRT_THREAD_LOOP);
    vrt_assert(!queue->stopped);
    queue->stopping = true;
    VRT_LIST_FOREACH(admission, &queue->admissions, link) {
        admission->job->stop_reason = reason;
        vrt_queue_cancel(queue, admission->job);
    }
    VRT_LIST_FOREACH(job, &queue->jobs.all, link) {
        job->stop_reason = reason;
        vrt_queue_cancel(queue, job);
    }
    /* Not earlier: the jobs that end above would have freed the queue within these loops. */
    queue->stopped = stopped;
    queue->stopped_ctx = ctx;
    end_if_stopped(queue);
}
