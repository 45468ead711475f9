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

#include "daemon/service/server-impl.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#include <uv.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "config/conf.h"
#include "daemon/access/access.h"
#include "daemon/access/accounts.h"
#include "daemon/api/events.h"
#include "daemon/jobs/job.h"
#include "daemon/service/web.h"
#include "daemon/http/listener.h"
#include "daemon/access/media.h"
#include "daemon/models/models.h"
#include "daemon/systemd/notify.h"
#include "daemon/devices/pool.h"
#include "daemon/jobs/queue.h"
#include "daemon/log/output.h"
#include "daemon/access/quota.h"
#include "daemon/service/reload.h"
#include "daemon/remote/remote.h"
#include "daemon/api/routes.h"
#include "daemon/service/service.h"
#include "daemon/store/store.h"
#include "daemon/uploads/uploads.h"
#include "daemon/web/gate.h"
#include "daemon/web/tokens.h"

#define VRT_LOG_TOPIC "server"

/* Threads of libuv's for what takes long: admissions, looks at models, previews, sweeps of the
 * spool, all of which may be at work at a time. */
#define POOL_THREADS "16"

static void stop_next(void *ctx);

static void begin_stop(struct vrt_server *server)
{
    server->stopping = server->api.is_ending = true;
    vrt_reload_stop(server->reload);
    vrt_pool_expect_end(server->api.pool);
    vrt_service_stopping(server->service, server->conf.daemon.stop_timeout);
    vrt_notify_status("Stopping: running jobs come to a good place");
    stop_next(server);
}

/* The first of them stops the jobs and waits for the devices; the second doesn't wait. */
static void on_stop_signal(uv_signal_t *handle, int number)
{
    struct vrt_server *server = handle->data;

    /* Slurm sends it to each of a task's processes, and the shell among them passes it on. */
    if (server->stopping && server->params->once && number == SIGTERM)
        return;
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
    begin_stop(server);
}

static void on_over(uv_async_t *handle)
{
    struct vrt_server *server = handle->data;

    if (!server->stopping)
        begin_stop(server);
}

static void on_reload_signal(uv_signal_t *handle, int number)
{
    struct vrt_server *server = handle->data;
    struct vrt_error error = { .id = NULL };

    /* Whatever the configuration says: who moved the file away waits for that. */
    if (vrt_log_reopen(&error) < 0)
        vrt_log_error("the log stays in the file that it was in: %s", error.message);
    vrt_log_info("signal %d: reading the configuration again", number);
    vrt_reload_begin(server->reload);
}

static int start_signals(struct vrt_server *server, struct vrt_error *error)
{
    static const struct {
        int number;
        void (*came)(uv_signal_t *handle, int number);
    } signals[VRT_SERVER_SIGNALS] = {
        { SIGTERM, on_stop_signal }, { SIGINT, on_stop_signal }, { SIGHUP, on_reload_signal },
    };
    int n = server->params->reread ? VRT_SERVER_SIGNALS : VRT_SERVER_SIGNALS - 1;

    for (int i = 0; i < n; i++) {
        int r = uv_signal_init(&server->loop, &server->signals[i]);
        if (r < 0)
            return vrt_refuse_errno(error, vrt_raise(r), "waiting for signals");
        server->signals[i].data = server;
        server->n_signals++;
        r = uv_signal_start(&server->signals[i], signals[i].came, signals[i].number);
        if (r < 0)
            return vrt_refuse_errno(error, vrt_raise(r), "waiting for signals");
    }
    return 0;
}

static int start_web(struct vrt_server *server, struct vrt_error *error)
{
    return vrt_fold(vrt_web_start(&server->conf, &server->api, error));
}

/* Everything that the loop has, in an order in which each finds what it needs. */
static int start(struct vrt_server *server, struct vrt_error *error)
{
    static int (*const steps[])(struct vrt_server *server, struct vrt_error *error) = {
        start_signals, start_web,
    };
    /* Ours from here on, also where a step fails before there is a listener. */
    VRT_CLEANUP(vrt_closep) int fd = server->params->listen_fd;
    int r = vrt_server_start_parts(server, error);

    for (size_t i = 0; r == 0 && i < VRT_ARRAY_SIZE(steps); i++)
        r = steps[i](server, error);
    if (r == 0 && server->params->once)
        return vrt_fold(server->params->once->started(server->params->once->ctx, server->api.queue,
                                                      &server->over, error));
    return r == 0 ? vrt_server_start_listener(server, VRT_STEAL_FD(fd), error) : r;
}

/* What stop_next() does, one after the other: each calls it again when it is through. */

static void stop_notices(struct vrt_server *server)
{
    if (server->api.remote)
        vrt_remote_quiet(server->api.remote, stop_next, server);
    else
        stop_next(server);
}

static void stop_jobs(struct vrt_server *server)
{
    struct vrt_queue *queue = server->api.queue;

    if (queue)
        vrt_queue_stop(queue, (int)server->conf.daemon.stop_timeout * 1000, stop_next, server);
    else
        stop_next(server);
}

static void stop_remote(struct vrt_server *server)
{
    struct vrt_remote *remote = VRT_STEAL(server->api.remote);

    /* It has freed itself: requests that still come are told that all is over. */
    server->api.queue = NULL;
    if (remote)
        vrt_remote_stop(remote, stop_next, server);
    else
        stop_next(server);
}

static void stop_events(struct vrt_server *server)
{
    struct vrt_events *events = VRT_STEAL(server->api.events);

    if (events)
        vrt_events_stop(events, stop_next, server);
    else
        stop_next(server);
}

static void stop_pool(struct vrt_server *server)
{
    vrt_notify_status("Stopping: devices finish what they are at");
    if (server->api.pool)
        vrt_pool_stop(server->api.pool, stop_next, server);
    else
        stop_next(server);
}

static void stop_store(struct vrt_server *server)
{
    if (server->store)
        vrt_store_stop(VRT_STEAL(server->store), stop_next, server);
    else
        stop_next(server);
}

static void stop_web(struct vrt_server *server)
{
    struct vrt_gate *gate = VRT_STEAL(server->api.gate);

    if (gate)
        vrt_gate_stop(gate, stop_next, server);
    else
        stop_next(server);
}

static void stop_listener(struct vrt_server *server)
{
    struct vrt_listener *listener = server->api.listener;

    if (listener)
        vrt_listener_stop(listener, stop_next, server);
    else
        stop_next(server);
}

static void stop_signals(struct vrt_server *server)
{
    for (int i = 0; i < server->n_signals; i++)
        uv_close((uv_handle_t *)&server->signals[i], NULL);
    if (server->has_over)
        uv_close((uv_handle_t *)&server->over, NULL);
    if (server->service)
        vrt_service_close(server->service);
}

static void stop_next(void *ctx)
{
    static void (*const steps[])(struct vrt_server *server) = {
        stop_notices, stop_jobs, stop_remote, stop_events, stop_pool, stop_web, stop_store,
        stop_listener, stop_signals,
    };
    struct vrt_server *server = ctx;

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
static int end(struct vrt_server *server, struct vrt_error *error)
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
    struct vrt_server *server = calloc(1, sizeof(*server));

    if (!server)
        return vrt_refuse_errno(error, -ENOMEM, "starting the daemon");
    vrt_thread_set_role(VRT_THREAD_LOOP, "vrtd");
    vrt_assert_thread(VRT_THREAD_LOOP);
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
    server->has_over = params->once && uv_async_init(&server->loop, &server->over, on_over) == 0;
    server->over.data = server;
    vrt_server_configure_api(server);
    vrt_api_begin(&server->api);
    server->api.state_dir = server->params->state_dir;
    server->api.spool_fd = server->params->spool_fd;
    r = start(server, error);
    if (r < 0) {
        server->stopping = true;
        stop_next(server);
    } else {
        if (params->listen_name)
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
