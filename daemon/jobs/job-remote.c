/* SPDX-License-Identifier: MIT */

/*
 * As many inputs are fetched at a time as are allowed, of one user half of them, those of users
 * with the fewest first. A fetch that isn't wanted any more is let go of at once, and ends by
 * itself; until then its file isn't touched by another.
 *
 * That a notice is due is stored with the job's end, and that it isn't any more with its receipt:
 * in between the daemon may end as often as it likes. A job that is forgotten meanwhile takes
 * nothing away from its notice, which has its own text.
 */

#include "daemon/jobs/job-remote.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/thread.h"
#include "daemon/access/descriptors.h"
#include "daemon/jobs/admission.h"
#include "daemon/jobs/queue-context.h"
#include "daemon/jobs/spool.h"
#include "daemon/remote/fetch.h"
#include "daemon/remote/remote.h"
#include "daemon/uploads/uploads.h"

#define VRT_LOG_TOPIC "queue"

#define FETCHES_MAX 4                   /* at a time, */
#define USER_FETCHES_MAX 2              /* and of one user: a slow server may hold them for hours */
#define PART_NAME "input.part"

/* An input on its way. */
struct vrt_job_fetch {
    struct vrt_list link;
    struct vrt_job_remote *owner;
    struct vrt_job *job;                /* NULL: it isn't wanted any more */
    int64_t job_id;
    struct vrt_fetch *fetch;
    int spool_fd;                       /* the job's folder */
};

int vrt_job_remote_check(const struct vrt_remote *remote, const struct vrt_job_request *request,
                         struct vrt_error *error)
{
    int r = 0;

    if (request->input.url[0])
        r = vrt_remote_check_input(remote, request->input.url, error);
    if (r < 0)
        return vrt_fold(r);
    if (request->webhook[0])
        r = vrt_remote_check_webhook(remote, request->webhook, error);
    if (r < 0)
        return vrt_fold(r);
    if (request->input.url[0] && request->dry_run) {
        vrt_error_set_field(error, "input.url");
        r = vrt_refuse(error, vrt_raise(-EINVAL), VRT_E(REQUEST_FIELD),
                       "input.url: what isn't here yet can't be planned: fetch it first");
    }
    return vrt_fold(r);
}

/* It is upload `file` of the request's that is at fault. */
static void set_upload_field(struct vrt_error *error, enum vrt_job_file file)
{
    char field[32];

    snprintf(field, sizeof(field), "%s.upload", vrt_job_file_names[file]);
    vrt_error_set_field(error, field);
}

int vrt_job_remote_open_uploads(const struct vrt_queue_context *context, struct vrt_job *job,
                                const struct vrt_job_request *request, struct vrt_error *error)
{
    for (int i = 0; i < VRT_JOB_FILE_COUNT; i++) {
        if (request->files[i].upload == VRT_UNKNOWN)
            continue;
        vrt_assert(context->params.uploads);
        int r = vrt_uploads_open(context->params.uploads, request->files[i].upload, job->uid,
                                 &job->parts->files.fds[i], error);
        if (r < 0) {
            set_upload_field(error, i);
            return vrt_fold(r);
        }
    }
    return 0;
}

int vrt_job_remote_take_uploads(struct vrt_disk_space *space, struct vrt_job *job,
                                const struct vrt_job_request *request, struct vrt_error *error)
{
    const struct vrt_queue_params *params = &space->context->params;
    char names[VRT_JOB_FILE_COUNT][VRT_UPLOAD_NAME_BYTES];
    int64_t bytes[VRT_JOB_FILE_COUNT] = { 0 };

    for (int i = 0; i < VRT_JOB_FILE_COUNT; i++) {
        if (request->files[i].upload == VRT_UNKNOWN)
            continue;
        int r = vrt_uploads_look(params->uploads, request->files[i].upload, names[i], &bytes[i],
                                 error);
        if (r < 0) {
            set_upload_field(error, i);
            return vrt_fold(r);
        }
    }
    for (int i = 0; i < VRT_JOB_FILE_COUNT; i++) {
        if (request->files[i].upload == VRT_UNKNOWN)
            continue;
        int r = vrt_spool_give_file(params->spool_fd, names[i], job->info.id, i);
        if (r < 0)
            return vrt_refuse_errno(error, vrt_fold(r), "keeping what was uploaded");
        vrt_uploads_forget(params->uploads, request->files[i].upload);
        vrt_disk_space_charge(space, job, bytes[i]);
    }
    if (request->input.upload != VRT_UNKNOWN)
        job->info.fetched_bytes = job->info.fetch_bytes = bytes[VRT_JOB_INPUT];
    return 0;
}

bool vrt_job_remote_lacks_input(const struct vrt_job *job)
{
    return !job->decision->is_admitted ||
           (job->is_remote && job->parts->files.fds[VRT_JOB_INPUT] < 0);
}

static void fetch_free(struct vrt_job_fetch *fetch)
{
    vrt_list_remove(&fetch->link);
    vrt_closep(&fetch->spool_fd);
    free(fetch);
}

/* The job is no longer this fetch's. */
static void let_go(struct vrt_job_fetch *fetch)
{
    fetch->job->parts->fetch = NULL;
    fetch->job = NULL;
}

/* Its input is there: what was found out about others when they were submitted comes now. */
static void take_input(struct vrt_job_remote *remote, struct vrt_job *job)
{
    struct vrt_queue_context *context = remote->context;
    struct vrt_error error = { .id = NULL };

    if (job->decision->is_admitted) {
        vrt_assert(vrt_jobs_move(&context->jobs, job, VRT_JOB_REQUEUE));
        vrt_queue_tell(context, job);
        vrt_job_store_save(remote->store, job, NULL);
    } else if (vrt_admission_admit_listed(remote->admission, job, &error) < 0) {
        vrt_queue_end_job(context, job, VRT_JOB_FAIL, &error);
    }
}

/* It couldn't be fetched, or not yet. */
static void wait_or_fail(struct vrt_job_remote *remote, struct vrt_job *job,
                         const struct vrt_error *error)
{
    if (vrt_disk_space_is_lacking(error))
        vrt_disk_space_wait(remote->space, job, error);
    else if (vrt_descriptors_are_out(error))
        vrt_queue_wait_for_descriptors(remote->context, job, error);
    else
        vrt_queue_end_job(remote->context, job, VRT_JOB_FAIL, error);
}

static void on_progress(void *ctx, int64_t done_bytes, int64_t total_bytes)
{
    struct vrt_job_fetch *fetch = ctx;
    struct vrt_job *job = fetch->job;

    if (!job)
        return;
    job->info.fetched_bytes = done_bytes;
    job->info.fetch_bytes = total_bytes;
    job->parts->is_untold = true;
}

/* Gives what was fetched its name. Return: 0; -errno with `error`. */
static int keep_input(struct vrt_job_fetch *fetch, struct vrt_error *error)
{
    int *fd = &fetch->job->parts->files.fds[VRT_JOB_INPUT];

    if (renameat(fetch->spool_fd, PART_NAME, fetch->spool_fd,
                 vrt_job_file_names[VRT_JOB_INPUT]) < 0)
        return vrt_refuse_errno(error, vrt_raise(-errno), "keeping what was fetched");
    *fd = vrt_spool_open_file(fetch->owner->context->params.spool_fd, fetch->job_id,
                              VRT_JOB_INPUT);
    if (*fd < 0)
        return vrt_refuse_errno(error, vrt_raise(-errno), "opening what was fetched");
    return 0;
}

static void on_fetched(void *ctx, const struct vrt_fetch_result *result,
                       const struct vrt_error *error)
{
    struct vrt_job_fetch *fetch = ctx;
    struct vrt_job_remote *remote = fetch->owner;
    struct vrt_job *job = fetch->job;
    struct vrt_error failure = { .id = NULL };

    if (error) {
        failure = *error;
    } else if (job && keep_input(fetch, &failure) == 0) {
        job->info.fetched_bytes = job->info.fetch_bytes = result->size_bytes;
        vrt_disk_space_charge(remote->space, job, result->size_bytes);
    }
    if (job)
        let_go(fetch);
    fetch_free(fetch);
    /* At the end of the daemon it stays as it is: the next one goes on. */
    if (job && !remote->context->is_stopping) {
        if (failure.message[0])
            wait_or_fail(remote, job, &failure);
        else
            take_input(remote, job);
    }
    vrt_queue_proceed(remote->context);
    vrt_queue_check_stopped(remote->context);
}

/* Begins to fetch a job's input, or finds it. Return: 0; 1: it is there; -errno with `error`. */
static int begin(struct vrt_job_remote *remote, struct vrt_job *job, struct vrt_error *error)
{
    const struct vrt_queue_params *params = &remote->context->params;
    int *fd = &job->parts->files.fds[VRT_JOB_INPUT];
    struct vrt_job_fetch *fetch = NULL;
    struct vrt_job_request request;

    if (*fd < 0)
        *fd = vrt_spool_open_file(params->spool_fd, job->info.id, VRT_JOB_INPUT);
    job->info.has_error = false;
    if (*fd >= 0)
        return 1;
    int r = vrt_job_record_request(job, &request, error);
    if (r < 0)
        return vrt_fold(r);
    if (!request.input.url[0])
        return vrt_refuse(error, vrt_raise(-ENOENT), VRT_E(UPLOAD_NOT_FOUND), "what was uploaded "
                          "for the job is gone: upload it again, for a new one");
    fetch = calloc(1, sizeof(*fetch));
    if (!fetch)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "fetching the input");
    vrt_list_init(&fetch->link);
    fetch->owner = remote;
    fetch->job_id = job->info.id;
    fetch->spool_fd = -1;
    r = vrt_spool_open(params->spool_fd, job->info.id, &fetch->spool_fd);
    if (r < 0)
        vrt_job_files_refuse_spool(error, r, "the spool folder");
    else
        r = vrt_remote_fetch_input(params->remote, &(struct vrt_remote_input){
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
    job->parts->fetch = fetch;
    vrt_list_append(&remote->fetches, &fetch->link);
    return 0;
}

/* How many inputs are fetched for the user, that are wanted. */
static int count_fetches(const struct vrt_job_remote *remote, const struct vrt_job_user *user)
{
    const struct vrt_job_fetch *fetch;
    int n = 0;

    VRT_LIST_FOREACH(fetch, &remote->fetches, link)
        n += fetch->job && fetch->job->user == user;
    return n;
}

/* Whether a fetch of this job, wanted or not, goes on. */
static bool is_being_fetched(const struct vrt_job_remote *remote, const struct vrt_job *job)
{
    const struct vrt_job_fetch *fetch;

    VRT_LIST_FOREACH(fetch, &remote->fetches, link)
        if (fetch->job_id == job->info.id)
            return true;
    return false;
}

/* The job that should fetch next, or NULL. */
static struct vrt_job *next_job(const struct vrt_job_remote *remote)
{
    const struct vrt_jobs *jobs = &remote->context->jobs;
    struct vrt_job *job, *next = NULL;
    const struct vrt_job_fetch *fetch;
    int n = 0, fewest = USER_FETCHES_MAX;

    VRT_LIST_FOREACH(fetch, &remote->fetches, link)
        n++;
    if (n >= FETCHES_MAX || jobs->counts[VRT_JOB_FETCHING] == 0)
        return NULL;
    VRT_LIST_FOREACH(job, &jobs->all, link) {
        if (job->info.state != VRT_JOB_FETCHING || job->parts->admission ||
            is_being_fetched(remote, job))
            continue;
        int n_of_user = count_fetches(remote, job->user);
        if (n_of_user < fewest) {
            fewest = n_of_user;
            next = job;
        }
    }
    return next;
}

void vrt_job_remote_fetch(struct vrt_job_remote *remote)
{
    struct vrt_queue_context *context = remote->context;
    struct vrt_job *job;
    bool any = false;

    /* A job that ends in here would have the next one's begun within its own. */
    if (remote->is_fetching || context->is_stopping || !context->is_loaded)
        return;
    remote->is_fetching = true;
    while (!context->lacks_descriptors && (job = next_job(remote))) {
        struct vrt_error error = { .id = NULL };
        int r = begin(remote, job, &error);
        any |= r > 0;
        if (r > 0)
            take_input(remote, job);
        else if (r < 0)
            wait_or_fail(remote, job, &error);
    }
    remote->is_fetching = false;
    /* What had its input already, as after a retry, may start. */
    if (any)
        vrt_queue_proceed(context);
}

void vrt_job_remote_cancel(struct vrt_job *job)
{
    struct vrt_job_fetch *fetch = job->parts->fetch;

    if (!fetch)
        return;
    let_go(fetch);
    vrt_fetch_cancel(fetch->fetch);
}

void vrt_job_remote_stop(struct vrt_job_remote *remote)
{
    struct vrt_job_fetch *fetch;

    vrt_assert_thread(VRT_THREAD_LOOP);
    VRT_LIST_FOREACH(fetch, &remote->fetches, link)
        vrt_fetch_cancel(fetch->fetch);
}

/* A notice on its way. */
struct notice {
    struct vrt_job_remote *remote;      /* ends after all notices */
    int64_t job_id;
};

static void on_sent(void *ctx, enum vrt_webhook_outcome outcome)
{
    struct notice *notice = ctx;
    struct vrt_job_remote *remote = notice->remote;
    struct vrt_job *job = vrt_jobs_find(&remote->context->jobs, notice->job_id);

    free(notice);
    if (outcome == VRT_WEBHOOK_STOPPED || !job || !job->decision->notice_due)
        return;
    job->decision->notice_due = false;
    vrt_job_store_save(remote->store, job, NULL);
}

/* Return: 0; -errno. */
static int send_notice(struct vrt_job_remote *remote, struct vrt_job *job)
{
    const struct vrt_buf *text = vrt_job_short_text(job, VRT_JOB_VIEW_FULL);
    struct vrt_buf body = { .limit_bytes = 0 };
    struct notice *notice = calloc(1, sizeof(*notice));
    struct vrt_job_request request;
    int r = notice && text ? 0 : vrt_raise(-ENOMEM);

    if (r == 0)
        r = vrt_job_record_request(job, &request, NULL);
    if (r == 0)
        r = vrt_buf_printf(&body, "{\"event\":\"%s\",\"job\":",
                           vrt_job_state_names[job->info.state]);
    if (r == 0)
        r = vrt_buf_append(&body, text->data, text->size_bytes);
    if (r == 0)
        r = vrt_buf_append(&body, "}", 1);
    if (r == 0) {
        notice->remote = remote;
        notice->job_id = job->info.id;
        r = vrt_remote_send_webhook(remote->context->params.remote, &(struct vrt_webhook){
            .job_id = job->info.id,
            .url = request.webhook,
            .body = body.data,
            .done = on_sent,
            .ctx = notice,
        });
    }
    if (r < 0)
        free(notice);
    vrt_buf_done(&body);
    return vrt_fold(r);
}

void vrt_job_remote_notify(struct vrt_job_remote *remote, struct vrt_job *job)
{
    int r = job->decision->notice_due ? send_notice(remote, job) : 0;

    if (r < 0)
        vrt_log_warning("job %" PRId64 ": its webhook can't be sent before the next start: %s",
                        job->info.id, strerror(-r));
}
