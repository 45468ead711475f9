/* SPDX-License-Identifier: MIT */

/*
 * Everything is made before the loop first turns, and the listener last: no client is heard while
 * something it may ask for is missing. Going down each part says when it is gone, and only then
 * the next begins:
 *
 *     notices    first, with what else is sent and fetched for others than jobs: whose end is told
 *                of no longer, but by the next start
 *     jobs       while there are devices to bring them to a good place, a store to keep it,
 *                and readers to tell
 *     remote     what jobs had fetched
 *     events     after the last job's last event; each stream gets its rest, then its end
 *     pool       its threads may still be in a driver's call: this can take a while
 *     store      after the last figure that the pool measured; rows are written all along
 *     gate       what came by TCP: its tokens are in the store
    listener   stays so long, because a client is better off with "about to end" than with none
 *     signals    until the end, so that a second one is heard whatever the first one waits for,
 *                and so that the service manager is kept patient
 *
 * With the last handle closed uv_run() returns; that the loop then closes clean is checked at each
 * end of the daemon, not only by tests. A start that failed half way goes down the same steps,
 * each of which knows that its part may not be there.
 */

#include "daemon/service/server.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#include <uv.h>

#include "backend/kind.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "config/conf.h"
#include "daemon/access/access.h"
#include "daemon/access/accounts.h"
#include "daemon/api/events.h"
#include "daemon/jobs/job.h"
#include "daemon/service/configured.h"
#include "daemon/service/limits.h"
#include "daemon/service/web.h"
#include "daemon/http/listener.h"
#include "daemon/access/media.h"
#include "daemon/models/models.h"
#include "daemon/systemd/notify.h"
#include "daemon/devices/pool.h"
#include "daemon/jobs/queue.h"
#include "daemon/access/quota.h"
#include "daemon/service/reload.h"
#include "daemon/remote/remote.h"
#include "daemon/api/routes.h"
#include "daemon/service/service.h"
#include "daemon/service/setup.h"
#include "daemon/store/store.h"
#include "daemon/uploads/uploads.h"
#include "daemon/web/gate.h"
#include "daemon/web/tokens.h"

#define VRT_LOG_TOPIC "server"

#define N_SIGNALS 3

/* Threads of libuv's for what takes long: admissions, looks at models, previews, sweeps of the
 * spool, all of which may be at work at a time. */
#define POOL_THREADS "16"

struct server {
    const struct vrt_server_params *params;
    struct vrt_conf conf;           /* as it is in force: everybody's texts point into this one */
    uv_loop_t loop;
    uv_signal_t signals[N_SIGNALS];
    int n_signals;                  /* that are being listened for */
    struct vrt_service *service;
    struct vrt_reload *reload;
    struct vrt_quota *quota;
    struct vrt_store *store;
    struct vrt_models *models;
    struct vrt_accounts *users, *groups;
    struct vrt_media *media;
    struct vrt_api api;             /* with the pool, the queue, the events, the listener */
    bool stopping, hurried;
    int step;                       /* of stop_steps, that goes on */
};

static void stop_next(void *ctx);

static void on_job_changed(void *ctx, struct vrt_job *job)
{
    struct server *server = ctx;

    /* The queue comes before the events, and a start may fail between the two. */
    if (server->api.events)
        vrt_events_job(server->api.events, job);
}

static int start_service(struct server *server, struct vrt_error *error)
{
    int r = vrt_service_new(&server->loop, &server->service);

    return r < 0 ? vrt_refuse_errno(error, vrt_fold(r), "starting") : 0;
}

static int start_quota(struct server *server, struct vrt_error *error)
{
    struct vrt_quota_limit limits[VRT_QUOTA_KIND_COUNT];

    vrt_limits_fill(&server->conf, limits);
    int r = vrt_quota_new(limits, &server->quota);

    server->api.quota = server->quota;
    return r < 0 ? vrt_refuse_errno(error, vrt_fold(r), "starting") : 0;
}

static int start_access(struct server *server, struct vrt_error *error)
{
    int r = vrt_accounts_new(VRT_ACCOUNTS_USERS, &server->users);

    if (r == 0)
        r = vrt_accounts_new(VRT_ACCOUNTS_GROUPS, &server->groups);
    if (r == 0)
        r = vrt_access_new(server->groups, &server->api.access);
    if (r < 0)
        return vrt_refuse_errno(error, vrt_fold(r), "starting");
    server->api.users = server->users;
    vrt_access_set_admin_group(server->api.access, server->conf.access.admin_group);
    vrt_access_set_priority_group(server->api.access, server->conf.access.priority_group);
    return 0;
}

static int start_store(struct server *server, struct vrt_error *error)
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

static int start_media(struct server *server, struct vrt_error *error)
{
    return vrt_fold(vrt_media_new(server->conf.access.media_roots, &server->media, error));
}

static int start_models(struct server *server, struct vrt_error *error)
{
    int r = vrt_models_new(server->params->models_dir, server->conf.jobs.model,
                           &server->models);

    server->api.models = server->models;
    return r < 0 ? vrt_refuse_errno(error, vrt_fold(r), "starting") : 0;
}

static struct vrt_remote_params remote_params(struct server *server)
{
    struct vrt_remote_params params = {
        .loop = &server->loop,
        .models = server->models,
        .models_dir = server->params->models_dir,
    };

    vrt_configured_remote(&server->conf, &params);
    return params;
}

static int start_remote(struct server *server, struct vrt_error *error)
{
    const struct vrt_remote_params params = remote_params(server);

    return vrt_fold(vrt_remote_new(&params, &server->api.remote, error));
}

static int start_pool(struct server *server, struct vrt_error *error)
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

static struct vrt_queue_params queue_params(struct server *server)
{
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
        .changed = on_job_changed,
        .ctx = server,
    };

    vrt_configured_queue(&server->conf, &params);
    return params;
}

static int start_queue(struct server *server, struct vrt_error *error)
{
    const struct vrt_queue_params params = queue_params(server);

    vrt_queue_check_device(&params);
    return vrt_fold(vrt_queue_new(&params, &server->api.queue, error));
}

static int start_events(struct server *server, struct vrt_error *error)
{
    int r = vrt_events_new(&server->loop, server->api.pool, &server->api.events);

    return r < 0 ? vrt_refuse_errno(error, vrt_fold(r), "starting the events") : 0;
}

static int load_web(struct server *server, struct vrt_error *error)
{
    return vrt_fold(vrt_web_load(&server->conf, server->store, &server->api, error));
}

static int start_web(struct server *server, struct vrt_error *error)
{
    return vrt_fold(vrt_web_start(&server->conf, &server->api, error));
}

static int start_listener(struct server *server, int fd, struct vrt_error *error)
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

/* Each part takes what it follows of the configuration. Nothing can fail here: what may be wrong
 * with it was found when it was checked. */

static void configure_log(struct server *server)
{
    struct vrt_error error = { .id = NULL };

    if (vrt_setup_log(&server->conf, &error) < 0)
        vrt_log_error("the log stays where it was: %s", error.message);
}

static void configure_quota(struct server *server)
{
    struct vrt_quota_limit limits[VRT_QUOTA_KIND_COUNT];

    vrt_limits_fill(&server->conf, limits);
    vrt_quota_configure(server->quota, limits);
}

static void configure_access(struct server *server)
{
    vrt_access_set_admin_group(server->api.access, server->conf.access.admin_group);
    vrt_access_set_priority_group(server->api.access, server->conf.access.priority_group);
}

static void configure_models(struct server *server)
{
    if (vrt_models_set_default(server->models, server->conf.jobs.model) < 0)
        vrt_log_warning("the model of jobs that name none stays as it was: no memory");
}

static void configure_remote(struct server *server)
{
    const struct vrt_remote_params params = remote_params(server);

    vrt_remote_configure(server->api.remote, &params);
}

static void configure_pool(struct server *server)
{
    vrt_limits_share_memory(&server->conf, server->api.pool);
}

static void configure_queue(struct server *server)
{
    const struct vrt_queue_params params = queue_params(server);

    vrt_queue_check_device(&params);
    vrt_queue_configure(server->api.queue, &params);
}

static void configure_api(struct server *server)
{
    server->api.fallback = vrt_configured_fallback(server->conf.devices.fallback);
    server->api.device = server->conf.jobs.device;
    server->api.precision = server->conf.jobs.precision;
    if (server->api.uploads)
        vrt_uploads_set_max(server->api.uploads, server->conf.web.max_upload);
}

static void on_configured(void *ctx)
{
    static void (*const configure_steps[])(struct server *server) = {
        configure_log, configure_quota, configure_access, configure_models, configure_remote,
        configure_pool, configure_queue, configure_api,
    };
    struct server *server = ctx;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(configure_steps); i++)
        configure_steps[i](server);
}

static int start_reload(struct server *server, struct vrt_error *error)
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

/* The first of them stops the jobs and waits for the devices; the second doesn't wait. */
static void on_stop_signal(uv_signal_t *handle, int number)
{
    struct server *server = handle->data;

    /* A driver that hangs would hold the end up for ever. main() then takes nothing down. */
    if (server->stopping) {
        vrt_log_warning("signal %d again: not waiting for the devices", number);
        server->hurried = true;
        uv_stop(&server->loop);
        return;
    }
    const int n_running = vrt_jobs_n_running(vrt_queue_jobs(server->api.queue));
    vrt_log_info("signal %d: stopping; %d running %s, or end a segment; again to stop at once",
                 number, n_running, n_running == 1 ? "job may finish" : "jobs may finish");
    server->stopping = server->api.is_ending = true;
    vrt_reload_stop(server->reload);
    vrt_pool_expect_end(server->api.pool);
    vrt_service_stopping(server->service, server->conf.daemon.stop_timeout);
    vrt_notify_status("Stopping: running jobs come to a good place");
    stop_next(server);
}

static void on_reload_signal(uv_signal_t *handle, int number)
{
    struct server *server = handle->data;
    struct vrt_error error = { .id = NULL };

    /* Whatever the configuration says: who moved the file away waits for that. */
    if (vrt_log_reopen(&error) < 0)
        vrt_log_error("the log stays in the file that it was in: %s", error.message);
    vrt_log_info("signal %d: reading the configuration again", number);
    vrt_reload_begin(server->reload);
}

static int start_signals(struct server *server, struct vrt_error *error)
{
    static const struct {
        int number;
        void (*came)(uv_signal_t *handle, int number);
    } signals[N_SIGNALS] = {
        { SIGTERM, on_stop_signal }, { SIGINT, on_stop_signal }, { SIGHUP, on_reload_signal },
    };
    int n = server->params->reread ? N_SIGNALS : N_SIGNALS - 1;

    for (int i = 0; i < n; i++) {
        uv_signal_init(&server->loop, &server->signals[i]);
        server->signals[i].data = server;
        server->n_signals++;
        int r = uv_signal_start(&server->signals[i], signals[i].came, signals[i].number);
        if (r < 0)
            return vrt_refuse_errno(error, vrt_raise(r), "waiting for signals");
    }
    return 0;
}

/* Everything that the loop has, in an order in which each finds what it needs. */
static int start(struct server *server, struct vrt_error *error)
{
    static int (*const steps[])(struct server *server, struct vrt_error *error) = {
        start_service, start_quota, start_access, start_media, start_store, load_web,
        start_models, start_remote, start_pool, start_queue, start_events, start_reload,
        start_signals, start_web,
    };
    /* Ours from here on, also where a step fails before there is a listener. */
    VRT_CLEANUP(vrt_closep) int fd = server->params->listen_fd;
    int r = 0;

    for (size_t i = 0; r == 0 && i < VRT_ARRAY_SIZE(steps); i++)
        r = steps[i](server, error);
    return r == 0 ? start_listener(server, VRT_STEAL_FD(fd), error) : r;
}

/* What stop_next() does, one after the other: each calls it again when it is through. */

static void stop_notices(struct server *server)
{
    if (server->api.remote)
        vrt_remote_quiet(server->api.remote, stop_next, server);
    else
        stop_next(server);
}

static void stop_jobs(struct server *server)
{
    struct vrt_queue *queue = server->api.queue;

    if (queue)
        vrt_queue_stop(queue, (int)server->conf.daemon.stop_timeout * 1000, stop_next, server);
    else
        stop_next(server);
}

static void stop_remote(struct server *server)
{
    struct vrt_remote *remote = VRT_STEAL(server->api.remote);

    /* It has freed itself: requests that still come are told that all is over. */
    server->api.queue = NULL;
    if (remote)
        vrt_remote_stop(remote, stop_next, server);
    else
        stop_next(server);
}

static void stop_events(struct server *server)
{
    struct vrt_events *events = VRT_STEAL(server->api.events);

    if (events)
        vrt_events_stop(events, stop_next, server);
    else
        stop_next(server);
}

static void stop_pool(struct server *server)
{
    vrt_notify_status("Stopping: devices finish what they are at");
    if (server->api.pool)
        vrt_pool_stop(server->api.pool, stop_next, server);
    else
        stop_next(server);
}

static void stop_store(struct server *server)
{
    if (server->store)
        vrt_store_stop(VRT_STEAL(server->store), stop_next, server);
    else
        stop_next(server);
}

static void stop_web(struct server *server)
{
    struct vrt_gate *gate = VRT_STEAL(server->api.gate);

    if (gate)
        vrt_gate_stop(gate, stop_next, server);
    else
        stop_next(server);
}

static void stop_listener(struct server *server)
{
    struct vrt_listener *listener = server->api.listener;

    if (listener)
        vrt_listener_stop(listener, stop_next, server);
    else
        stop_next(server);
}

static void stop_signals(struct server *server)
{
    for (int i = 0; i < server->n_signals; i++)
        uv_close((uv_handle_t *)&server->signals[i], NULL);
    if (server->service)
        vrt_service_close(server->service);
}

static void stop_next(void *ctx)
{
    static void (*const steps[])(struct server *server) = {
        stop_notices, stop_jobs, stop_remote, stop_events, stop_pool, stop_web, stop_store,
        stop_listener, stop_signals,
    };
    struct server *server = ctx;

    steps[server->step++](server);
}

static void name_handle(uv_handle_t *handle, void *ctx)
{
    (void)ctx;
    vrt_log_error("internal error: still open at the end: a %s at %p",
                  uv_handle_type_name(handle->type), (void *)handle);
}

/* Frees what doesn't live on the loop, after it, and the server. Work of libuv's threads, which
 * uses the models, keeps the loop going: by now there is none. */
static int end(struct server *server, struct vrt_error *error)
{
    int r = uv_loop_close(&server->loop);

    if (r < 0) {
        uv_walk(&server->loop, name_handle, NULL);
        vrt_refuse(error, vrt_raise(r), "internal", "something was still open at the end");
    }
    vrt_pool_free(server->api.pool);
    vrt_models_free(server->models);
    vrt_tokens_free(server->api.tokens);
    vrt_uploads_free(server->api.uploads);
    vrt_quota_free(server->quota);
    vrt_access_free(server->api.access);
    vrt_accounts_free(server->groups);
    vrt_accounts_free(server->users);
    vrt_media_free(server->media);
    vrt_reload_free(server->reload);
    free(server);
    return r;
}

int vrt_server_run(const struct vrt_server_params *params, struct vrt_error *error)
{
    struct server *server = calloc(1, sizeof(*server));

    if (!server)
        return vrt_refuse_errno(error, -ENOMEM, "starting the daemon");
    vrt_thread_set_role(VRT_THREAD_LOOP, "vrtd");
    vrt_thread_set_responsive();
    server->params = params;
    server->conf = *params->conf;
    /* Before the first of the pool's threads is made. */
    setenv("UV_THREADPOOL_SIZE", POOL_THREADS, 0);
    int r = uv_loop_init(&server->loop);
    if (r < 0) {
        free(server);
        return vrt_refuse_errno(error, vrt_raise(r), "starting the loop");
    }
    server->api.loop = &server->loop;
    configure_api(server);
    vrt_api_begin(&server->api);
    server->api.state_dir = server->params->state_dir;
    server->api.spool_fd = server->params->spool_fd;
    r = start(server, error);
    if (r < 0) {
        server->stopping = true;
        stop_next(server);
    } else {
        vrt_log_info("vrtd serves %s", params->listen_name);
        vrt_service_ready(server->service);
    }
    uv_run(&server->loop, UV_RUN_DEFAULT);
    /* Threads and signals still come to the loop of one that is hurried: it stays. */
    if (server->hurried)
        return VRT_SERVER_E_HURRIED;
    const bool is_stuck = server->api.pool && vrt_pool_has_abandoned(server->api.pool);
    int closed = end(server, error);
    if (is_stuck)
        return r >= 0 && closed >= 0 ? VRT_SERVER_E_STUCK : VRT_SERVER_E_STUCK_FAILED;
    return vrt_fold(r < 0 ? r : closed);
}
