/* SPDX-License-Identifier: MIT */

/* The parts of the daemon, made from its configuration, and configured anew. server.c has the order
 * in which they end. */

#include "daemon/service/server-impl.h"

#include <errno.h>

#include "backend/kind.h"
#include "base/log.h"
#include "daemon/access/access.h"
#include "daemon/access/accounts.h"
#include "daemon/access/media.h"
#include "daemon/access/quota.h"
#include "daemon/api/events.h"
#include "daemon/devices/pool.h"
#include "daemon/http/listener.h"
#include "daemon/jobs/queue.h"
#include "daemon/models/models.h"
#include "daemon/remote/remote.h"
#include "daemon/service/configured.h"
#include "daemon/service/limits.h"
#include "daemon/service/reload.h"
#include "daemon/service/service.h"
#include "daemon/service/setup.h"
#include "daemon/service/web.h"
#include "daemon/store/store.h"
#include "daemon/uploads/uploads.h"

#define VRT_LOG_TOPIC "server"

static void on_job_changed(void *ctx, struct vrt_job *job)
{
    struct vrt_server *server = ctx;

    /* The queue comes before the events, and a start may fail between the two. */
    if (server->api.events)
        vrt_events_job(server->api.events, job);
    if (server->params->once)
        server->params->once->job_changed(server->params->once->ctx, job);
}

static void on_segment_stored(void *ctx, struct vrt_job *job,
                              const struct vrt_segment_record *segment)
{
    struct vrt_server *server = ctx;
    const struct vrt_server_once *once = server->params->once;

    once->segment_stored(once->ctx, job, segment);
}

static int start_service(struct vrt_server *server, struct vrt_error *error)
{
    int r = vrt_service_new(&server->loop, &server->service);

    return r < 0 ? vrt_refuse_errno(error, vrt_fold(r), "starting") : 0;
}

static int start_quota(struct vrt_server *server, struct vrt_error *error)
{
    struct vrt_quota_limit limits[VRT_QUOTA_KIND_COUNT];

    vrt_limits_fill(&server->conf, limits);
    int r = vrt_quota_new(limits, &server->quota);

    server->api.quota = server->quota;
    return r < 0 ? vrt_refuse_errno(error, vrt_fold(r), "starting") : 0;
}

static void configure_access(struct vrt_server *server)
{
    vrt_access_set_admin_group(server->api.access, server->conf.access.admin_group);
    vrt_access_set_priority_group(server->api.access, server->conf.access.priority_group);
    vrt_access_set_hwaccel(server->api.access, server->conf.access.hwaccel);
}

static int start_access(struct vrt_server *server, struct vrt_error *error)
{
    int r = vrt_accounts_new(VRT_ACCOUNTS_USERS, &server->users);

    if (r == 0)
        r = vrt_accounts_new(VRT_ACCOUNTS_GROUPS, &server->groups);
    if (r == 0)
        r = vrt_access_new(server->groups, &server->api.access);
    if (r < 0)
        return vrt_refuse_errno(error, vrt_fold(r), "starting");
    server->api.users = server->users;
    configure_access(server);
    return 0;
}

static int start_store(struct vrt_server *server, struct vrt_error *error)
{
    int r = vrt_store_open(&(struct vrt_store_params){
        .loop = &server->loop,
        .folder = server->params->state_dir,
    }, &server->store, error);
    if (r < 0)
        return vrt_fold(r);
    server->api.instance = vrt_store_instance(server->store);
    return 0;
}

static int start_media(struct vrt_server *server, struct vrt_error *error)
{
    return vrt_fold(vrt_media_new(server->conf.access.media_roots, &server->media, error));
}

static int start_models(struct vrt_server *server, struct vrt_error *error)
{
    int r = vrt_models_new(&(struct vrt_models_params){
        .folder = server->params->models_dir,
        .default_name = server->conf.jobs.model,
    }, &server->models);

    server->api.models = server->models;
    return r < 0 ? vrt_refuse_errno(error, vrt_fold(r), "starting") : 0;
}

static struct vrt_remote_params remote_params(struct vrt_server *server)
{
    struct vrt_remote_params params = {
        .loop = &server->loop,
        .models = server->models,
        .models_dir = server->params->models_dir,
    };

    vrt_configured_remote(&server->conf, &params);
    return params;
}

static int start_remote(struct vrt_server *server, struct vrt_error *error)
{
    const struct vrt_remote_params params = remote_params(server);

    return vrt_fold(vrt_remote_new(&params, &server->api.remote, error));
}

static int start_pool(struct vrt_server *server, struct vrt_error *error)
{
    const struct vrt_conf *conf = &server->conf;
    const char *cache_dir = server->params->cache_dir;

    int r = vrt_pool_new(&(struct vrt_pool_params){
        .loop = &server->loop,
        .registry = {
            .values = conf->backend_values,
            .cache_dir = conf->devices.keep_kernels && cache_dir && cache_dir[0] ? cache_dir : NULL,
            .leave_out = (conf->devices.reference ? 0 : 1u << VRT_DEVICE_REFERENCE) |
                         (conf->devices.force_cpu ? 1u << VRT_DEVICE_ACCELERATOR : 0),
            .left_out_by = "force_cpu = on in [devices]",
            .fault = conf->devices.fault[0] ? conf->devices.fault : NULL,
        },
        .store = server->store,
        .memory_limit_bytes = conf->devices.memory_limit,
        .retry_s = (double)conf->devices.backoff_s,
        .patience_s = (double)conf->devices.patience_s,
        .silence_s = (double)conf->devices.silence_s,
    }, &server->api.pool, error);
    if (r < 0)
        return vrt_fold(r);
    vrt_limits_share_memory(conf, server->api.pool);
    return 0;
}

static struct vrt_queue_params queue_params(struct vrt_server *server)
{
    const struct vrt_server_once *once = server->params->once;
    struct vrt_queue_params params = {
        .loop = &server->loop,
        .pool = server->api.pool,
        .models = server->models,
        .quota = server->quota,
        .users = server->users,
        .media = server->media,
        .store = server->store,
        .remote = server->api.remote,
        .uploads = server->api.uploads,
        .fd_store = server->params->fd_store,
        .totals = &server->api.totals,
        .spool_fd = server->params->spool_fd,
        .part = once ? once->part : NULL,
        .changed = on_job_changed,
        .segment_stored = once ? on_segment_stored : NULL,
        .ctx = server,
    };

    vrt_configured_queue(&server->conf, &params);
    return params;
}

static int start_queue(struct vrt_server *server, struct vrt_error *error)
{
    const struct vrt_queue_params params = queue_params(server);

    vrt_queue_check_device(&params);
    return vrt_fold(vrt_queue_new(&params, &server->api.queue, error));
}

static int start_events(struct vrt_server *server, struct vrt_error *error)
{
    int r = vrt_events_new(&server->loop, server->api.pool, &server->api.events);

    return r < 0 ? vrt_refuse_errno(error, vrt_fold(r), "starting the events") : 0;
}

static int load_web(struct vrt_server *server, struct vrt_error *error)
{
    return vrt_fold(vrt_web_load(&server->conf, server->store, &server->api, error));
}

/* Each part takes what it follows of the configuration. Nothing can fail here: what may be wrong
 * with it was found when it was checked. */

static void configure_log(struct vrt_server *server)
{
    struct vrt_error error = { .id = NULL };

    if (vrt_setup_log(&server->conf, &error) < 0)
        vrt_log_error("the log stays where it was: %s", error.message);
}

static void configure_quota(struct vrt_server *server)
{
    struct vrt_quota_limit limits[VRT_QUOTA_KIND_COUNT];

    vrt_limits_fill(&server->conf, limits);
    vrt_quota_configure(server->quota, limits);
}

static void configure_models(struct vrt_server *server)
{
    if (vrt_models_set_default(server->models, server->conf.jobs.model) < 0)
        vrt_log_warning("the model of jobs that name none stays as it was: no memory");
}

static void configure_remote(struct vrt_server *server)
{
    const struct vrt_remote_params params = remote_params(server);

    vrt_remote_configure(server->api.remote, &params);
}

static void configure_pool(struct vrt_server *server)
{
    vrt_limits_share_memory(&server->conf, server->api.pool);
}

static void configure_queue(struct vrt_server *server)
{
    const struct vrt_queue_params params = queue_params(server);

    vrt_queue_check_device(&params);
    vrt_queue_configure(server->api.queue, &params);
}

void vrt_server_configure_api(struct vrt_server *server)
{
    server->api.fallback = vrt_configured_fallback(server->conf.devices.fallback);
    server->api.device = server->conf.jobs.device;
    server->api.precision = server->conf.jobs.precision;
    if (server->api.uploads)
        vrt_uploads_set_max(server->api.uploads, server->conf.web.max_upload);
}

static void on_configured(void *ctx)
{
    static void (*const configure_steps[])(struct vrt_server *server) = {
        configure_log, configure_quota, configure_access, configure_models, configure_remote,
        configure_pool, configure_queue, vrt_server_configure_api,
    };
    struct vrt_server *server = ctx;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(configure_steps); i++)
        configure_steps[i](server);
}

static int start_reload(struct vrt_server *server, struct vrt_error *error)
{
    int r = vrt_reload_new(&(struct vrt_reload_params){
        .loop = &server->loop,
        .conf = &server->conf,
        .read = server->params->reread,
        .read_ctx = server->params->reread_ctx,
        .changed = on_configured,
        .ctx = server,
    }, &server->reload);
    return r < 0 ? vrt_refuse_errno(error, vrt_fold(r), "starting") : 0;
}

int vrt_server_start_listener(struct vrt_server *server, int fd, struct vrt_error *error)
{
    struct vrt_listener_params params = {
        .loop = &server->loop,
        .quota = server->quota,
        .request = vrt_api_request,
        .ctx = &server->api,
    };

    vrt_conn_limits_init(&params.limits);
    int r = vrt_listener_new(fd, &params, &server->api.listener);
    return r < 0 ? vrt_refuse_errno(error, vrt_fold(r), "listening") : 0;
}

int vrt_server_start_parts(struct vrt_server *server, struct vrt_error *error)
{
    static int (*const steps[])(struct vrt_server *server, struct vrt_error *error) = {
        start_service, start_quota, start_access, start_media, start_store, load_web,
        start_models, start_remote, start_pool, start_queue, start_events, start_reload,
    };
    int r = 0;

    for (size_t i = 0; r == 0 && i < VRT_ARRAY_SIZE(steps); i++)
        r = steps[i](server, error);
    return vrt_fold(r);
}
