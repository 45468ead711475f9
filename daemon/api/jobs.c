/* SPDX-License-Identifier: MIT */
/*
 * Jobs as they come, and as they are looked at: POST and GET /v1/jobs, GET /v1/jobs/{id}. Who
 * submits waits until the job is admitted or refused; one who goes away before takes it back.
 * Others see of a job what doesn't tell its files' names. Thread: loop.
 */

#include "daemon/api/routes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "api.h"
#include "base/log.h"
#include "daemon/access/access.h"
#include "daemon/api/job-routes.h"
#include "daemon/api/plan-report.h"
#include "daemon/jobs/admission.h"
#include "daemon/jobs/control.h"
#include "daemon/jobs/queue.h"
#include "frames/encode/container.h"
#include "msg_plan.h"
#include "workers/plan/device-request.h"

#define VRT_LOG_TOPIC "api"

/* A client that waits to hear whether its job was admitted. */
struct creation {
    struct vrt_api *api;
    struct vrt_job *job;
    bool is_dry_run;
    struct vrt_conn_watch watch;
};

/* How much of the job whoever asks may see. */
static enum vrt_job_view view_of(const struct vrt_call *call, const struct vrt_job *job)
{
    return vrt_access_may_control(call->api->access, call->request->peer, job->uid) ?
           VRT_JOB_VIEW_FULL : VRT_JOB_VIEW_REDACTED;
}

void vrt_api_reply_job(struct vrt_conn *conn, const struct vrt_job *job, enum vrt_job_view view)
{
    struct vrt_buf body = { .limit_bytes = VRT_API_RESPONSE_MAX_BYTES };

    vrt_api_reply(conn, vrt_job_print(job, view, &body), &body, "printing the job");
}

/* The same for one that was just made. */
static void reply_new_job(struct vrt_conn *conn, const struct vrt_job *job)
{
    struct vrt_buf body = { .limit_bytes = VRT_API_RESPONSE_MAX_BYTES };
    char header[64];

    snprintf(header, sizeof(header), "Location: /v1/jobs/%" PRId64, job->info.id);
    vrt_api_reply_as(conn, vrt_job_print(job, VRT_JOB_VIEW_FULL, &body), &body,
                     (struct vrt_response){ .status = 201, .header = header }, "printing the job");
}

/* What would be done for a job that isn't made. */
static void reply_plan(struct vrt_conn *conn, const struct vrt_job *job)
{
    struct vrt_buf body = { .limit_bytes = VRT_API_RESPONSE_MAX_BYTES };
    struct vrt_plan_parts parts;
    struct vrt_plan_report report;

    vrt_plan_report_fill(job, &parts, &report);
    vrt_api_reply(conn, vrt_fields_print(vrt_plan_fields, &report, &body), &body,
                  "printing the plan");
}

/* A submission was accepted, or refused for `error`. */
static void count(struct vrt_api *api, const struct vrt_error *error)
{
    if (error)
        api->n_refused[vrt_api_error_find(error->id)]++;
    else
        api->n_accepted++;
}

static void on_admitted(void *ctx, struct vrt_job *job, const struct vrt_error *error)
{
    struct creation *creation = ctx;
    struct vrt_conn *conn = creation->watch.conn;

    if (!creation->is_dry_run)
        count(creation->api, error);
    if (conn && error)
        vrt_conn_refuse(conn, error);
    else if (conn && creation->is_dry_run)
        reply_plan(conn, job);
    else if (conn)
        reply_new_job(conn, job);
    free(creation);
}

/* Nobody will ever hear the job's number: it is not wanted any more. */
static void on_gone(struct vrt_conn_watch *watch)
{
    struct creation *creation = vrt_container_of(watch, struct creation, watch);

    vrt_log_info("job %" PRId64 ": its client went away before it was admitted",
                 creation->job->info.id);
    vrt_control_cancel(vrt_queue_control(creation->api->queue), creation->job);
}

/* A result that vrtd keeps is one file. Return: 0; -EINVAL with `error`. */
static int check_kept(const struct vrt_job_request *wanted, struct vrt_error *error)
{
    enum vrt_container container;

    if (!vrt_file_ref_is_kept(&wanted->output) || wanted->dry_run)
        return 0;
    int r = vrt_container_from_name(wanted->output.name, &container, error);
    if (r < 0)
        return vrt_fold(r);
    if (!vrt_container_is_picture(container))
        return 0;
    vrt_error_set_field(error, "output.name");
    return vrt_refuse(error, vrt_raise(-EINVAL), VRT_E(OUTPUT_CONTAINER), "output.name: a result "
                      "without a place is kept by vrtd as one file: choose mp4, mkv, mov, webm, "
                      "ts, mxf, gif or apng");
}

int vrt_api_check_web_files(const struct vrt_peer *peer,
                            const struct vrt_file_ref files[VRT_JOB_FILE_COUNT],
                            struct vrt_error *error)
{
    for (int i = 0; i < VRT_JOB_FILE_COUNT && vrt_uid_is_web(peer->uid); i++) {
        if (files[i].fd == VRT_UNKNOWN && !files[i].path[0])
            continue;
        vrt_error_set_field(error, vrt_job_file_names[i]);
        return vrt_refuse(error, vrt_raise(-EPERM), VRT_E(WEB_FILES), "%s: over TCP no descriptors "
                          "come, and no paths are opened: upload input and reference (POST "
                          "/v1/uploads), and let vrtd keep the output", vrt_job_file_names[i]);
    }
    return 0;
}

static int check_hwaccel(const struct vrt_call *call, const struct vrt_job_settings *settings,
                         struct vrt_error *error)
{
    const bool encodes = settings->hwaccel > VRT_HWACCEL_OFF;

    if ((!encodes && settings->hwdec <= VRT_HWDEC_OFF) ||
        vrt_access_may_hwaccel(call->api->access))
        return 0;
    vrt_error_set_field(error, encodes ? "hwaccel" : "hwdec");
    return vrt_refuse(error, vrt_raise(-EPERM), VRT_E(JOB_HWACCEL), "%s: software alone encodes "
                      "and decodes here, by hwaccel of [access] in vrtd.conf: leave it out, or say "
                      "off", encodes ? "hwaccel" : "hwdec");
}

void vrt_api_job_create(const struct vrt_call *call)
{
    const struct vrt_request *request = call->request;
    struct vrt_job_request wanted;
    struct vrt_error error = { .id = NULL };
    struct creation *creation = NULL;

    int r = vrt_job_request_parse(request->body, request->body_bytes, &wanted, &error);
    if (r == 0)
        r = vrt_api_check_web_files(request->peer, wanted.files, &error);
    if (r == 0)
        r = check_kept(&wanted, &error);
    if (r == 0)
        r = vrt_api_check_priority(call, wanted.priority, &error);
    if (r == 0)
        r = check_hwaccel(call, &wanted.settings, &error);
    if (r == 0 && !(creation = calloc(1, sizeof(*creation))))
        r = vrt_raise(-ENOMEM);
    if (r == 0)
        r = vrt_admission_submit(vrt_queue_admission(call->api->queue), &(struct vrt_submission){
            .request = &wanted,
            .peer = request->peer,
            .files = request->files,
            .admitted = on_admitted,
            .ctx = creation,
        }, &creation->job, &error);
    if (r < 0) {
        free(creation);
        vrt_refuse_errno(&error, r, "making a job");
        count(call->api, &error);
        vrt_conn_refuse(call->conn, &error);
        return;
    }
    creation->api = call->api;
    creation->is_dry_run = wanted.dry_run;
    creation->watch.gone = on_gone;
    vrt_conn_watch(call->conn, &creation->watch);
}

int vrt_api_check_priority(const struct vrt_call *call, int64_t priority, struct vrt_error *error)
{
    if (priority <= 0 || vrt_access_may_hurry(call->api->access, call->request->peer))
        return 0;
    vrt_error_set_field(error, "priority");
    return vrt_refuse(error, -EPERM, VRT_E(JOB_PRIORITY), "priorities over 0 are for "
                      "administrators of vrtd, and for the members of its priority_group "
                      "(vrtd.conf): 0 and less are everybody's");
}

/* What the query of a list may ask for. */
struct list_query {
    int64_t after, limit;
    bool active;                    /* only jobs that aren't over */
    bool mine;                      /* only those of whoever asks */
};

/* Of a page, also where few of them are wanted: the loop is everybody's. */
#define LIST_STEPS_MAX 5000

#define T struct list_query
static const struct vrt_field list_query_fields[] = {
    VRT_FIELD_INT(T, after, 0, 0, INT64_MAX),
    VRT_FIELD_INT(T, limit, 0, 1, VRT_API_LIST_MAX),
    VRT_FIELD_BOOL(T, active, 0),
    VRT_FIELD_BOOL(T, mine, 0),
    VRT_FIELDS_END,
};
#undef T

/* Appends what is listed of one job. */
static int list_one(struct vrt_job *job, enum vrt_job_view view, bool is_first,
                    struct vrt_buf *body)
{
    const struct vrt_buf *text = vrt_job_short_text(job, view);

    int r = text ? vrt_buf_append(body, ",", !is_first) : vrt_raise(-ENOMEM);
    return r < 0 ? vrt_fold(r) : vrt_buf_append(body, text->data, text->size_bytes);
}

static bool is_listed(const struct vrt_call *call, const struct list_query *query,
                      const struct vrt_job *job)
{
    return vrt_access_may_see(call->api->access, call->request->peer, job->uid) &&
           !(query->active && vrt_job_state_is_final(job->info.state)) &&
           !(query->mine && job->uid != call->request->peer->uid);
}

/* A page of the jobs, and behind which of them the next one begins. */
static int list_jobs(const struct vrt_call *call, const struct list_query *query,
                     struct vrt_buf *body)
{
    const struct vrt_jobs *jobs = vrt_queue_jobs(call->api->queue);
    struct vrt_job *job = vrt_jobs_after(jobs, query->after);
    int64_t n = 0, last_id = 0;

    int r = vrt_buf_printf(body, "{\"jobs\":[");
    for (int i = 0; r == 0 && job && i < LIST_STEPS_MAX; i++) {
        if (n == query->limit && is_listed(call, query, job))
            break;
        if (is_listed(call, query, job))
            r = list_one(job, view_of(call, job), n++ == 0, body);
        last_id = job->info.id;
        job = vrt_jobs_behind(jobs, job);
    }
    if (r < 0)
        return vrt_fold(r);
    return vrt_fold(job ? vrt_buf_printf(body, "],\"next\":%" PRId64 "}", last_id)
                        : vrt_buf_printf(body, "],\"next\":null}"));
}

void vrt_api_job_list(const struct vrt_call *call)
{
    struct list_query query = { .limit = VRT_API_LIST_MAX };
    struct vrt_error error = { .id = NULL };
    struct vrt_buf body = { .limit_bytes = VRT_API_RESPONSE_MAX_BYTES };

    if (vrt_query_parse(call->request->query, list_query_fields, &query, &error) < 0)
        vrt_conn_refuse(call->conn, &error);
    else
        vrt_api_reply(call->conn, list_jobs(call, &query, &body), &body, "listing the jobs");
}

struct vrt_job *vrt_api_find_job(const struct vrt_call *call)
{
    struct vrt_job *job = vrt_jobs_find(vrt_queue_jobs(call->api->queue), call->job_id);
    struct vrt_error error = { .id = NULL };

    if (job && vrt_access_may_see(call->api->access, call->request->peer, job->uid))
        return job;
    vrt_refuse(&error, -ENOENT, VRT_E(JOB_NOT_FOUND), "no job has the number %" PRId64,
               call->job_id);
    vrt_conn_refuse(call->conn, &error);
    return NULL;
}

void vrt_api_job_show(const struct vrt_call *call)
{
    struct vrt_job *job = vrt_api_find_job(call);

    if (!job)
        return;
    vrt_queue_refresh(call->api->queue, job);
    vrt_api_reply_job(call->conn, job, view_of(call, job));
}
