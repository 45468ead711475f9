/* SPDX-License-Identifier: MIT */
/*
 * From a request to the function that answers it, by a table; what isn't there, a query that a
 * route doesn't take and a body that isn't JSON are refused before. The status, which needs no more
 * than a few counts, is answered here. Thread: loop.
 */

#include "daemon/api/routes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api.h"
#include "base/clock.h"
#include "base/thread.h"
#include "daemon/api/device-routes.h"
#include "daemon/api/job-routes.h"
#include "daemon/api/web-routes.h"
#include "daemon/jobs/job.h"
#include "daemon/http/listener.h"
#include "daemon/devices/pool.h"
#include "daemon/jobs/queue.h"
#include "daemon/web/gate.h"
#include "msg_device.h"
#include "workers/plan/device-request.h"

static const struct {
    void (*answer)(const struct vrt_call *call);
    bool reads_body;                /* JSON is expected */
    bool reads_query;
} routes[VRT_API_ROUTE_COUNT] = {
    [VRT_API_JOB_CREATE] = { vrt_api_job_create, .reads_body = true },
    [VRT_API_JOB_LIST] = { vrt_api_job_list, .reads_query = true },
    [VRT_API_JOB_SHOW] = { vrt_api_job_show },
    [VRT_API_JOB_CHANGE] = { vrt_api_job_change, .reads_body = true },
    [VRT_API_JOB_CANCEL] = { vrt_api_job_cancel },
    [VRT_API_JOB_PAUSE] = { vrt_api_job_pause },
    [VRT_API_JOB_RESUME] = { vrt_api_job_resume, .reads_body = true },
    [VRT_API_JOB_RETRY] = { vrt_api_job_retry, .reads_body = true },
    [VRT_API_JOB_FORGET] = { vrt_api_job_forget },
    [VRT_API_JOB_LOG] = { vrt_api_job_log },
    [VRT_API_JOB_HISTORY] = { vrt_api_job_history },
    [VRT_API_STATUS] = { vrt_api_status },
    [VRT_API_DEVICES] = { vrt_api_devices },
    [VRT_API_DEVICES_TRIM] = { vrt_api_devices_trim, .reads_body = true },
    [VRT_API_DEVICES_HISTORY] = { vrt_api_devices_history, .reads_query = true },
    [VRT_API_MODELS] = { vrt_api_models },
    [VRT_API_MODEL_PULL] = { vrt_api_model_pull, .reads_body = true },
    [VRT_API_CODECS] = { vrt_api_codecs },
    [VRT_API_PROFILE] = { vrt_api_profile, .reads_body = true },
    [VRT_API_PREVIEW] = { vrt_api_preview, .reads_body = true },
    [VRT_API_COMPARE] = { vrt_api_compare, .reads_body = true },
    [VRT_API_DOCTOR] = { vrt_api_doctor, .reads_body = true },
    [VRT_API_EVENTS] = { vrt_api_events, .reads_query = true },
    [VRT_API_JOB_OUTPUT] = { vrt_api_job_output },
    [VRT_API_JOB_PREVIEW] = { vrt_api_job_preview },
    [VRT_API_UPLOAD_CREATE] = { vrt_api_upload_create },
    [VRT_API_UPLOAD_DROP] = { vrt_api_upload_drop },
    [VRT_API_TOKEN_CREATE] = { vrt_api_token_create, .reads_body = true },
    [VRT_API_TOKEN_LIST] = { vrt_api_token_list },
    [VRT_API_TOKEN_REVOKE] = { vrt_api_token_revoke },
    [VRT_API_SESSION_OPEN] = { vrt_api_session_open, .reads_body = true },
    [VRT_API_SESSION_SHOW] = { vrt_api_session_show },
    [VRT_API_SESSION_CLOSE] = { vrt_api_session_close },
    [VRT_API_HEALTH] = { vrt_api_health },
    [VRT_API_METRICS] = { vrt_api_metrics },
};

/* Inputs that are looked at, previews that are made, and codecs that are tried, at a time: each
 * takes a thread, and its file may be made to be slow. */
#define LOOKS_MAX 2
#define LOOKS_PER_USER_MAX 1
#define PREVIEWS_MAX 2
#define PREVIEWS_PER_USER_MAX 1
#define COMPARISONS_MAX 1
#define COMPARISONS_PER_USER_MAX 1
#define CODECS_MAX 2
#define CODECS_PER_USER_MAX 1

void vrt_api_begin(struct vrt_api *api)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    api->started_ns = vrt_clock_now_ns();
    api->started_at = vrt_clock_wall_ns();
    vrt_turns_init(&api->previews, PREVIEWS_MAX, PREVIEWS_PER_USER_MAX);
    vrt_turns_init(&api->comparisons, COMPARISONS_MAX, COMPARISONS_PER_USER_MAX);
    vrt_turns_init(&api->looks, LOOKS_MAX, LOOKS_PER_USER_MAX);
    vrt_turns_init(&api->codecs, CODECS_MAX, CODECS_PER_USER_MAX);
}

/* Nothing is there for this method: says which methods there are, or that there is nothing. */
static void refuse_route(struct vrt_conn *conn, const struct vrt_request *request)
{
    char methods[64], header[128], shown[256];
    struct vrt_error error = { .id = NULL };

    vrt_printable(request->path, shown, sizeof(shown));
    vrt_api_route_allow(request->path, methods, sizeof(methods));
    if (!methods[0]) {
        vrt_refuse(&error, -ENOENT, VRT_E(ROUTE_NOT_FOUND), "nothing is at %s", shown);
        vrt_conn_refuse(conn, &error);
        return;
    }
    snprintf(header, sizeof(header), "Allow: %s", methods);
    if (strcmp(request->method, "OPTIONS") == 0) {
        vrt_conn_reply(conn, &(struct vrt_response){ .status = 204, .header = header });
        return;
    }
    vrt_refuse(&error, -EOPNOTSUPP, VRT_E(ROUTE_METHOD), "%s has no method %s, only %s", shown,
               request->method, methods);
    vrt_conn_refuse_with(conn, &error, header);
}

/* Whether the request has what its route doesn't take; it is refused then. */
static bool refuse_extras(struct vrt_conn *conn, const struct vrt_request *request,
                          enum vrt_api_route_id route)
{
    struct vrt_error error = { .id = NULL };

    if (request->query[0] && !routes[route].reads_query)
        vrt_refuse(&error, -EINVAL, VRT_E(REQUEST_QUERY), "this path takes no query");
    else if (routes[route].reads_body && !request->is_json)
        vrt_refuse(&error, -EINVAL, VRT_E(HTTP_NOT_JSON),
                   "the body must be JSON: send it with Content-Type: application/json");
    else
        return false;
    vrt_conn_refuse(conn, &error);
    return true;
}

/* The queue is gone, and this connection soon. */
static void refuse_at_end(struct vrt_conn *conn)
{
    struct vrt_error error = { .id = NULL };

    vrt_refuse(&error, -ESHUTDOWN, VRT_E(SHUTTING_DOWN), "vrtd is about to end");
    vrt_conn_refuse(conn, &error);
}

void vrt_api_request(void *ctx, struct vrt_conn *conn, const struct vrt_request *request)
{
    struct vrt_api *api = ctx;
    enum vrt_api_route_id route;
    long long job_id;

    vrt_assert_thread(VRT_THREAD_LOOP);
    api->n_requests++;
    if (!api->queue)
        refuse_at_end(conn);
    else if (vrt_api_route_find(request->method, request->path, &route, &job_id) < 0)
        refuse_route(conn, request);
    else if (!refuse_extras(conn, request, route))
        routes[route].answer(&(struct vrt_call){
            .api = api,
            .conn = conn,
            .request = request,
            .job_id = job_id,
        });
}

void vrt_api_reply(struct vrt_conn *conn, int r, struct vrt_buf *body, const char *what)
{
    vrt_api_reply_as(conn, r, body, (struct vrt_response){ .status = 200 }, what);
}

void vrt_api_reply_as(struct vrt_conn *conn, int r, struct vrt_buf *body,
                      struct vrt_response response, const char *what)
{
    struct vrt_error error = { .id = NULL };

    if (r < 0) {
        vrt_refuse_errno(&error, vrt_fold(r), what);
        vrt_conn_refuse(conn, &error);
    } else {
        response.body = body->data;
        response.body_bytes = body->size_bytes;
        vrt_conn_reply(conn, &response);
    }
    vrt_buf_done(body);
}

size_t vrt_api_n_conns(const struct vrt_api *api)
{
    return vrt_listener_n_conns(api->listener) + (api->gate ? vrt_gate_n_conns(api->gate) : 0);
}

void vrt_api_count_jobs(const struct vrt_api *api, struct vrt_status_jobs *ret_jobs)
{
    const struct vrt_jobs *jobs = vrt_queue_jobs(api->queue);

    *ret_jobs = (struct vrt_status_jobs){
        .queued = jobs->counts[VRT_JOB_QUEUED],
        .fetching = jobs->counts[VRT_JOB_FETCHING],
        .running = vrt_jobs_n_running(jobs),
        .paused = jobs->counts[VRT_JOB_PAUSED],
        .needs_input = jobs->counts[VRT_JOB_NEEDS_INPUT],
        .disk_full = jobs->counts[VRT_JOB_DISK_FULL],
        .done = jobs->counts[VRT_JOB_DONE],
        .failed = jobs->counts[VRT_JOB_FAILED],
        .cancelled = jobs->counts[VRT_JOB_CANCELLED],
    };
}

void vrt_api_status(const struct vrt_call *call)
{
    const struct vrt_api *api = call->api;
    struct vrt_status_device devices[VRT_DEVICES_MAX];
    struct vrt_device_snapshot device;
    struct vrt_buf body = { .limit_bytes = VRT_API_RESPONSE_MAX_BYTES };
    struct vrt_status_report report = {
        .pid = getpid(),
        .uptime_s = (double)(vrt_clock_now_ns() - api->started_ns) / VRT_NS_PER_S,
        .devices = devices,
        .n_devices = VRT_MIN(vrt_pool_n_devices(api->pool), VRT_ARRAY_SIZE(devices)),
        .requests = api->n_requests,
        .connections = (int64_t)vrt_api_n_conns(api),
    };

    snprintf(report.version, sizeof(report.version), "%s", VRT_VERSION);
    snprintf(report.instance, sizeof(report.instance), "%s", api->instance ? api->instance : "");
    vrt_api_count_jobs(api, &report.jobs);
    for (size_t i = 0; i < report.n_devices; i++) {
        vrt_pool_device(api->pool, i, &device);
        devices[i] = (struct vrt_status_device){ .state = device.state };
        snprintf(devices[i].name, sizeof(devices[i].name), "%s", device.info->name);
    }
    vrt_api_reply(call->conn, vrt_fields_print(vrt_status_fields, &report, &body), &body,
                  "telling the status");
}
