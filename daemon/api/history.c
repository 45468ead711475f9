/* SPDX-License-Identifier: MIT */
/*
 * GET /v1/jobs/{id}/history, and GET /v1/devices/history?after=N: what plots are drawn from.
 * Whoever sees how far a job is may know how it got there. Thread: loop.
 */

#include "daemon/api/routes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "api.h"
#include "base/cleanup.h"
#include "daemon/api/device-routes.h"
#include "daemon/api/job-routes.h"
#include "daemon/devices/device-history.h"
#include "daemon/devices/pool.h"
#include "daemon/jobs/queue.h"
#include "history/msg_history.h"
#include "workers/plan/device-request.h"

void vrt_api_job_history(const struct vrt_call *call)
{
    struct vrt_buf body = { .limit_bytes = VRT_API_RESPONSE_MAX_BYTES };
    struct vrt_job *job = vrt_api_find_job(call);

    if (!job)
        return;
    vrt_queue_refresh(call->api->queue, job);
    vrt_api_reply(call->conn, vrt_job_history_print(&job->history, &body), &body,
                  "printing the job's history");
}

struct history_query {
    int64_t after;                  /* the number of the last point that the client has */
};

static const struct vrt_field history_query_fields[] = {
    VRT_FIELD_INT(struct history_query, after, 0, 0, INT64_MAX),
    VRT_FIELDS_END,
};

static int print_devices(const struct vrt_pool *pool, int64_t after,
                         struct vrt_device_history_point *points, struct vrt_buf *body)
{
    struct vrt_device_history_report reports[VRT_DEVICES_MAX];
    struct vrt_devices_history_report report = {
        .period_s = VRT_API_DEVICE_HISTORY_PERIOD_S,
        .devices = reports,
        .n_devices = VRT_MIN(vrt_pool_n_devices(pool), VRT_ARRAY_SIZE(reports)),
    };
    size_t n_infos;
    const struct vrt_device_info *const *infos = vrt_pool_infos(pool, &n_infos);

    for (size_t d = 0; d < report.n_devices; d++) {
        const struct vrt_device_history *history = vrt_pool_history(pool, d);
        struct vrt_device_history_report *one = &reports[d];
        one->points = points + d * VRT_API_DEVICE_HISTORY_POINTS;
        one->n_points = vrt_device_history_points(history, after, one->points);
        snprintf(one->name, sizeof(one->name), "%s", infos[d]->name);
        report.last = history->n_points;
    }
    return vrt_fold(vrt_fields_print(vrt_devices_history_fields, &report, body));
}

void vrt_api_devices_history(const struct vrt_call *call)
{
    const struct vrt_pool *pool = call->api->pool;
    VRT_CLEANUP(vrt_freep) struct vrt_device_history_point *points = NULL;
    struct vrt_buf body = { .limit_bytes = VRT_API_RESPONSE_MAX_BYTES };
    struct history_query query = { .after = 0 };
    struct vrt_error error = { .id = NULL };

    int r = vrt_query_parse(call->request->query, history_query_fields, &query, &error);
    if (r == 0) {
        points = calloc(vrt_pool_n_devices(pool) + 1,
                        sizeof(*points) * VRT_API_DEVICE_HISTORY_POINTS);
        if (!points)
            r = vrt_refuse_errno(&error, vrt_raise(-ENOMEM), "printing the devices' history");
    }
    if (r < 0)
        vrt_conn_refuse(call->conn, &error);
    else
        vrt_api_reply(call->conn, print_devices(pool, query.after, points, &body), &body,
                      "printing the devices' history");
}
