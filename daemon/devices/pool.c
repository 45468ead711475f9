/* SPDX-License-Identifier: MIT */

/*
 * The pool from its making to its end, and what is told of it. What is told about a device (its
 * accounts, its speed) came with the tasks it returned: to be asked costs it nothing.
 */

#include "daemon/devices/pool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "daemon/devices/pool-impl.h"
#include "daemon/sched/sched.h"

#define VRT_LOG_TOPIC "pool"

#define TICK_MS 500
#define KEEP_ALIVE_DEFAULT_S 600.0
#define STALL_DEFAULT_S 300.0
#define SILENCE_DEFAULT_S 30.0
#define RETRY_DEFAULT_S 5.0
#define PATIENCE_DEFAULT_S 120.0

/* A job's answer may be to remove itself, or others. */
void vrt_pool_tell_jobs(struct vrt_pool *pool, bool stop)
{
    uint64_t telling = ++pool->n_tellings;
    struct vrt_pool_job *job, *next;

    do {
        next = NULL;
        VRT_LIST_FOREACH(job, &pool->jobs, link)
            if (!next && job->n_told < telling)
                next = job;
        if (next) {
            next->n_told = telling;
            (stop ? next->ops->stop : next->ops->tick)(next);
        }
    } while (next);
}

void vrt_pool_blame(struct vrt_pool *pool, size_t d, const char *why)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    vrt_pool_device_quarantine(&pool->devices[d], why);
}

static void on_tick(uv_timer_t *timer)
{
    struct vrt_pool *pool = vrt_container_of(timer, struct vrt_pool, timer);
    const int64_t now_ns = vrt_clock_now_ns();

    if (now_ns - pool->ticked_ns > VRT_POOL_STILL_NS)
        pool->awake_ns = now_ns;
    pool->ticked_ns = now_ns;
    for (size_t d = 0; d < pool->n_devices; d++)
        vrt_pool_device_tick(&pool->devices[d]);
    vrt_pool_tell_jobs(pool, false);
    vrt_pool_wake(pool);
}

static int open_registry(struct vrt_pool *pool, struct vrt_error *error)
{
    struct vrt_registry *registry;
    int r = vrt_registry_new(&pool->params.registry, &registry, error);

    if (r)
        return vrt_fold(r);
    /* The caller's strings. */
    pool->params.registry.fault = pool->params.registry.cache_dir = NULL;
    r = vrt_shared_registry_new(registry, &pool->registry);
    if (r) {
        vrt_registry_free(registry);
        return vrt_refuse_errno(error, r, "the devices");
    }
    return 0;
}

static int list_devices(struct vrt_pool *pool, struct vrt_error *error)
{
    int speed_classes[VRT_DEVICES_MAX];
    const struct vrt_device_info *const *infos =
        vrt_registry_devices(vrt_shared_registry_get(pool->registry), &pool->n_devices);

    if (pool->n_devices == 0)
        return vrt_refuse(error, -ENODEV, "device.unknown", "there is no device to compute with");
    pool->n_devices = VRT_MIN(pool->n_devices, VRT_DEVICES_MAX);
    pool->devices = calloc(pool->n_devices, sizeof(*pool->devices));
    if (!pool->devices)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the devices");
    for (size_t d = 0; d < pool->n_devices; d++) {
        struct vrt_pool_device *device = &pool->devices[d];
        device->pool = pool;
        device->info = infos[d];
        device->state = VRT_DEVICE_STARTING;
        device->n_in_flight_max = VRT_SCHED_IN_FLIGHT;
        device->usage = (struct vrt_device_executor_usage){ .total_bytes = -1, .free_bytes = -1 };
        device->sensors = (struct vrt_device_sensors)VRT_DEVICE_SENSORS_UNKNOWN;
        while (strcmp(infos[device->speed_class]->class_id, infos[d]->class_id) != 0)
            device->speed_class++;
        speed_classes[d] = device->speed_class;
    }
    if (vrt_sched_new(pool->n_devices, speed_classes, &pool->sched) < 0)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the devices");
    return 0;
}

/* A default for what is 0. */
static double or_default(double value, double standard)
{
    return value > 0 ? value : standard;
}

int vrt_pool_new(const struct vrt_pool_params *params, struct vrt_pool **ret_pool,
                 struct vrt_error *error)
{
    VRT_CLEANUP(vrt_pool_freep) struct vrt_pool *pool = calloc(1, sizeof(*pool));
    int r;

    vrt_assert_thread(VRT_THREAD_LOOP);
    if (!pool)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the devices");
    vrt_list_init(&pool->jobs);
    pool->params = *params;
    pool->params.keep_alive_s = or_default(params->keep_alive_s, KEEP_ALIVE_DEFAULT_S);
    pool->params.stall_s = or_default(params->stall_s, STALL_DEFAULT_S);
    pool->params.silence_s = or_default(params->silence_s, SILENCE_DEFAULT_S);
    pool->params.retry_s = or_default(params->retry_s, RETRY_DEFAULT_S);
    pool->params.patience_s = or_default(params->patience_s, PATIENCE_DEFAULT_S);
    r = open_registry(pool, error);
    if (!r && vrt_replica_store_new(&(struct vrt_replica_store_params){ 0 }, &pool->replicas))
        r = vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the devices");
    if (!r)
        r = list_devices(pool, error);
    if (!r)
        r = vrt_pool_recall(pool, error);
    if (r)
        return vrt_fold(r);
    r = vrt_outbox_new(params->loop, &pool->outbox);
    if (r)
        return vrt_refuse_errno(error, r, "the event loop");
    uv_timer_init(params->loop, &pool->timer);
    pool->ticked_ns = pool->awake_ns = vrt_clock_now_ns();
    uv_timer_start(&pool->timer, on_tick, TICK_MS, TICK_MS);
    pool->n_handles = 2;
    for (size_t d = 0; d < pool->n_devices; d++)
        vrt_pool_device_ask(&pool->devices[d]);
    *ret_pool = VRT_STEAL(pool);
    return 0;
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

void vrt_pool_thread_ended(struct vrt_pool *pool)
{
    if (!pool->is_stopping)
        return;
    for (size_t d = 0; d < pool->n_devices; d++)
        if (pool->devices[d].mailbox)
            return;
    uv_close((uv_handle_t *)&pool->timer, on_timer_closed);
    vrt_outbox_close(pool->outbox, on_outbox_closed, pool);
    pool->outbox = NULL;
}

/* Once no job is left: lets the threads end. */
static void stop_threads(struct vrt_pool *pool)
{
    bool any = false;

    if (!pool->outbox)
        return;
    for (size_t d = 0; d < pool->n_devices; d++) {
        if (pool->devices[d].mailbox)
            vrt_mailbox_stop(pool->devices[d].mailbox);
        any |= pool->devices[d].mailbox != NULL;
    }
    if (!any)
        vrt_pool_thread_ended(pool);
}

void vrt_pool_expect_end(struct vrt_pool *pool)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    pool->is_ending = true;
}

void vrt_pool_stop(struct vrt_pool *pool, void (*stopped)(void *ctx), void *ctx)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    pool->stopped = stopped;
    pool->stopped_ctx = ctx;
    pool->is_stopping = true;
    vrt_pool_tell_jobs(pool, true);
    if (vrt_list_is_empty(&pool->jobs))
        stop_threads(pool);
}

struct vrt_pool *vrt_pool_free(struct vrt_pool *pool)
{
    if (!pool)
        return NULL;
    vrt_replica_store_unref(pool->replicas);
    vrt_shared_registry_unref(pool->registry);
    vrt_sched_free(pool->sched);
    free(pool->devices);
    free(pool);
    return NULL;
}

void vrt_pool_job_add(struct vrt_pool *pool, struct vrt_pool_job *job)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    job->n_told = pool->n_tellings;
    vrt_list_append(&pool->jobs, &job->link);
}

void vrt_pool_job_remove(struct vrt_pool *pool, struct vrt_pool_job *job)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    vrt_list_remove(&job->link);
    if (job->sched.kind) {
        vrt_sched_job_remove(pool->sched, &job->sched);
        job->sched.kind = vrt_sched_kind_free(job->sched.kind);
    }
    if (pool->is_stopping && vrt_list_is_empty(&pool->jobs))
        stop_threads(pool);
}

bool vrt_pool_has_abandoned(const struct vrt_pool *pool)
{
    return pool->has_abandoned;
}

size_t vrt_pool_n_devices(const struct vrt_pool *pool)
{
    return pool->n_devices;
}

void vrt_pool_device(const struct vrt_pool *pool, size_t i, struct vrt_device_snapshot *ret_device)
{
    const struct vrt_pool_device *device = &pool->devices[i];
    bool is_busy = vrt_pool_device_takes_shards(device) &&
                   vrt_sched_n_in_flight(pool->sched, i) > 0;
    double retry_s = (double)(device->retry_ns - vrt_clock_now_ns()) / VRT_NS_PER_S;

    vrt_assert_thread(VRT_THREAD_LOOP);
    *ret_device = (struct vrt_device_snapshot){
        .info = device->info,
        .state = is_busy ? VRT_DEVICE_BUSY : device->state,
        .in_flight = vrt_sched_n_in_flight(pool->sched, i),
        .shards_done = device->shards_done,
        .shards_failed = device->shards_failed,
        .frames_done = device->frames_done,
        .shard_s = device->shard_s > 0 ? device->shard_s : -1,
        .retry_in_s = device->retry_ns ? VRT_MAX(retry_s, 0) : -1,
        .memory_total_bytes = device->usage.total_bytes >= 0 ? device->usage.total_bytes :
            device->info->memory_total_bytes,
        .memory_free_bytes = device->usage.free_bytes,
        .used_bytes = device->usage.used_bytes,
        .replica_bytes = device->usage.replica_bytes,
        .workspace_bytes = device->usage.workspace_bytes,
        .peak_bytes = device->usage.peak_bytes,
        .n_replicas = device->usage.n_replicas,
        .sensors = device->sensors,
    };
    snprintf(ret_device->last_error, sizeof(ret_device->last_error), "%s", device->last_error);
}

int vrt_pool_replicas(const struct vrt_pool *pool, struct vrt_replica_entry **ret_entries,
                      size_t *ret_n_entries)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    return vrt_fold(vrt_replica_store_list(pool->replicas, ret_entries, ret_n_entries));
}

const struct vrt_device_info *const *vrt_pool_infos(const struct vrt_pool *pool,
                                                    size_t *ret_n_infos)
{
    const struct vrt_device_info *const *infos =
        vrt_registry_devices(vrt_shared_registry_get(pool->registry), ret_n_infos);

    *ret_n_infos = pool->n_devices;
    return infos;
}

const struct vrt_findings *vrt_pool_findings(const struct vrt_pool *pool)
{
    return vrt_registry_findings(vrt_shared_registry_get(pool->registry));
}

uint64_t vrt_pool_ready_devices(const struct vrt_pool *pool)
{
    uint64_t ready = 0;

    for (size_t d = 0; d < pool->n_devices; d++)
        if (vrt_pool_device_takes_shards(&pool->devices[d]))
            ready |= UINT64_C(1) << d;
    return ready;
}

uint64_t vrt_pool_starting_devices(const struct vrt_pool *pool)
{
    uint64_t starting = 0;

    for (size_t d = 0; d < pool->n_devices; d++)
        if (pool->devices[d].state == VRT_DEVICE_STARTING)
            starting |= UINT64_C(1) << d;
    return starting;
}

uint64_t vrt_pool_hopeful_devices(const struct vrt_pool *pool)
{
    uint64_t hopeful = 0;

    for (size_t d = 0; d < pool->n_devices; d++)
        if (pool->devices[d].state == VRT_DEVICE_STARTING ||
            pool->devices[d].state == VRT_DEVICE_QUARANTINED)
            hopeful |= UINT64_C(1) << d;
    return hopeful;
}

uint64_t vrt_pool_unfit_devices(const struct vrt_pool *pool, int n_tries)
{
    uint64_t unfit = 0;

    for (size_t d = 0; d < pool->n_devices; d++)
        if (!pool->devices[d].has_worked && pool->devices[d].n_opens >= n_tries)
            unfit |= UINT64_C(1) << d;
    return unfit;
}

uint64_t vrt_pool_silent_devices(const struct vrt_pool *pool)
{
    uint64_t silent = 0;

    for (size_t d = 0; d < pool->n_devices; d++)
        if (vrt_pool_device_silent_s(&pool->devices[d]) > pool->params.silence_s)
            silent |= UINT64_C(1) << d;
    return silent;
}

int vrt_pool_device_class(const struct vrt_pool *pool, size_t d)
{
    return pool->devices[d].speed_class;
}

const char *vrt_pool_device_error(const struct vrt_pool *pool, size_t d)
{
    return pool->devices[d].last_error;
}

struct vrt_network *vrt_pool_share_network(const struct vrt_pool *pool,
                                           struct vrt_network *network)
{
    struct vrt_pool_job *job;

    VRT_LIST_FOREACH(job, &pool->jobs, link) {
        if (job->network && job->network != network &&
            vrt_network_checksum(job->network) == vrt_network_checksum(network)) {
            vrt_network_unref(network);
            return vrt_network_ref(job->network);
        }
    }
    return network;
}

double vrt_pool_patience_s(const struct vrt_pool *pool)
{
    return pool->params.patience_s;
}

double vrt_pool_retry_s(const struct vrt_pool *pool)
{
    return pool->params.retry_s;
}

struct vrt_outbox *vrt_pool_outbox(struct vrt_pool *pool)
{
    return pool->outbox;
}

bool vrt_pool_is_stopping(const struct vrt_pool *pool)
{
    return pool->is_stopping;
}
