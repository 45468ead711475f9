/* SPDX-License-Identifier: MIT */

#include "daemon/device-report.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

#include "api.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "daemon/models.h"
#include "daemon/routes.h"

void vrt_device_report_fill(const struct vrt_device_snapshot *device,
                            struct vrt_device_report *ret_report)
{
    const struct vrt_device_info *info = device->info;

    vrt_device_report_init(ret_report);
    snprintf(ret_report->name, sizeof(ret_report->name), "%s", info->name);
    snprintf(ret_report->kind, sizeof(ret_report->kind), "%s", vrt_device_kind_name(info->kind));
    snprintf(ret_report->description, sizeof(ret_report->description), "%s", info->description);
    snprintf(ret_report->last_error, sizeof(ret_report->last_error), "%s", device->last_error);
    ret_report->state = device->state;
    ret_report->threads = info->n_threads > 0 ? info->n_threads : VRT_UNKNOWN;
    ret_report->memory = (struct vrt_device_usage){
        .total_bytes = device->memory_total_bytes,
        .free_bytes = device->memory_free_bytes,
        .replica_bytes = device->replica_bytes,
        .workspace_bytes = device->workspace_bytes,
        .peak_bytes = device->peak_bytes,
    };
    ret_report->shards_done = device->shards_done;
    ret_report->shards_failed = device->shards_failed;
    ret_report->seconds_per_shard = device->shard_s > 0 ? device->shard_s : NAN;
}

/* Reports of one kind, for an answer {"KEY":[...]}. */
struct reports {
    const char *key;
    const struct vrt_field *fields;
    const void *items;
    size_t item_bytes, n;
};

static void reply_list(struct vrt_conn *conn, const struct reports *reports)
{
    struct vrt_buf body = { .limit_bytes = VRT_API_RESPONSE_MAX_BYTES };
    const char *item = reports->items;

    int r = vrt_buf_printf(&body, "{\"%s\":[", reports->key);
    for (size_t i = 0; r == 0 && i < reports->n; i++, item += reports->item_bytes) {
        r = vrt_buf_append(&body, ",", i > 0);
        if (r == 0)
            r = vrt_fields_print(reports->fields, item, &body);
    }
    if (r == 0)
        r = vrt_buf_append(&body, "]}", 2);
    vrt_api_reply(conn, r, &body, "printing a list");
}

void vrt_api_devices(const struct vrt_call *call)
{
    struct vrt_pool *pool = call->api->pool;
    size_t n = vrt_pool_n_devices(pool);
    VRT_CLEANUP(vrt_freep) struct vrt_device_report *reports = calloc(n + 1, sizeof(*reports));
    struct vrt_device_snapshot device;
    struct vrt_error error = { .id = NULL };

    if (!reports) {
        vrt_refuse_errno(&error, vrt_raise(-ENOMEM), "listing the devices");
        vrt_conn_refuse(call->conn, &error);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        vrt_pool_device(pool, i, &device);
        vrt_device_report_fill(&device, &reports[i]);
    }
    reply_list(call->conn, &(struct reports){
        .key = "devices",
        .fields = vrt_device_fields,
        .items = reports,
        .item_bytes = sizeof(*reports),
        .n = n,
    });
}

/* A list of models that a thread is making. */
struct listing {
    struct vrt_api *api;
    struct vrt_conn_watch watch;
    uv_work_t work;
    /* by the thread, then the loop */
    struct vrt_model_report *reports;
    size_t n_reports;
    int result;
};

static void list(uv_work_t *work)
{
    struct listing *listing = work->data;

    listing->result = vrt_models_list(listing->api->models, &listing->reports,
                                      &listing->n_reports);
}

static void on_listed(uv_work_t *work, int status)
{
    struct listing *listing = work->data;
    struct vrt_error error = { .id = NULL };
    struct vrt_conn *conn = listing->watch.conn;
    int r = status < 0 ? status : listing->result;

    if (conn && r < 0) {
        vrt_refuse_errno(&error, r, "listing the models");
        vrt_conn_refuse(conn, &error);
    } else if (conn) {
        reply_list(conn, &(struct reports){
            .key = "models",
            .fields = vrt_model_fields,
            .items = listing->reports,
            .item_bytes = sizeof(*listing->reports),
            .n = listing->n_reports,
        });
    }
    free(listing->reports);
    free(listing);
}

/* The client vanished: the thread still runs, and its result is thrown away. */
static void on_gone(struct vrt_conn_watch *watch)
{
    (void)watch;
}

void vrt_api_models(const struct vrt_call *call)
{
    struct vrt_error error = { .id = NULL };
    struct listing *listing = calloc(1, sizeof(*listing));

    int r = listing ? 0 : vrt_raise(-ENOMEM);
    if (r == 0) {
        listing->api = call->api;
        listing->work.data = listing;
        listing->watch.gone = on_gone;
        r = uv_queue_work(call->api->loop, &listing->work, list, on_listed);
    }
    if (r < 0) {
        free(listing);
        vrt_refuse_errno(&error, r, "listing the models");
        vrt_conn_refuse(call->conn, &error);
        return;
    }
    vrt_conn_watch(call->conn, &listing->watch);
}
