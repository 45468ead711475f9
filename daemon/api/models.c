/* SPDX-License-Identifier: MIT */

/*
 * GET and POST /v1/models. The folder is read by a thread; what is on its way there, what the
 * catalogue holds besides, and which weights are on which devices, is added by the loop.
 */

#include "daemon/api/routes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "api.h"
#include "base/buf.h"
#include "base/log.h"
#include "daemon/access/access.h"
#include "daemon/models/models.h"
#include "daemon/devices/pool.h"
#include "daemon/remote/remote.h"
#include "engine/replica.h"

#define VRT_LOG_TOPIC "api"

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

static const int held_states[VRT_REPLICA_STATE_COUNT] = {
    [VRT_REPLICA_PACKING] = VRT_HELD_PACKING, [VRT_REPLICA_COPYING] = VRT_HELD_COPYING,
    [VRT_REPLICA_READY] = VRT_HELD_READY,     [VRT_REPLICA_IN_USE] = VRT_HELD_IN_USE,
    [VRT_REPLICA_IDLE] = VRT_HELD_IDLE,
};

static void describe(const struct vrt_replica_entry *entry, const struct listing *listing,
                     struct vrt_held_report *ret_report)
{
    vrt_held_report_init(ret_report);
    snprintf(ret_report->device, sizeof(ret_report->device), "%s", entry->device);
    snprintf(ret_report->checksum, sizeof(ret_report->checksum), "%016" PRIx64, entry->weights);
    snprintf(ret_report->precision, sizeof(ret_report->precision), "%s",
             vrt_dtype_name(entry->dtype));
    ret_report->bytes = entry->bytes;
    ret_report->state = held_states[entry->state];
    for (size_t i = 0; i < listing->n_reports && !ret_report->model[0]; i++)
        if (strcmp(listing->reports[i].checksum, ret_report->checksum) == 0)
            snprintf(ret_report->model, sizeof(ret_report->model), "%s",
                     listing->reports[i].name);
}

static int print_replicas(const struct listing *listing, struct vrt_buf *body)
{
    VRT_CLEANUP(vrt_freep) struct vrt_replica_entry *entries = NULL;
    struct vrt_held_report report;
    size_t n = 0;

    int r = listing->api->pool ? vrt_pool_replicas(listing->api->pool, &entries, &n) : 0;
    for (size_t i = 0; r == 0 && i < n; i++) {
        describe(&entries[i], listing, &report);
        r = vrt_buf_append(body, ",", i > 0);
        if (r < 0)
            return vrt_fold(r);
        r = vrt_fields_print(vrt_held_fields, &report, body);
    }
    return vrt_fold(r);
}

static void reply_list(struct vrt_conn *conn, const struct listing *listing)
{
    struct vrt_buf body = { .limit_bytes = VRT_API_RESPONSE_MAX_BYTES };

    int r = vrt_buf_printf(&body, "{\"models\":[");
    for (size_t i = 0; r == 0 && i < listing->n_reports; i++) {
        r = vrt_buf_append(&body, ",", i > 0);
        if (r == 0)
            r = vrt_fields_print(vrt_model_fields, &listing->reports[i], &body);
    }
    if (r == 0)
        r = vrt_buf_printf(&body, "],\"replicas\":[");
    if (r == 0)
        r = print_replicas(listing, &body);
    if (r == 0)
        r = vrt_buf_append(&body, "]}", 2);
    vrt_api_reply(conn, r, &body, "printing the models");
}

static void on_listed(uv_work_t *work, int status)
{
    struct listing *listing = work->data;
    struct vrt_error error = { .id = NULL };
    struct vrt_conn *conn = listing->watch.conn;
    int r = listing->result;

    (void)status;
    if (r == 0 && conn && listing->api->remote)
        r = vrt_remote_report_models(listing->api->remote, &listing->reports,
                                     &listing->n_reports);
    if (conn && r < 0) {
        vrt_refuse_errno(&error, r, "listing the models");
        vrt_conn_refuse(conn, &error);
    } else if (conn) {
        reply_list(conn, listing);
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

    if (!listing) {
        vrt_refuse_errno(&error, vrt_raise(-ENOMEM), "listing the models");
        vrt_conn_refuse(call->conn, &error);
        return;
    }
    listing->api = call->api;
    listing->work.data = listing;
    listing->watch.gone = on_gone;
    int r = uv_queue_work(call->api->loop, &listing->work, list, on_listed);
    vrt_assert(r == 0);
    vrt_conn_watch(call->conn, &listing->watch);
}

void vrt_api_model_pull(const struct vrt_call *call)
{
    const struct vrt_request *request = call->request;
    struct vrt_buf body = { .limit_bytes = VRT_API_RESPONSE_MAX_BYTES };
    struct vrt_error error = { .id = NULL };
    struct vrt_model_request wanted;
    struct vrt_model_report report;

    int r = vrt_model_request_parse(request->body, request->body_bytes, &wanted, &error);
    if (r == 0 && !vrt_access_is_admin(call->api->access, request->peer))
        r = vrt_refuse(&error, vrt_raise(-EPERM), VRT_E(MODEL_FORBIDDEN),
                       "models are pulled by administrators only: root, the user that vrtd runs "
                       "as, and the admin group");
    if (r == 0)
        r = vrt_remote_pull(call->api->remote, &wanted, &report, &error);
    if (r < 0) {
        vrt_refuse_errno(&error, r, "pulling a model");
        vrt_conn_refuse(call->conn, &error);
        return;
    }
    vrt_log_info("the model %s was asked for by uid %u", report.name, (unsigned)request->peer->uid);
    vrt_api_reply_as(call->conn, vrt_fields_print(vrt_model_fields, &report, &body), &body,
                     (struct vrt_response){ .status = 202 }, "pulling a model");
}
