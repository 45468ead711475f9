/* SPDX-License-Identifier: MIT */

/*
 * The pool from its making to its end, and what is told of it. What is told about a device (its
 * accounts, its speed) came with the tasks it returned: to be asked costs it nothing.
 *
 *     pool -> dispatch -> device -> measurements -> the store         calls go down this way,
 *                  \-> sched         \-> the device's worker          callbacks come up
 */

#include "daemon/devices/pool.h"

#include <errno.h>
#include <stdlib.h>
#include <uv.h>

#include "api.h"
#include "backend/kind.h"
#include "base/clock.h"
#include "base/thread.h"
#include "daemon/devices/device-history.h"
#include "daemon/devices/dispatch.h"
#include "daemon/devices/doctor-report.h"
#include "daemon/devices/measurements.h"
#include "daemon/devices/pool-device.h"
#include "daemon/devices/pool-job.h"
#include "daemon/devices/probe-cache.h"
#include "engine/replica.h"

#define TICK_MS 500                /* how late a device that hangs is noticed */
#define KEEP_ALIVE_DEFAULT_S 600.0
#define STALL_DEFAULT_S 300.0
#define SILENCE_DEFAULT_S 30.0
#define RETRY_DEFAULT_S 5.0
#define PATIENCE_DEFAULT_S 120.0

struct vrt_pool {
    struct vrt_pool_shared shared;
    size_t n_devices;
    struct vrt_pool_device *devices;
    struct vrt_device_history *histories;       /* of each */
    struct vrt_dispatch *dispatch;
    struct vrt_probe_cache *probes;
    char missed[VRT_API_TEXT_BYTES];    /* why a GPU here is no device; "": none is missed */
    uv_timer_t timer;
    bool has_abandoned;                 /* a device's thread, which may be in a driver for ever */
    int n_handles;                      /* of ours on the loop */
    void (*stopped)(void *ctx);
    void *stopped_ctx;
};

static void on_tick(uv_timer_t *timer)
{
    struct vrt_pool *pool = vrt_container_of(timer, struct vrt_pool, timer);
    struct vrt_device_snapshot device;
    /* One for all, so that their histories keep step. */
    const int64_t now_ns = vrt_clock_now_ns();

    vrt_pool_shared_tick(&pool->shared);
    for (size_t d = 0; d < pool->n_devices; d++)
        vrt_pool_device_tick(&pool->devices[d]);
    for (size_t d = 0; d < pool->n_devices; d++) {
        vrt_pool_device_snapshot(&pool->devices[d], &device);
        vrt_device_history_note(&pool->histories[d], &device, now_ns);
    }
    vrt_dispatch_tick(pool->dispatch);
    vrt_dispatch_wake(pool->dispatch);
}

static void on_opened(void *ctx)
{
    struct vrt_pool *pool = ctx;

    vrt_dispatch_tick(pool->dispatch);
}

static void on_returned(void *ctx)
{
    struct vrt_pool *pool = ctx;

    vrt_dispatch_wake(pool->dispatch);
}

/*
 * Has those try themselves out that are one piece of hardware with a device which is lost: what it
 * is lost by is theirs as well, and it can't be reset before all of them have closed it.
 */
static void on_lost(void *ctx, size_t d)
{
    struct vrt_pool *pool = ctx;
    const struct vrt_device_info *lost = pool->devices[d].info;

    for (size_t e = 0; e < pool->n_devices; e++) {
        struct vrt_pool_device *other = &pool->devices[e];
        if (e != d && vrt_device_info_is_same_card(other->info, lost) &&
            vrt_pool_device_takes_shards(other))
            vrt_pool_device_ask(other);
    }
}

/* One of our handles has left the loop. */
static void handle_gone(struct vrt_pool *pool)
{
    if (--pool->n_handles == 0 && pool->stopped)
        pool->stopped(pool->stopped_ctx);
}

static void on_timer_closed(uv_handle_t *handle)
{
    handle_gone(vrt_container_of((uv_timer_t *)handle, struct vrt_pool, timer));
}

static void on_outbox_closed(void *ctx)
{
    handle_gone(ctx);
}

/* Once no device has a thread any more: takes the pool off the loop. */
static void leave_loop(struct vrt_pool *pool)
{
    for (size_t d = 0; d < pool->n_devices; d++)
        if (pool->devices[d].mailbox)
            return;
    uv_close((uv_handle_t *)&pool->timer, on_timer_closed);
    vrt_outbox_close(pool->shared.outbox, on_outbox_closed, pool);
    pool->shared.outbox = NULL;
}

/* A device's thread has ended. */
static void on_ended(void *ctx, bool abandoned)
{
    struct vrt_pool *pool = ctx;

    pool->has_abandoned |= abandoned;
    if (pool->shared.is_stopping)
        leave_loop(pool);
}

static int open_registry(struct vrt_pool *pool, struct vrt_error *error)
{
    struct vrt_registry *registry;
    int r = vrt_registry_new(&pool->shared.params.registry, &registry, error);

    if (r < 0)
        return vrt_fold(r);
    /* The caller's strings. */
    pool->shared.params.registry.fault = pool->shared.params.registry.cache_dir = NULL;
    r = vrt_shared_registry_new(registry, &pool->shared.registry);
    if (r < 0) {
        vrt_registry_free(registry);
        return vrt_refuse_errno(error, r, "the devices");
    }
    return 0;
}

static int list_devices(struct vrt_pool *pool, struct vrt_error *error)
{
    struct vrt_pool_shared *shared = &pool->shared;
    int r;

    shared->infos = vrt_registry_devices(vrt_shared_registry_get(shared->registry),
                                         &shared->n_infos);
    if (shared->n_infos == 0)
        return vrt_refuse(error, -ENODEV, "device.unknown", "there is no device to compute with");
    shared->n_infos = VRT_MIN(shared->n_infos, VRT_DEVICES_MAX);
    r = vrt_measurements_new(shared->infos, shared->n_infos, shared->params.store,
                             &shared->measurements, error);
    if (r < 0)
        return vrt_fold(r);
    pool->n_devices = shared->n_infos;
    pool->devices = calloc(pool->n_devices, sizeof(*pool->devices));
    pool->histories = calloc(pool->n_devices, sizeof(*pool->histories));
    if (!pool->devices || !pool->histories)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the devices");
    for (size_t d = 0; d < pool->n_devices; d++)
        vrt_pool_device_init(&pool->devices[d], shared, d);
    r = vrt_dispatch_new(pool->devices, pool->n_devices, shared->measurements, &pool->dispatch);
    return r < 0 ? vrt_refuse_errno(error, r, "the devices") : 0;
}

/* A default for what is 0. */
static double or_default(double value, double standard)
{
    return value > 0 ? value : standard;
}

static void set_defaults(struct vrt_pool_params *params)
{
    params->keep_alive_s = or_default(params->keep_alive_s, KEEP_ALIVE_DEFAULT_S);
    params->stall_s = or_default(params->stall_s, STALL_DEFAULT_S);
    params->silence_s = or_default(params->silence_s, SILENCE_DEFAULT_S);
    params->retry_s = or_default(params->retry_s, RETRY_DEFAULT_S);
    params->patience_s = or_default(params->patience_s, PATIENCE_DEFAULT_S);
}

int vrt_pool_new(const struct vrt_pool_params *params, struct vrt_pool **ret_pool,
                 struct vrt_error *error)
{
    VRT_CLEANUP(vrt_pool_freep) struct vrt_pool *pool = calloc(1, sizeof(*pool));
    int r;

    vrt_assert_thread(VRT_THREAD_LOOP);
    if (!pool)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the devices");
    pool->shared = (struct vrt_pool_shared){
        .params = *params,
        .opened = on_opened,
        .lost = on_lost,
        .returned = on_returned,
        .ended = on_ended,
        .ctx = pool,
    };
    set_defaults(&pool->shared.params);
    r = open_registry(pool, error);
    if (r < 0)
        return vrt_fold(r);
    pool->probes = vrt_probe_cache_new();
    if (!pool->probes ||
        vrt_replica_store_new(&(struct vrt_replica_store_params){ 0 }, &pool->shared.replicas) < 0)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the devices");
    r = list_devices(pool, error);
    if (r < 0)
        return vrt_fold(r);
    vrt_doctor_explain(pool, params->has_gpu ? params->has_gpu : vrt_doctor_machine_has_gpu,
                       pool->missed, sizeof(pool->missed));
    r = vrt_outbox_new(params->loop, &pool->shared.outbox);
    if (r < 0)
        return vrt_refuse_errno(error, r, "the event loop");
    uv_timer_init(params->loop, &pool->timer);
    uv_timer_start(&pool->timer, on_tick, TICK_MS, TICK_MS);
    vrt_pool_shared_tick(&pool->shared);
    pool->n_handles = 2;
    for (size_t d = 0; d < pool->n_devices; d++)
        vrt_pool_device_ask(&pool->devices[d]);
    *ret_pool = VRT_STEAL(pool);
    return 0;
}

/* Once no job is left: lets the threads end. */
static void stop_threads(struct vrt_pool *pool)
{
    if (!pool->shared.outbox || !vrt_list_is_empty(vrt_dispatch_jobs(pool->dispatch)))
        return;
    for (size_t d = 0; d < pool->n_devices; d++)
        if (pool->devices[d].mailbox)
            vrt_mailbox_stop(pool->devices[d].mailbox);
    leave_loop(pool);
}

void vrt_pool_expect_end(struct vrt_pool *pool)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    pool->shared.is_ending = true;
}

void vrt_pool_stop(struct vrt_pool *pool, void (*stopped)(void *ctx), void *ctx)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    pool->stopped = stopped;
    pool->stopped_ctx = ctx;
    pool->shared.is_stopping = true;
    vrt_dispatch_stop(pool->dispatch);
    stop_threads(pool);
}

struct vrt_pool *vrt_pool_free(struct vrt_pool *pool)
{
    if (!pool)
        return NULL;
    vrt_dispatch_free(pool->dispatch);
    free(pool->devices);
    free(pool->histories);
    vrt_probe_cache_free(pool->probes);
    vrt_measurements_free(pool->shared.measurements);
    vrt_replica_store_unref(pool->shared.replicas);
    vrt_shared_registry_unref(pool->shared.registry);
    free(pool);
    return NULL;
}

void vrt_pool_job_add(struct vrt_pool *pool, struct vrt_pool_job *job)
{
    vrt_dispatch_add(pool->dispatch, job);
}

void vrt_pool_job_remove(struct vrt_pool *pool, struct vrt_pool_job *job)
{
    vrt_dispatch_remove(pool->dispatch, job);
    if (pool->shared.is_stopping)
        stop_threads(pool);
}

void vrt_pool_wake(struct vrt_pool *pool)
{
    vrt_dispatch_wake(pool->dispatch);
}

int vrt_pool_submit(struct vrt_pool *pool, size_t d, struct vrt_worker_task *task,
                    void (*returned)(void *ctx, size_t d, struct vrt_worker_task *task),
                    void *ctx)
{
    return vrt_fold(vrt_pool_device_submit(&pool->devices[d], task, returned, ctx));
}

/* A probe came back that nobody waited for. */
static void came_late(void *ctx, size_t d, struct vrt_worker_task *task)
{
    struct vrt_pool *pool = ctx;

    if (task->task.outcome != VRT_TASK_DONE || task->request != VRT_WORKER_PROBE)
        return;
    const struct vrt_probe *probe = &vrt_worker_probe_of(task)->probe;
    vrt_measurements_note_probe(pool->shared.measurements,
                                vrt_network_checksum(probe->spec->network), d, probe);
    vrt_probe_cache_put(pool->probes, d, probe, vrt_clock_now_ns());
}

void vrt_pool_forsake(struct vrt_pool *pool, struct vrt_worker_task *task, bool cancel)
{
    struct vrt_pool_ticket *ticket = task->ctx;

    vrt_assert_thread(VRT_THREAD_LOOP);
    vrt_assert(!ticket->is_shard);
    ticket->returned = came_late;
    ticket->ctx = pool;
    if (cancel)
        atomic_store(&task->task.cancel, true);
}

void vrt_pool_blame(struct vrt_pool *pool, size_t d, const char *why)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    vrt_pool_device_quarantine(&pool->devices[d], why);
}

bool vrt_pool_has_abandoned(const struct vrt_pool *pool)
{
    return pool->has_abandoned;
}

size_t vrt_pool_n_devices(const struct vrt_pool *pool)
{
    return pool->n_devices;
}

const struct vrt_device_history *vrt_pool_history(const struct vrt_pool *pool, size_t i)
{
    return &pool->histories[i];
}

void vrt_pool_device(const struct vrt_pool *pool, size_t i, struct vrt_device_snapshot *ret_device)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    vrt_pool_device_snapshot(&pool->devices[i], ret_device);
}

int64_t vrt_pool_n_ready(const struct vrt_pool *pool)
{
    const struct vrt_pool_job *job;
    int64_t n = 0;

    VRT_LIST_FOREACH(job, vrt_dispatch_jobs(pool->dispatch), link)
        n += job->n_ready;
    return n;
}

void vrt_pool_set_memory_fraction(struct vrt_pool *pool, size_t i, double fraction)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    pool->devices[i].memory_fraction = fraction;
}

double vrt_pool_memory_fraction(const struct vrt_pool *pool, size_t d)
{
    return pool->devices[d].memory_fraction;
}

int vrt_pool_replicas(const struct vrt_pool *pool, struct vrt_replica_entry **ret_entries,
                      size_t *ret_n_entries)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    return vrt_fold(vrt_replica_store_list(pool->shared.replicas, ret_entries, ret_n_entries));
}

const struct vrt_device_info *const *vrt_pool_infos(const struct vrt_pool *pool,
                                                    size_t *ret_n_infos)
{
    *ret_n_infos = pool->n_devices;
    return pool->shared.infos;
}

const struct vrt_findings *vrt_pool_findings(const struct vrt_pool *pool)
{
    return vrt_registry_findings(vrt_shared_registry_get(pool->shared.registry));
}

struct vrt_pool_devices vrt_pool_devices(const struct vrt_pool *pool)
{
    struct vrt_pool_devices devices = { 0 };

    for (size_t d = 0; d < pool->n_devices; d++) {
        const enum vrt_device_state state = pool->devices[d].state;
        const uint64_t bit = UINT64_C(1) << d;
        if (vrt_pool_device_takes_shards(&pool->devices[d]))
            devices.ready |= bit;
        if (state == VRT_DEVICE_STARTING)
            devices.starting |= bit;
        if (state == VRT_DEVICE_STARTING || state == VRT_DEVICE_QUARANTINED)
            devices.hopeful |= bit;
    }
    return devices;
}

/* Accelerators that are unfit as it is, or have been tried so often, and have not worked once since
 * the daemon began. */
static uint64_t unfit_accelerators(const struct vrt_pool *pool, const struct vrt_pool_wish *wish)
{
    uint64_t unfit = wish->unfit, accelerators = 0;

    for (size_t d = 0; d < pool->n_devices; d++) {
        const struct vrt_pool_device *device = &pool->devices[d];
        if (wish->n_tries > 0 && !device->has_worked && device->n_opens >= wish->n_tries)
            unfit |= UINT64_C(1) << d;
        if (vrt_device_kind_is_accelerator(device->info->kind))
            accelerators |= UINT64_C(1) << d;
    }
    return unfit & accelerators;
}

int vrt_pool_choose(const struct vrt_pool *pool, const struct vrt_pool_wish *wish,
                    struct vrt_device_choice *ret_choice, struct vrt_error *error)
{
    struct vrt_device_request request = {
        .text = wish->request,
        .fallback = wish->fallback,
        .unfit = unfit_accelerators(pool, wish),
    };
    const char *why = request.unfit ? pool->devices[__builtin_ctzll(request.unfit)].last_error :
                                      pool->missed;

    request.infos = vrt_pool_infos(pool, &request.n_infos);
    request.why = why[0] ? why : NULL;
    return vrt_fold(vrt_device_request_resolve(&request, ret_choice, error));
}

uint64_t vrt_pool_silent_devices(const struct vrt_pool *pool)
{
    uint64_t silent = 0;

    for (size_t d = 0; d < pool->n_devices; d++)
        if (vrt_pool_device_silent_s(&pool->devices[d]) > pool->shared.params.silence_s)
            silent |= UINT64_C(1) << d;
    return silent;
}

int vrt_pool_device_class(const struct vrt_pool *pool, size_t d)
{
    return vrt_measurements_class(pool->shared.measurements, d);
}

const char *vrt_pool_device_error(const struct vrt_pool *pool, size_t d)
{
    return pool->devices[d].last_error;
}

struct vrt_network *vrt_pool_share_network(const struct vrt_pool *pool,
                                           struct vrt_network *network)
{
    struct vrt_pool_job *job;

    VRT_LIST_FOREACH(job, vrt_dispatch_jobs(pool->dispatch), link) {
        if (job->network && job->network != network &&
            vrt_network_checksum(job->network) == vrt_network_checksum(network)) {
            vrt_network_unref(network);
            return vrt_network_ref(job->network);
        }
    }
    return network;
}

struct vrt_measurements *vrt_pool_measurements(const struct vrt_pool *pool)
{
    return pool->shared.measurements;
}

struct vrt_probe_cache *vrt_pool_probe_cache(const struct vrt_pool *pool)
{
    return pool->probes;
}

const struct vrt_pool_params *vrt_pool_params(const struct vrt_pool *pool)
{
    return &pool->shared.params;
}

struct vrt_outbox *vrt_pool_outbox(struct vrt_pool *pool)
{
    return pool->shared.outbox;
}

bool vrt_pool_is_stopping(const struct vrt_pool *pool)
{
    return pool->shared.is_stopping;
}
