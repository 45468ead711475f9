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

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/devices/pool-impl.h"
#include "daemon/sched/sched.h"

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
    double wait_s = device->pool->params.retry_s;

    set_error(device, why);
    if (device->state == VRT_DEVICE_LOST || device->retry_ns)
        return;
    for (int i = 0; i < device->n_quarantines && wait_s < RETRY_MAX_S; i++)
        wait_s *= 2;
    device->n_quarantines++;
    device->n_failures = 0;
    device->state = VRT_DEVICE_QUARANTINED;
    device->retry_ns = vrt_clock_now_ns() + (int64_t)(VRT_MIN(wait_s, RETRY_MAX_S) * VRT_NS_PER_S);
    vrt_log_warning("%s is quarantined for %.0f s: %s", device->info->name,
                    VRT_MIN(wait_s, RETRY_MAX_S), device->last_error);
}

void vrt_pool_device_note(struct vrt_pool_device *device, const struct vrt_worker_task *task)
{
    if (task->usage.used_bytes < 0)
        return;
    device->usage = task->usage;
    device->sensors = task->sensors;
    device->told_at_ns = vrt_clock_now_ns();
}

/*
 * Has those try themselves out that are one piece of hardware with a device which is lost: what it
 * is lost by is theirs as well, and it can't be reset before all of them have closed it.
 */
static void suspect_others(struct vrt_pool_device *lost)
{
    struct vrt_pool *pool = lost->pool;

    for (size_t d = 0; d < pool->n_devices; d++) {
        struct vrt_pool_device *other = &pool->devices[d];
        if (other != lost && vrt_device_info_is_same_card(other->info, lost->info) &&
            vrt_pool_device_takes_shards(other))
            vrt_pool_device_ask(other);
    }
}

/* What the outcome of any task says about the device itself. */
void vrt_pool_device_judge(struct vrt_pool_device *device, const struct vrt_worker_task *task)
{
    if (task->request == VRT_WORKER_OPEN)
        return;
    if (task->task.outcome == VRT_TASK_LOST) {
        vrt_pool_device_quarantine(device, "it gave no sign of life");
    } else if (task->task.outcome == VRT_TASK_FAILED) {
        if (task->result == VRT_BACKEND_E_LOST) {
            vrt_pool_device_quarantine(device, task->error.message);
            suspect_others(device);
        } else if (task->result == VRT_BACKEND_E_NOMEM) {
            device->n_in_flight_max = 1;
            device->n_calm = 0;
            set_error(device, task->error.message);
        } else if (task->request == VRT_WORKER_RUN) {
            set_error(device, task->error.message);
            /* Wrong output may be the network's fault: see vrt_pool_blame(). */
            if (task->result != VRT_DEVICE_EXECUTOR_E_OUTPUT &&
                ++device->n_failures >= FAILURES_MAX)
                vrt_pool_device_quarantine(device, task->error.message);
        }
    } else if (task->task.outcome == VRT_TASK_DONE && task->request == VRT_WORKER_RUN) {
        device->n_failures = device->n_quarantines = 0;
        if (device->n_in_flight_max < VRT_SCHED_IN_FLIGHT && ++device->n_calm >= CALM)
            device->n_in_flight_max = VRT_SCHED_IN_FLIGHT;
    }
}

/* An OPEN task came back. */
static void opened(void *ctx, size_t d, struct vrt_worker_task *task)
{
    struct vrt_pool *pool = ctx;
    struct vrt_pool_device *device = &pool->devices[d];

    if (task->task.outcome == VRT_TASK_DONE) {
        vrt_log_info("%s is ready: %s", device->info->name, device->info->description);
        device->state = VRT_DEVICE_READY;
        device->has_worked = true;
        device->n_opens = 0;
        device->n_in_flight_max = VRT_SCHED_IN_FLIGHT;
    } else if (task->task.outcome != VRT_TASK_STOPPED) {
        vrt_pool_device_quarantine(device, task->task.abandoned ? "opening it takes for ever" :
                                   task->error.message);
        if (++device->n_opens >= OPENS_MAX) {
            vrt_log_error("%s is lost: %s", device->info->name, device->last_error);
            device->state = VRT_DEVICE_LOST;
        }
    }
    vrt_pool_tell_jobs(pool, false);
}

static int start_device(struct vrt_pool_device *device);

/* Asks a device that is starting, was quarantined or is suspected, whether it works. */
void vrt_pool_device_ask(struct vrt_pool_device *device)
{
    struct vrt_worker_task *task = NULL;
    int r = device->mailbox ? 0 : start_device(device);

    device->retry_ns = 0;
    if (!r)
        task = vrt_worker_task_new(VRT_WORKER_OPEN, NULL, NULL);
    if (!r && !task)
        r = vrt_raise(-ENOMEM);
    if (!r)
        r = vrt_pool_submit(device->pool, (size_t)(device - device->pool->devices), task, opened,
                            device->pool);
    if (r)
        vrt_pool_device_quarantine(device, vrt_backend_strerror(r));
}

/* The device's thread has ended, or was abandoned. */
static void worker_ended(void *ctx, bool abandoned)
{
    struct vrt_pool_device *device = ctx;
    struct vrt_pool *pool = device->pool;

    if (abandoned) {
        vrt_replica_store_forget(pool->replicas, device->info);
        pool->has_abandoned = true;
    }
    device->mailbox = NULL;
    device->usage = (struct vrt_device_executor_usage){ .total_bytes = -1, .free_bytes = -1 };
    device->sensors = (struct vrt_device_sensors)VRT_DEVICE_SENSORS_UNKNOWN;
    vrt_pool_thread_ended(pool);
}

static int start_device(struct vrt_pool_device *device)
{
    struct vrt_pool *pool = device->pool;
    struct vrt_worker_params params = {
        .outbox = pool->outbox,
        .registry = pool->registry,
        .info = device->info,
        .executor = {
            .memory_fraction = pool->params.memory_fraction,
            .memory_limit_bytes = pool->params.memory_limit_bytes,
            .store = pool->replicas,
        },
        .ended = worker_ended,
        .ctx = device,
    };

    for (size_t d = 0; d < pool->n_devices; d++)
        params.executor.n_sharing += vrt_device_info_shares_memory(device->info,
                                                                 pool->devices[d].info);
    return vrt_fold(vrt_worker_new(&params, &device->mailbox));
}

/* How fast the device runs the network of a shard; nobody knows how long anything else takes. */
static double flops_per_s(const struct vrt_pool_device *device, const struct vrt_worker_task *task)
{
    struct vrt_pool *pool = device->pool;

    if (task->request != VRT_WORKER_RUN || task->by_ops)
        return NAN;
    return vrt_pool_speed(pool, vrt_network_checksum(task->spec->network),
                          (size_t)(device - pool->devices))[task->dtype];
}

/* How long a silence a task explains, and whether that was measured. */
static double explained_s(const struct vrt_pool_device *device, const struct vrt_worker_task *task,
                          bool *ret_was_measured)
{
    const struct vrt_pool_ticket *ticket = task->ctx;
    const double speed = flops_per_s(device, task);
    const int slower = device->info->n_threads > 0 ? SLOWER_MAX_BEHIND : SLOWER_MAX;

    *ret_was_measured = speed > 0;
    return (double)ticket->tile_flops / (speed > 0 ? speed / slower : SLOWEST_FLOPS);
}

/* For how long the loop has been looking. While the process was stopped, or frozen, no device could
 * give a sign of life. */
static int64_t awake_for_ns(const struct vrt_pool *pool)
{
    const int64_t now_ns = vrt_clock_now_ns();

    return now_ns - pool->ticked_ns > VRT_POOL_STILL_NS ? 0 : now_ns - pool->awake_ns;
}

/* What the device is at; NULL: nothing. Of the task what is asked may be read. */
static const struct vrt_worker_task *running(const struct vrt_pool_device *device,
                                             double *ret_silent_s)
{
    int64_t silent_ns = 0;
    const struct vrt_task *task = device->mailbox ?
        vrt_mailbox_running(device->mailbox, &silent_ns) : NULL;

    silent_ns = VRT_MIN(silent_ns, awake_for_ns(device->pool));
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
    const struct vrt_pool_params *params = &device->pool->params;
    double silent_s;
    bool was_measured;
    const struct vrt_worker_task *task = running(device, &silent_s);

    if (!task)
        return;
    double allowed_s = explained_s(device, task, &was_measured);
    double more_s = was_measured ? VRT_MIN(2 * params->silence_s, params->stall_s) :
                                   params->stall_s;
    if (device->pool->is_ending)
        more_s = VRT_MIN(more_s, STALL_STOPPING_S);
    allowed_s += more_s;
    if (device->pool->is_stopping)
        allowed_s = VRT_MIN(allowed_s, STALL_STOPPING_S);
    if (silent_s < allowed_s)
        return;
    vrt_log_error("%s has been silent for %.0f s and is given up", device->info->name, silent_s);
    vrt_pool_device_quarantine(device, "it gave no sign of life");
    vrt_mailbox_abandon(device->mailbox);
}

/* Lets a device that has nothing to do give up what it kept warm for too long. */
static void trim(struct vrt_pool_device *device)
{
    struct vrt_pool *pool = device->pool;
    size_t d = (size_t)(device - pool->devices);
    struct vrt_worker_task *task;
    int r;

    if (!vrt_pool_device_takes_shards(device) || vrt_sched_n_in_flight(pool->sched, d) > 0 ||
        device->usage.n_replicas == 0 ||
        seconds_since(device->used_at_ns) < pool->params.keep_alive_s)
        return;
    task = vrt_worker_task_new(VRT_WORKER_TRIM, NULL, NULL);
    if (!task)
        return;
    task->idle_ns = (int64_t)(pool->params.keep_alive_s * VRT_NS_PER_S);
    r = vrt_pool_submit(pool, d, task, NULL, NULL);
    if (r)
        vrt_log_debug("%s keeps its idle replicas, ignoring", device->info->name);
}

/* A TELL task came back. */
static void told(void *ctx, size_t d, struct vrt_worker_task *task)
{
    struct vrt_pool *pool = ctx;

    (void)task;
    pool->devices[d].is_asked = false;
}

/* Asks a device that has sensors, and nothing else to answer to, how it is. */
static void ask_sensors(struct vrt_pool_device *device)
{
    struct vrt_pool *pool = device->pool;
    size_t d = (size_t)(device - pool->devices);
    struct vrt_worker_task *task;
    int r;

    if (!device->sensors.are_known || device->is_asked || !vrt_pool_device_takes_shards(device) ||
        vrt_sched_n_in_flight(pool->sched, d) > 0 || seconds_since(device->told_at_ns) < TELL_S)
        return;
    task = vrt_worker_task_new(VRT_WORKER_TELL, NULL, NULL);
    if (!task)
        return;
    r = vrt_pool_submit(pool, d, task, told, pool);
    device->is_asked = r == 0;
    if (r)
        vrt_log_debug("%s isn't asked how it is, ignoring", device->info->name);
}

void vrt_pool_device_tick(struct vrt_pool_device *device)
{
    watch(device);
    if (device->pool->is_stopping)
        return;
    if (device->state == VRT_DEVICE_QUARANTINED && device->retry_ns &&
        vrt_clock_now_ns() >= device->retry_ns)
        vrt_pool_device_ask(device);
    trim(device);
    ask_sensors(device);
}
