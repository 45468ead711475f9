/* SPDX-License-Identifier: MIT */

/*
 * A device's life in the pool: opened, given up, quarantined, asked again, lost.
 *
 *     STARTING --open--> READY --fails twice in a row, is lost, hangs--> QUARANTINED
 *        READY <--open, after a while that doubles each time-- QUARANTINED
 *                                          QUARANTINED --can't be opened six times--> LOST
 *
 * One failure may be the shard's fault, two in a row are taken for the device's. Wrong results are
 * different: they may be the network's, and then every device would be quarantined for them. So
 * they count against a device only when another did the same shard well: vrt_pool_blame().
 */

#include "daemon/devices/pool-device.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "daemon/sched/sched.h"
#include "engine/replica.h"
#include "workers/device/load.h"

#define VRT_LOG_TOPIC "pool"

/* A stopping daemon waits no longer for a device: while jobs are put back, beyond what its work
 * explains; then at all. */
#define STALL_STOPPING_S 20.0

/* The longest quarantine. */
#define RETRY_MAX_S 300.0

/* A device that can't be opened so often in a row is lost. */
#define OPENS_MAX 6

/* Failures in a row that quarantine a device. */
#define FAILURES_MAX 2

/* Shards after which a device that was short of memory gets as many at a time as others. */
#define CALM 16

/* A device that rests is asked so often how it is. */
#define TELL_S 5.0

/* A tick that comes later than this after the one before was kept from coming. */
#define STILL_NS (5 * VRT_NS_PER_S)

/* No device that works is slower: what it computes without a sign of life is allowed for. */
#define SLOWEST_FLOPS 1e9

/* Nor is one slower than it was measured by so much, whoever else uses it. Processors' threads
 * stand back behind all other programs' (the cpu backend's NICE), which may be on every core. */
#define SLOWER_MAX 10
#define SLOWER_MAX_BEHIND 200

bool vrt_pool_device_takes_shards(const struct vrt_pool_device *device)
{
    return device->mailbox && device->state == VRT_DEVICE_READY;
}

/* Shards that it may hold: those that it works on at a time, but one more in any case. */
static int in_flight(const struct vrt_device_info *info)
{
    return VRT_MIN(VRT_MAX(info->n_in_flight, 2), VRT_SCHED_IN_FLIGHT);
}

static double seconds_since(int64_t ns)
{
    return (double)(vrt_clock_now_ns() - ns) / VRT_NS_PER_S;
}

/* Some reasons begin with the device's name, which everybody who tells them says himself. */
static void set_error(struct vrt_pool_device *device, const char *why)
{
    const size_t n = strlen(device->info->name);

    if (strncmp(why, device->info->name, n) == 0 && strncmp(why + n, ": ", 2) == 0)
        why += n + 2;
    snprintf(device->last_error, sizeof(device->last_error), "%s", why);
}

void vrt_pool_device_quarantine(struct vrt_pool_device *device, const char *why)
{
    double wait_s = device->shared->params.retry_s;
    VRT_LOG_DEVICE(device->info->name);

    set_error(device, why);
    if (device->state == VRT_DEVICE_LOST || device->retry_ns)
        return;
    for (int i = 0; i < device->n_quarantines && wait_s < RETRY_MAX_S; i++)
        wait_s *= 2;
    device->n_quarantines++;
    device->n_quarantined++;
    device->n_failures = 0;
    device->state = VRT_DEVICE_QUARANTINED;
    device->retry_ns = vrt_clock_now_ns() + (int64_t)(VRT_MIN(wait_s, RETRY_MAX_S) * VRT_NS_PER_S);
    vrt_log_warning("%s is quarantined for %.0f s: %s", device->info->name,
                    VRT_MIN(wait_s, RETRY_MAX_S), device->last_error);
}

/* Takes over what the task's answer tells of the device. */
static void note(struct vrt_pool_device *device, const struct vrt_worker_task *task)
{
    if (task->usage.used_bytes < 0)
        return;
    device->usage = task->usage;
    device->sensors = task->sensors;
    device->told_at_ns = vrt_clock_now_ns();
}

void vrt_pool_device_judge(struct vrt_pool_device *device, const struct vrt_worker_task *task)
{
    if (task->request == VRT_WORKER_OPEN)
        return;
    if (task->task.outcome == VRT_TASK_LOST) {
        vrt_pool_device_quarantine(device, "it gave no sign of life");
    } else if (task->task.outcome == VRT_TASK_FAILED) {
        if (task->result == VRT_BACKEND_E_LOST) {
            vrt_pool_device_quarantine(device, task->error.message);
            device->shared->lost(device->shared->ctx, device->index);
        } else if (task->result == VRT_BACKEND_E_NOMEM) {
            device->n_in_flight_max = 1;
            device->n_calm = 0;
            set_error(device, task->error.message);
        } else if (task->request == VRT_WORKER_RUN) {
            set_error(device, task->error.message);
            /* Wrong output may be the network's fault: see vrt_pool_blame(). */
            if (!vrt_device_executor_is_wrong(task->result) &&
                ++device->n_failures >= FAILURES_MAX)
                vrt_pool_device_quarantine(device, task->error.message);
        }
    } else if (task->task.outcome == VRT_TASK_DONE && task->request == VRT_WORKER_RUN) {
        device->n_failures = device->n_quarantines = 0;
        if (device->n_in_flight_max < in_flight(device->info) && ++device->n_calm >= CALM)
            device->n_in_flight_max = in_flight(device->info);
    }
}

/* A shard that is wanted came back. */
static void count_shard(struct vrt_pool_device *device, const struct vrt_worker_task *task)
{
    const double busy_s = (double)task->busy_ns / VRT_NS_PER_S;

    if (task->task.outcome == VRT_TASK_DONE) {
        device->shards_done++;
        device->frames_done +=
            vrt_shard_n_out(&vrt_container_of(task, const struct vrt_worker_run, base)->frames);
        device->shard_s = vrt_sched_measure(device->shard_s, busy_s);
        vrt_histogram_add(&device->shard_times, busy_s);
    } else if (task->task.outcome == VRT_TASK_FAILED || task->task.outcome == VRT_TASK_LOST) {
        device->shards_failed++;
    }
}

/* A task that was dropped may fail: the device is judged by it only where it is gone. */
static bool is_lost(const struct vrt_worker_task *task)
{
    return task->task.outcome == VRT_TASK_LOST ||
           (task->task.outcome == VRT_TASK_FAILED && task->result == VRT_BACKEND_E_LOST);
}

/* On the loop: a device returned a task. */
static void on_done(struct vrt_task *base)
{
    struct vrt_worker_task *task = vrt_container_of(base, struct vrt_worker_task, task);
    VRT_CLEANUP(vrt_freep) struct vrt_pool_ticket *ticket = task->ctx;
    struct vrt_pool_device *device = ticket->device;
    struct vrt_pool_shared *shared = device->shared;
    bool abandoned = base->abandoned;

    if (!abandoned && base->outcome != VRT_TASK_STOPPED)
        note(device, task);
    device->n_in_flight -= ticket->is_shard;
    if (ticket->is_shard && !ticket->is_dropped)
        count_shard(device, task);
    if (!ticket->is_dropped || is_lost(task))
        vrt_pool_device_judge(device, task);
    if (ticket->returned)
        ticket->returned(ticket->ctx, device->index, task);
    if (!abandoned)
        vrt_worker_task_free(task);
    shared->returned(shared->ctx);
}

int vrt_pool_device_post(struct vrt_pool_device *device, struct vrt_worker_task *task,
                         struct vrt_pool_ticket *ticket)
{
    /* The others are short, and somebody waits for them. A release must not overtake. */
    static const bool is_last[VRT_WORKER_REQUEST_COUNT] = {
        [VRT_WORKER_RUN] = true,
        [VRT_WORKER_RELEASE] = true,
    };
    int r = device->mailbox ? 0 : vrt_raise(-ENODEV);

    vrt_assert_thread(VRT_THREAD_LOOP);
    ticket->device = device;
    task->ctx = ticket;
    task->task.done = on_done;
    if (r == 0 && is_last[task->request])
        r = vrt_mailbox_post(device->mailbox, &task->task);
    else if (r == 0)
        r = vrt_mailbox_post_first(device->mailbox, &task->task);
    if (task->request != VRT_WORKER_TELL)
        device->used_at_ns = vrt_clock_now_ns();
    if (r < 0) {
        free(ticket);
        return vrt_fold(r);
    }
    device->n_in_flight += ticket->is_shard;
    return 0;
}

int vrt_pool_device_submit(struct vrt_pool_device *device, struct vrt_worker_task *task,
                           void (*returned)(void *ctx, size_t d, struct vrt_worker_task *task),
                           void *ctx)
{
    struct vrt_pool_ticket *ticket = calloc(1, sizeof(*ticket));
    int r = -ENOMEM;

    if (ticket) {
        ticket->returned = returned;
        ticket->ctx = ctx;
        r = vrt_pool_device_post(device, task, ticket);
    }
    if (r < 0)
        vrt_worker_task_free(task);
    return vrt_fold(r);
}

/* An OPEN task came back. */
static void opened(void *ctx, size_t d, struct vrt_worker_task *task)
{
    struct vrt_pool_device *device = ctx;
    VRT_LOG_DEVICE(device->info->name);

    (void)d;
    if (task->task.outcome == VRT_TASK_DONE) {
        vrt_log_info("%s is ready: %s", device->info->name, device->info->description);
        device->state = VRT_DEVICE_READY;
        device->has_worked = true;
        device->n_opens = 0;
        device->n_in_flight_max = in_flight(device->info);
    } else if (task->task.outcome != VRT_TASK_STOPPED) {
        vrt_pool_device_quarantine(device, task->task.abandoned ? "opening it takes for ever" :
                                   task->error.message);
        if (++device->n_opens >= OPENS_MAX) {
            vrt_log_error("%s is lost: %s", device->info->name, device->last_error);
            device->state = VRT_DEVICE_LOST;
        }
    }
    device->shared->opened(device->shared->ctx);
}

/* The device has no thread. */
static void forget_thread(struct vrt_pool_device *device)
{
    device->mailbox = NULL;
    device->usage = (struct vrt_device_executor_usage){ .total_bytes = -1, .free_bytes = -1 };
    device->sensors = (struct vrt_device_sensors)VRT_DEVICE_SENSORS_UNKNOWN;
}

void vrt_pool_device_init(struct vrt_pool_device *device, struct vrt_pool_shared *shared, size_t d)
{
    *device = (struct vrt_pool_device){
        .shared = shared,
        .index = d,
        .info = shared->infos[d],
        .state = VRT_DEVICE_STARTING,
        .n_in_flight_max = in_flight(shared->infos[d]),
    };
    forget_thread(device);
}

/* The device's thread has ended, or was abandoned. */
static void worker_ended(void *ctx, bool abandoned)
{
    struct vrt_pool_device *device = ctx;
    struct vrt_pool_shared *shared = device->shared;

    if (abandoned)
        vrt_replica_store_forget(shared->replicas, device->info);
    forget_thread(device);
    shared->ended(shared->ctx, abandoned);
}

static int start_thread(struct vrt_pool_device *device)
{
    const struct vrt_pool_shared *shared = device->shared;
    struct vrt_worker_params params = {
        .outbox = shared->outbox,
        .registry = shared->registry,
        .info = device->info,
        .executor = {
            .memory_limit_bytes = shared->params.memory_limit_bytes,
            .store = shared->replicas,
        },
        .ended = worker_ended,
        .ctx = device,
    };

    for (size_t d = 0; d < shared->n_infos; d++)
        params.executor.n_sharing += vrt_device_info_shares_memory(device->info,
                                                                   shared->infos[d]);
    return vrt_fold(vrt_worker_new(&params, &device->mailbox));
}

void vrt_pool_device_ask(struct vrt_pool_device *device)
{
    struct vrt_worker_task *task = NULL;
    int r = device->mailbox ? 0 : start_thread(device);

    device->retry_ns = 0;
    if (r == 0)
        task = vrt_worker_open_new();
    if (r == 0 && !task)
        r = vrt_raise(-ENOMEM);
    if (r == 0)
        r = vrt_pool_device_submit(device, task, opened, device);
    if (r < 0)
        vrt_pool_device_quarantine(device, vrt_backend_strerror(r));
}

/* How long a silence a task explains, and whether that was measured: it is of the network of a
 * shard; nobody knows how long anything else takes. */
static double explained_s(const struct vrt_pool_device *device, const struct vrt_worker_task *task,
                          bool *ret_was_measured)
{
    const struct vrt_worker_run *run = vrt_container_of(task, const struct vrt_worker_run, base);
    const int slower = device->info->n_threads > 0 ? SLOWER_MAX_BEHIND : SLOWER_MAX;
    double speed = NAN;

    *ret_was_measured = false;
    if (task->request != VRT_WORKER_RUN)
        return 0;
    if (!run->by_ops)
        speed = vrt_measurements_speed(device->shared->measurements,
                                       vrt_network_checksum(run->spec->network),
                                       device->index)[run->dtype];
    *ret_was_measured = speed > 0;
    const int n_frames = vrt_load_batch(device->info, run->spec, &run->spec->grid,
                                        run->batch);
    return (double)run->tile_flops * n_frames / (speed > 0 ? speed / slower : SLOWEST_FLOPS);
}

/* For how long the loop has been looking. While the process was stopped, or frozen, no device could
 * give a sign of life. */
static int64_t awake_for_ns(const struct vrt_pool_shared *shared)
{
    const int64_t now_ns = vrt_clock_now_ns();

    return now_ns - shared->ticked_ns > STILL_NS ? 0 : now_ns - shared->awake_ns;
}

/* What the device is at; NULL: nothing. Of the task what is asked may be read. */
static const struct vrt_worker_task *running(const struct vrt_pool_device *device,
                                             double *ret_silent_s)
{
    int64_t silent_ns = 0;
    const struct vrt_task *task = device->mailbox ?
        vrt_mailbox_running(device->mailbox, &silent_ns) : NULL;

    silent_ns = VRT_MIN(silent_ns, awake_for_ns(device->shared));
    *ret_silent_s = (double)silent_ns / VRT_NS_PER_S;
    return task ? vrt_container_of(task, const struct vrt_worker_task, task) : NULL;
}

double vrt_pool_device_silent_s(const struct vrt_pool_device *device)
{
    double silent_s;
    bool was_measured;
    const struct vrt_worker_task *task = running(device, &silent_s);

    return task ? VRT_MAX(silent_s - explained_s(device, task, &was_measured), 0) : 0;
}

/* Gives up a device that has been silent for longer than any work explains. */
static void watch(struct vrt_pool_device *device)
{
    const struct vrt_pool_params *params = &device->shared->params;
    double silent_s;
    bool was_measured;
    const struct vrt_worker_task *task = running(device, &silent_s);

    if (!task)
        return;
    double allowed_s = explained_s(device, task, &was_measured);
    double more_s = was_measured ? VRT_MIN(2 * params->silence_s, params->stall_s) :
                                   params->stall_s;
    if (device->shared->is_ending)
        more_s = VRT_MIN(more_s, STALL_STOPPING_S);
    allowed_s += more_s;
    if (device->shared->is_stopping)
        allowed_s = VRT_MIN(allowed_s, STALL_STOPPING_S);
    if (silent_s < allowed_s)
        return;
    vrt_pool_device_quarantine(device, "it gave no sign of life");
    VRT_LOG_DEVICE(device->info->name);
    vrt_log_error("%s has been silent for %.0f s and is given up", device->info->name, silent_s);
    vrt_mailbox_abandon(device->mailbox);
}

/* Lets a device that has nothing to do give up what it kept warm for too long. */
static void trim(struct vrt_pool_device *device)
{
    const double keep_alive_s = device->shared->params.keep_alive_s;
    struct vrt_worker_trim *task;

    if (!vrt_pool_device_takes_shards(device) || device->n_in_flight > 0 ||
        device->usage.n_replicas == 0 || seconds_since(device->used_at_ns) < keep_alive_s)
        return;
    task = vrt_worker_trim_new((int64_t)(keep_alive_s * VRT_NS_PER_S), false);
    if (task && vrt_pool_device_submit(device, &task->base, NULL, NULL) < 0)
        vrt_log_debug("%s keeps its idle replicas, ignoring", device->info->name);
}

/* A TELL task came back. */
static void told(void *ctx, size_t d, struct vrt_worker_task *task)
{
    struct vrt_pool_device *device = ctx;

    (void)d;
    (void)task;
    device->is_asked = false;
}

/* Asks a device that has sensors, and nothing else to answer to, how it is. */
static void ask_sensors(struct vrt_pool_device *device)
{
    struct vrt_worker_task *task;

    if (!device->sensors.are_known || device->is_asked || !vrt_pool_device_takes_shards(device) ||
        device->n_in_flight > 0 || seconds_since(device->told_at_ns) < TELL_S)
        return;
    task = vrt_worker_tell_new();
    if (!task)
        return;
    device->is_asked = vrt_pool_device_submit(device, task, told, device) == 0;
    if (!device->is_asked)
        vrt_log_debug("%s isn't asked how it is, ignoring", device->info->name);
}

void vrt_pool_shared_tick(struct vrt_pool_shared *shared)
{
    const int64_t now_ns = vrt_clock_now_ns();

    if (!shared->ticked_ns || now_ns - shared->ticked_ns > STILL_NS)
        shared->awake_ns = now_ns;
    shared->ticked_ns = now_ns;
}

void vrt_pool_device_tick(struct vrt_pool_device *device)
{
    watch(device);
    if (device->shared->is_stopping)
        return;
    if (device->state == VRT_DEVICE_QUARANTINED && device->retry_ns &&
        vrt_clock_now_ns() >= device->retry_ns)
        vrt_pool_device_ask(device);
    trim(device);
    ask_sensors(device);
}

void vrt_pool_device_snapshot(const struct vrt_pool_device *device,
                              struct vrt_device_snapshot *ret_snapshot)
{
    const struct vrt_device_executor_usage *usage = &device->usage;
    bool is_busy = vrt_pool_device_takes_shards(device) && device->n_in_flight > 0;
    double retry_s = (double)(device->retry_ns - vrt_clock_now_ns()) / VRT_NS_PER_S;

    *ret_snapshot = (struct vrt_device_snapshot){
        .info = device->info,
        .state = is_busy ? VRT_DEVICE_BUSY : device->state,
        .in_flight = device->n_in_flight,
        .shards_done = device->shards_done,
        .shards_failed = device->shards_failed,
        .frames_done = device->frames_done,
        .n_quarantined = device->n_quarantined,
        .shard_times = device->shard_times,
        .shard_s = device->shard_s > 0 ? device->shard_s : -1,
        .retry_in_s = device->retry_ns ? VRT_MAX(retry_s, 0) : -1,
        .memory_total_bytes = usage->total_bytes >= 0 ? usage->total_bytes :
            device->info->memory_total_bytes,
        .memory_free_bytes = usage->free_bytes,
        .used_bytes = usage->used_bytes,
        .replica_bytes = usage->replica_bytes,
        .workspace_bytes = usage->workspace_bytes,
        .peak_bytes = usage->peak_bytes,
        .n_replicas = usage->n_replicas,
        .sensors = device->sensors,
    };
    snprintf(ret_snapshot->last_error, sizeof(ret_snapshot->last_error), "%s", device->last_error);
}
