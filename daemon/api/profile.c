/* SPDX-License-Identifier: MIT */

/*
 * POST /v1/profile: the model is found on a thread, then the profile runs on its device; the client
 * waits for the answer, and who goes away stops it. One at a time: two would only be in each
 * other's way.
 */

#include "daemon/api/routes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

#include "api.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "daemon/access/descriptors.h"
#include "daemon/api/web-routes.h"
#include "daemon/jobs/job-report.h"
#include "daemon/models/models.h"
#include "daemon/devices/measurements.h"
#include "daemon/devices/profile.h"
#include "msg_plan.h"

#define VRT_LOG_TOPIC "api"

/* A client that waits for a profile. */
struct vrt_profiling {
    struct vrt_api *api;
    struct vrt_profile_request request;
    struct vrt_conn_watch watch;
    uv_work_t work;
    struct vrt_profile *profile;            /* NULL: the model is being looked for */
    bool is_gone;
    int model_fd;                           /* -1: none */
    uid_t uid;
    uid_t kept_for;                         /* where it is to be kept */
    /* by the work's thread, then the loop's */
    struct vrt_network *network;
    struct vrt_error error;
};

static void profiling_free(struct vrt_profiling *profiling)
{
    profiling->api->profiling = NULL;
    vrt_network_unref(profiling->network);
    vrt_closep(&profiling->model_fd);
    free(profiling);
}

/* The client is told, if it is still there. */
static void end(struct vrt_profiling *profiling, const struct vrt_profile_report *report,
                const struct vrt_error *error)
{
    struct vrt_buf body = { .limit_bytes = VRT_API_RESPONSE_MAX_BYTES };
    struct vrt_conn *conn = profiling->watch.conn;

    if (conn && error)
        vrt_conn_refuse(conn, error);
    else if (conn)
        vrt_api_reply(conn, vrt_fields_print(vrt_profile_fields, report, &body), &body,
                      "printing the profile");
    profiling_free(profiling);
}

static void on_done(void *ctx, const struct vrt_profile_report *report,
                    const struct vrt_error *error)
{
    end(ctx, report, error);
}

static void on_gone(struct vrt_conn_watch *watch)
{
    struct vrt_profiling *profiling = vrt_container_of(watch, struct vrt_profiling, watch);

    vrt_log_info("a profile is stopped: its client went away");
    profiling->is_gone = true;
    if (profiling->profile)
        vrt_profile_cancel(profiling->profile);
}

static const char *model_name(const struct vrt_profiling *profiling)
{
    const char *name = profiling->request.model.name;

    return name[0] ? name : vrt_models_default(profiling->api->models);
}

static void find_model(uv_work_t *work)
{
    struct vrt_profiling *profiling = work->data;
    struct vrt_models *models = profiling->api->models;
    const char *name = model_name(profiling);

    int r = profiling->model_fd >= 0 ?
        vrt_models_read(models, &(struct vrt_models_file){ profiling->model_fd, name,
                                                           profiling->uid },
                        &profiling->network, &profiling->error) :
        vrt_models_find(models, name, &profiling->network, &profiling->error);
    if (r < 0)
        vrt_error_set_field(&profiling->error, "model");
}

static void on_model_found(uv_work_t *work, int status)
{
    struct vrt_profiling *profiling = work->data;
    const struct vrt_profile_request *request = &profiling->request;
    struct vrt_error error = profiling->error;
    int r = profiling->network ? 0 : -ENOENT;

    (void)status;
    if (r == 0 && profiling->is_gone)
        r = -ECANCELED;
    if (r == 0)
        r = vrt_profile_new(profiling->api->pool, &(struct vrt_profile_params){
            .network = profiling->network,
            .model_name = model_name(profiling),
            .devices = request->device,
            .fallback = profiling->api->fallback,
            .settings = &request->settings,
            .width = (int)request->width,
            .height = (int)request->height,
            .batch = request->batch == VRT_UNKNOWN ? 0 : (int)request->batch,
            .frames = request->frames == VRT_UNKNOWN ? 0 : (int)request->frames,
            .keeps_for = request->keep ? &profiling->kept_for : NULL,
            .done = on_done,
            .ctx = profiling,
        }, &profiling->profile, &error);
    if (r < 0)
        end(profiling, NULL, &error);
}

/* What jobs have by default, profiles have. */
static void settle(const struct vrt_api *api, struct vrt_profile_request *request)
{
    if (!request->device[0])
        snprintf(request->device, sizeof(request->device), "%s", api->device);
    if (request->settings.precision == VRT_UNKNOWN)
        request->settings.precision = api->precision;
}

void vrt_api_profile(const struct vrt_call *call)
{
    const struct vrt_request *request = call->request;
    struct vrt_error error = { .id = NULL };
    struct vrt_profiling *profiling;
    int r;

    if (vrt_api_refuse_web_user(call))
        return;
    if (call->api->profiling) {
        vrt_refuse(&error, -EBUSY, VRT_E(PROFILE_BUSY),
                   "another model is being profiled: try again when that is done");
        vrt_conn_refuse(call->conn, &error);
        return;
    }
    profiling = calloc(1, sizeof(*profiling));
    if (!profiling) {
        vrt_refuse_errno(&error, vrt_raise(-ENOMEM), "making a profile");
        vrt_conn_refuse(call->conn, &error);
        return;
    }
    profiling->api = call->api;
    profiling->model_fd = -1;
    profiling->uid = request->peer->uid;
    profiling->kept_for = vrt_access_is_admin(call->api->access, request->peer) ?
                          VRT_MEASURED_FOR_ALL : request->peer->uid;
    profiling->work.data = profiling;
    profiling->watch.gone = on_gone;
    r = vrt_profile_request_parse(request->body, request->body_bytes, &profiling->request, &error);
    if (r == 0)
        settle(call->api, &profiling->request);
    if (r == 0)
        r = vrt_descriptors_take(request->files, profiling->request.model.fd, "model.fd",
                                 &profiling->model_fd, &error);
    if (r < 0) {
        vrt_refuse_errno(&error, r, "making a profile");
        vrt_conn_refuse(call->conn, &error);
        profiling_free(profiling);
        return;
    }
    call->api->profiling = profiling;
    r = uv_queue_work(call->api->loop, &profiling->work, find_model, on_model_found);
    vrt_assert(r == 0);
    vrt_conn_watch(call->conn, &profiling->watch);
}
