/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What answers the API's requests: a function per route (api.c has the table), and what they all
 * look into
 *
 * Thread: the loop's.
 */

#include <stdint.h>

#include "base/list.h"
#include "daemon/access/turns.h"
#include "daemon/http/conn.h"
#include "daemon/jobs/job.h"
#include "daemon/pipeline/pipeline.h"
#include "workers/plan/device-request.h"

struct uv_loop_s;
struct vrt_access;
struct vrt_accounts;
struct vrt_doctoring;
struct vrt_events;
struct vrt_gate;
struct vrt_listener;
struct vrt_models;
struct vrt_pool;
struct vrt_profiling;
struct vrt_queue;
struct vrt_quota;
struct vrt_remote;
struct vrt_status_jobs;
struct vrt_tokens;
struct vrt_uploads;

struct vrt_api {
    struct uv_loop_s *loop;
    struct vrt_queue *queue;        /* NULL: everything is being taken down */
    struct vrt_pool *pool;
    struct vrt_models *models;
    struct vrt_events *events;
    struct vrt_listener *listener;
    struct vrt_gate *gate;          /* of TCP; NULL: not yet, or no more */
    struct vrt_tokens *tokens;
    struct vrt_uploads *uploads;
    struct vrt_accounts *users;
    struct vrt_access *access;
    struct vrt_quota *quota;
    struct vrt_remote *remote;      /* NULL: likewise */
    /* Of profiles; the queue has its own. */
    enum vrt_fallback fallback;
    const char *device;             /* where one doesn't say */
    int precision;                  /* enum vrt_precision */
    struct vrt_profiling *profiling;    /* that goes on; NULL: none */
    struct vrt_doctoring *doctoring;    /* likewise */
    /* Of errands: those that go on, and that wait. */
    struct vrt_turns comparisons, previews, codecs;
    struct vrt_turns looks;             /* at inputs that are given again (revive.c) */
    const char *instance;           /* of the store: vrt_store_instance(); NULL: none */
    const char *state_dir;          /* NULL: there is none, as of spool_fd */
    int spool_fd;
    bool is_ending;                 /* jobs are being put back */
    int64_t started_ns, started_at; /* by the clock that doesn't jump, and by the other */
    /* Since then; GET /metrics tells of them. */
    int64_t n_requests;
    int64_t n_accepted;             /* jobs */
    int64_t n_refused[VRT_API_ERROR_COUNT];     /* likewise, by enum vrt_api_error_index */
    struct vrt_pipeline_totals totals;
};

/* It begins: nothing is counted yet. Its parts are the caller's to fill in. */
void vrt_api_begin(struct vrt_api *api);

/* A request of a route; `job_id` is from the path, -1 where it holds none. */
struct vrt_call {
    struct vrt_api *api;
    struct vrt_conn *conn;
    const struct vrt_request *request;
    int64_t job_id;
};

/* Answers one request: the listener's `request`, with the struct vrt_api as ctx. */
void vrt_api_request(void *api, struct vrt_conn *conn, const struct vrt_request *request);

/*
 * Answers 200 with `body`, which is empty afterwards; or, where printing it ended with r < 0,
 * refuses with "WHAT: why not".
 */
void vrt_api_reply(struct vrt_conn *conn, int r, struct vrt_buf *body, const char *what);

/* The same as `response` without a body is. */
void vrt_api_reply_as(struct vrt_conn *conn, int r, struct vrt_buf *body,
                      struct vrt_response response, const char *what);

/* The job that the path names; NULL: there is none, and the client was told. */
struct vrt_job *vrt_api_find_job(const struct vrt_call *call);

/* Whether the client may give a job this priority. Return: 0; -EPERM with `error`. */
int vrt_api_check_priority(const struct vrt_call *call, int64_t priority,
                           struct vrt_error *error);

/* Answers with the job in its long form. */
void vrt_api_reply_job(struct vrt_conn *conn, const struct vrt_job *job, enum vrt_job_view view);

/* The routes: each answers, watches or starts a stream. Those of jobs are in job-routes.h, those of
 * devices in device-routes.h. */
void vrt_api_status(const struct vrt_call *call);
void vrt_api_models(const struct vrt_call *call);
void vrt_api_model_pull(const struct vrt_call *call);
void vrt_api_codecs(const struct vrt_call *call);
void vrt_api_profile(const struct vrt_call *call);
void vrt_api_preview(const struct vrt_call *call);
void vrt_api_compare(const struct vrt_call *call);
void vrt_api_doctor(const struct vrt_call *call);
void vrt_api_events(const struct vrt_call *call);
void vrt_api_health(const struct vrt_call *call);
void vrt_api_metrics(const struct vrt_call *call);

/* How many connections are open, on the socket and by TCP. */
size_t vrt_api_n_conns(const struct vrt_api *api);

/* How many jobs are in which state, as GET /v1/status tells. */
void vrt_api_count_jobs(const struct vrt_api *api, struct vrt_status_jobs *ret_jobs);
