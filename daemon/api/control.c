/* SPDX-License-Identifier: MIT */
/*
 * What is done to jobs that are listed, by those who may: their owners and administrators. Each
 * route answers with the job, once what was done to it is in the store and no crash takes it back;
 * what the job still has in hand may take a moment longer. Resume and retry are in revive.c.
 */

#include "daemon/api/routes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "base/log.h"
#include "daemon/access/access.h"
#include "daemon/api/job-routes.h"
#include "daemon/jobs/control.h"
#include "daemon/jobs/job-store.h"
#include "daemon/jobs/queue.h"
#include "msg_log.h"

#define VRT_LOG_TOPIC "api"

static struct vrt_control *control_of(const struct vrt_call *call)
{
    return vrt_queue_control(call->api->queue);
}

struct vrt_job *vrt_api_find_own_job(const struct vrt_call *call)
{
    struct vrt_job *job = vrt_api_find_job(call);
    struct vrt_error error = { .id = NULL };

    if (!job || vrt_access_may_control(call->api->access, call->request->peer, job->uid))
        return job;
    vrt_refuse(&error, -EPERM, VRT_E(JOB_FORBIDDEN), "job %" PRId64 " is another user's: only he, "
               "root or a member of vrtd's admin group may do that", job->info.id);
    vrt_conn_refuse(call->conn, &error);
    return NULL;
}

/* An answer that waits for the store. */
struct answer {
    struct vrt_job_wait wait;
    struct vrt_conn_watch watch;
};

static void on_stored(struct vrt_job_wait *wait, struct vrt_job *job)
{
    struct answer *answer = vrt_container_of(wait, struct answer, wait);

    if (answer->watch.conn)
        vrt_api_reply_job(answer->watch.conn, job, VRT_JOB_VIEW_FULL);
    free(answer);
}

/* It was done all the same. */
static void on_gone(struct vrt_conn_watch *watch)
{
    (void)watch;
}

/* Answers with the job as it will be in the store, or with why it couldn't be done. */
static void reply(const struct vrt_call *call, struct vrt_job *job, int r, const char *done,
                  struct vrt_error *error)
{
    struct answer *answer = r < 0 ? NULL : calloc(1, sizeof(*answer));

    if (!answer) {
        vrt_refuse_errno(error, r < 0 ? r : vrt_raise(-ENOMEM), "controlling the job");
        vrt_conn_refuse(call->conn, error);
        return;
    }
    vrt_log_info("job %" PRId64 ": %s by uid %u", job->info.id, done,
                 (unsigned)call->request->peer->uid);
    answer->wait.stored = on_stored;
    answer->watch.gone = on_gone;
    vrt_conn_watch(call->conn, &answer->watch);
    vrt_job_store_await(job, &answer->wait);
}

void vrt_api_job_cancel(const struct vrt_call *call)
{
    struct vrt_job *job = vrt_api_find_own_job(call);
    struct vrt_error error = { .id = NULL };

    if (!job)
        return;
    int r = vrt_control_cancel(control_of(call), job);
    if (r == -EALREADY)
        vrt_refuse(&error, r, VRT_E(JOB_STATE), "job %" PRId64 " %s already", job->info.id,
                   vrt_job_state_phrases[job->info.state]);
    reply(call, job, r, "cancelled", &error);
}

void vrt_api_job_change(const struct vrt_call *call)
{
    struct vrt_job *job = vrt_api_find_own_job(call);
    struct vrt_error error = { .id = NULL };
    struct vrt_job_change change;

    if (!job)
        return;
    int r = vrt_job_change_parse(call->request->body, call->request->body_bytes, &change, &error);
    if (r == 0 && change.priority > job->info.priority)
        r = vrt_api_check_priority(call, change.priority, &error);
    if (r == 0)
        r = vrt_control_set_priority(control_of(call), job, (int)change.priority, &error);
    reply(call, job, r, "given another priority", &error);
}

void vrt_api_job_pause(const struct vrt_call *call)
{
    struct vrt_job *job = vrt_api_find_own_job(call);
    struct vrt_error error = { .id = NULL };

    if (job)
        reply(call, job, vrt_control_pause(control_of(call), job, &error), "paused", &error);
}

/* Unlike the others it answers at once: what a crash brings back, it takes from nobody. */
void vrt_api_job_forget(const struct vrt_call *call)
{
    struct vrt_buf body = { .limit_bytes = VRT_API_RESPONSE_MAX_BYTES };
    struct vrt_job *job = vrt_api_find_own_job(call);
    struct vrt_error error = { .id = NULL };

    if (!job)
        return;
    int r = vrt_job_print(job, VRT_JOB_VIEW_FULL, &body);
    int64_t id = job->info.id;
    if (r == 0)
        r = vrt_control_forget(control_of(call), job, &error);
    if (r == 0)
        vrt_log_info("job %" PRId64 ": removed from the list by uid %u", id,
                     (unsigned)call->request->peer->uid);
    if (error.id)
        vrt_conn_refuse(call->conn, &error);
    else
        vrt_api_reply(call->conn, r, &body, "printing the job");
    vrt_buf_done(&body);
}

struct log_answer {
    struct vrt_log_report report;
    int64_t job_id;
    int r;
};

static void take_record(void *ctx, const struct vrt_log_record *record)
{
    struct log_answer *answer = ctx;
    struct vrt_log_report *report = &answer->report;
    struct vrt_log_entry *entries;

    if (answer->r < 0 || record->job != answer->job_id)
        return;
    entries = reallocarray(report->lines, report->n_lines + 1, sizeof(*entries));
    /* Not raised: that would be logged. */
    if (!entries) {
        answer->r = -ENOMEM;
        return;
    }
    report->lines = entries;
    struct vrt_log_entry *entry = &entries[report->n_lines++];
    *entry = (struct vrt_log_entry){ .at = record->wall_ns, .level = (int)record->level };
    snprintf(entry->topic, sizeof(entry->topic), "%s", record->topic);
    snprintf(entry->text, sizeof(entry->text), "%s", record->text);
}

void vrt_api_job_log(const struct vrt_call *call)
{
    struct vrt_buf body = { .limit_bytes = VRT_API_RESPONSE_MAX_BYTES };
    struct log_answer answer = { .job_id = call->job_id };

    if (!vrt_api_find_own_job(call))
        return;
    vrt_log_recall(take_record, &answer);
    int r = answer.r;
    if (r == 0)
        r = vrt_fields_print(vrt_log_fields, &answer.report, &body);
    free(answer.report.lines);
    vrt_api_reply(call->conn, r, &body, "printing the log");
}
