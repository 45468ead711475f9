/* SPDX-License-Identifier: MIT */

/*
 * A device executor holds two things that take memory: replicas, which cost time to make and may
 * serve the next job, and sessions, which are quickly made again. When an allocation fails it gives
 * up what is idle, oldest first and replicas before the sessions of other jobs, and tries again;
 * only a device on which nothing idle is left is told to be full. What the driver says is free
 * decides about a probe's plan only: other processes may have taken it before anything is
 * allocated.
 *
 * Where a replica's bytes come from is the store's business (engine/replica.h), in which the
 * device executors of all devices meet. A session is found by its spec, a replica by the weights'
 * checksum and the precision: jobs with one model share the replica, each with a session of its
 * own. A session refers to its replica, so that one in use is never given up, and of the job at
 * hand neither is.
 */

#include "workers/device/device-executor-impl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "workers/device/restore.h"

#define VRT_LOG_TOPIC "executor"

#define BYTES_PER_MIB (1 << 20)

/* Of what is free, that a session may take before those of other jobs go: more than planned with,
 * so that two jobs which fit don't push each other out whenever a little less is free. */
#define SQUEEZED_FRACTION 0.95

/* A seat at the store that was given, or at one that goes with the seat. */
static int take_seat(struct vrt_device_executor *executor)
{
    VRT_CLEANUP(vrt_replica_store_unrefp) struct vrt_replica_store *own = NULL;
    struct vrt_replica_store *store = executor->params.store;

    if (!store) {
        int r = vrt_replica_store_new(&(struct vrt_replica_store_params){ 0 }, &own);
        if (r < 0)
            return vrt_fold(r);
        store = own;
    }
    return vrt_fold(vrt_replica_seat_new(store, executor->device, &executor->seat));
}

int vrt_device_executor_new(struct vrt_device *device,
                            const struct vrt_device_executor_params *params,
                   struct vrt_device_executor **ret_executor)
{
    struct vrt_device_executor *executor = calloc(1, sizeof(*executor));

    if (!executor)
        return vrt_raise(-ENOMEM);
    executor->device = device;
    executor->params = *params;
    int r = take_seat(executor);
    if (r < 0) {
        free(executor);
        return vrt_fold(r);
    }
    vrt_device_limit_memory(device, params->memory_limit_bytes);
    if (executor->params.n_sharing < 1)
        executor->params.n_sharing = 1;
    vrt_list_init(&executor->replicas);
    vrt_list_init(&executor->sessions);
    *ret_executor = executor;
    return 0;
}

struct vrt_device *vrt_device_executor_device(const struct vrt_device_executor *executor)
{
    return executor->device;
}

static void free_session(struct vrt_held_session *held)
{
    vrt_assert(vrt_session_n_begun(held->session) == 0);
    vrt_list_remove(&held->link);
    if (--held->replica->n_sessions == 0)
        vrt_replica_hold_mark(held->replica->hold, false);
    /* It may be idle from now on, and was in use until now, however long ago it was made. */
    held->replica->used_ns = vrt_clock_now_ns();
    vrt_session_free(held->session);
    vrt_job_spec_unref(held->spec);
    free(held);
}

static void free_replica(struct vrt_held_replica *held)
{
    vrt_assert(held->n_sessions == 0);
    vrt_list_remove(&held->link);
    vrt_replica_hold_free(held->hold);
    free(held);
}

void vrt_device_executor_drop_replica(struct vrt_device_executor *executor,
                                      struct vrt_held_replica *held)
{
    struct vrt_held_session *session;

    VRT_LIST_FOREACH(session, &executor->sessions, link)
        if (session->replica == held)
            free_session(session);
    free_replica(held);
}

struct vrt_device_executor *vrt_device_executor_free(struct vrt_device_executor *executor)
{
    struct vrt_held_session *session;
    struct vrt_held_replica *replica;

    if (!executor)
        return NULL;
    VRT_LIST_FOREACH(session, &executor->sessions, link)
        free_session(session);
    VRT_LIST_FOREACH(replica, &executor->replicas, link)
        free_replica(replica);
    vrt_replica_seat_free(executor->seat);
    free(executor);
    return NULL;
}

static void note_peak(struct vrt_device_executor *executor)
{
    executor->peak_bytes = VRT_MAX(executor->peak_bytes, vrt_device_used_bytes(executor->device));
}

static bool is_of(const struct vrt_held_replica *held, const struct vrt_network *network,
                  enum vrt_dtype dtype)
{
    return held->checksum == vrt_network_checksum(network) && held->dtype == dtype;
}

bool vrt_device_executor_give_up(struct vrt_device_executor *executor,
                                 const struct vrt_job_spec *keep, enum vrt_dtype dtype)
{
    struct vrt_held_replica *replica, *oldest_replica = NULL;
    struct vrt_held_session *session, *oldest_session = NULL;

    VRT_LIST_FOREACH(replica, &executor->replicas, link)
        if (!replica->n_sessions && !is_of(replica, keep->network, dtype) &&
            (!oldest_replica || replica->used_ns < oldest_replica->used_ns))
            oldest_replica = replica;
    if (oldest_replica) {
        free_replica(oldest_replica);
        return true;
    }
    VRT_LIST_FOREACH(session, &executor->sessions, link)
        if (session->spec != keep &&
            (!oldest_session || session->used_ns < oldest_session->used_ns))
            oldest_session = session;
    if (oldest_session)
        free_session(oldest_session);
    return oldest_session != NULL;
}

/* What users of large models look for: how long it took, and what is taken of the device. */
static void log_loading(const struct vrt_device_executor *executor,
                        const struct vrt_network *network, const struct vrt_held_replica *held,
                        int64_t bytes_before, int64_t start_ns)
{
    vrt_log_info("%s: %s in %s: %.1f MiB of weights in %.2f s; vrtd holds %.1f MiB of the device, "
                 "%.1f before", vrt_device_info(executor->device)->name,
                 vrt_network_info(network)->description, vrt_dtype_name(held->dtype),
                 (double)vrt_replica_bytes(executor->device, held->replica) / BYTES_PER_MIB,
                 (double)(vrt_clock_now_ns() - start_ns) / VRT_NS_PER_S,
                 (double)vrt_device_used_bytes(executor->device) / BYTES_PER_MIB,
                 (double)bytes_before / BYTES_PER_MIB);
}

int vrt_device_executor_get_replica(struct vrt_device_executor *executor,
                                    const struct vrt_network *network,
                           enum vrt_dtype dtype, struct vrt_held_replica **ret_held)
{
    struct vrt_held_replica *held;

    VRT_LIST_FOREACH(held, &executor->replicas, link) {
        if (is_of(held, network, dtype)) {
            held->used_ns = vrt_clock_now_ns();
            *ret_held = held;
            return 0;
        }
    }
    held = calloc(1, sizeof(*held));
    if (!held)
        return vrt_raise(-ENOMEM);
    held->checksum = vrt_network_checksum(network);
    held->dtype = dtype;
    struct vrt_replica_want want = {
        .weights = held->checksum,
        .pack = { .dtype = dtype },
        .watch = executor->params.watch,
    };
    want.pack.params = vrt_network_params(network, &want.pack.n_params);
    const int64_t start_ns = vrt_clock_now_ns();
    const int64_t bytes_before = vrt_device_used_bytes(executor->device);
    int r = vrt_replica_seat_take(executor->seat, &want, &held->hold);
    if (r != 0) {
        free(held);
        return vrt_fold(r);
    }
    held->replica = vrt_replica_hold_get(held->hold);
    held->used_ns = vrt_clock_now_ns();
    vrt_list_append(&executor->replicas, &held->link);
    note_peak(executor);
    log_loading(executor, network, held, bytes_before, start_ns);
    *ret_held = held;
    return 0;
}

static struct vrt_held_session *find_session(const struct vrt_device_executor *executor,
                                             const struct vrt_job_spec *spec)
{
    struct vrt_held_session *held;

    VRT_LIST_FOREACH(held, &executor->sessions, link)
        if (held->spec == spec)
            return held;
    return NULL;
}

/* The device's memory as the driver sees it, within the limit that we were given. Devices that
 * share a memory see the same free bytes, of which each takes its part. -1: unknown. */
static struct vrt_memory_info ask_memory(const struct vrt_device_executor *executor, int n_sharing)
{
    int64_t limit_bytes = executor->params.memory_limit_bytes;
    struct vrt_memory_info memory = { -1, -1 };

    if (vrt_device_memory(executor->device, &memory) != 0)
        return memory;
    if (memory.free_bytes >= 0)
        memory.free_bytes /= n_sharing;
    if (limit_bytes > 0) {
        int64_t used_bytes = vrt_device_used_bytes(executor->device);
        int64_t left_bytes = VRT_MAX(limit_bytes - used_bytes, 0);
        memory.total_bytes = memory.total_bytes < 0 ? limit_bytes :
                             VRT_MIN(memory.total_bytes, limit_bytes);
        memory.free_bytes = memory.free_bytes < 0 ? left_bytes :
                            VRT_MIN(memory.free_bytes, left_bytes);
    }
    return memory;
}

/* What letting a replica go frees of what is this device's part: of bytes that several share, only
 * the last one's does. */
static int64_t freed_bytes(const struct vrt_device_executor *executor,
                           const struct vrt_held_replica *held)
{
    const int64_t bytes = (int64_t)vrt_replica_bytes(executor->device, held->replica);

    return vrt_replica_packed(held->replica) ? bytes / executor->params.n_sharing : bytes;
}

int64_t vrt_device_executor_free_bytes(struct vrt_device_executor *executor,
                                       const struct vrt_held_replica *keep, bool is_due)
{
    const struct vrt_memory_info memory = ask_memory(executor, executor->params.n_sharing);
    struct vrt_held_replica *held;
    struct vrt_held_session *session;
    int64_t idle_bytes = 0;

    if (memory.free_bytes < 0)
        return -1;
    /* The replica that the job will use is on the device already, and part of what it plans. */
    VRT_LIST_FOREACH(held, &executor->replicas, link) {
        if (held == keep)
            idle_bytes += (int64_t)vrt_replica_bytes(executor->device, held->replica);
        else if (!held->n_sessions || is_due)
            idle_bytes += freed_bytes(executor, held);
    }
    VRT_LIST_FOREACH(session, &executor->sessions, link)
        if (is_due)
            idle_bytes += (int64_t)vrt_session_bytes(session->session);
    return memory.free_bytes + idle_bytes;
}

/* A session with as large a load as there is room for. */
static int new_session(struct vrt_device_executor *executor,
                       const struct vrt_device_executor_order *order, const struct vrt_fit *fit,
                       const struct vrt_held_replica *replica, struct vrt_session **ret_session)
{
    struct vrt_session_params params = {
        .spec = order->spec,
        .dtype = order->dtype,
        .replica = replica->replica,
    };
    int64_t bytes = vrt_device_executor_free_bytes(executor, replica, false);
    struct vrt_load load;

    if (bytes >= 0)
        bytes = VRT_MAX((int64_t)(SQUEEZED_FRACTION * (double)bytes) -
                        (int64_t)vrt_replica_bytes(executor->device, replica->replica), 0);
    int r = vrt_load_find(executor, order->spec, order->dtype, order->batch, fit, bytes, &load);
    if (r != 0)
        return vrt_fold(r);
    do {
        params.batch = load.batch;
        params.n_in_flight = load.n_in_flight;
        r = vrt_session_new(executor->device, &params, ret_session);
    } while (r == VRT_BACKEND_E_NOMEM && vrt_load_reduce(&load));
    return r < 0 ? vrt_fold(r) : r;
}

static int make_session(struct vrt_device_executor *executor,
                        const struct vrt_device_executor_order *order, const struct vrt_fit *fit,
                        struct vrt_held_session **ret_held)
{
    struct vrt_held_replica *replica;
    struct vrt_held_session *held;
    int r = vrt_device_executor_get_replica(executor, order->spec->network, order->dtype,
                                            &replica);

    if (r != 0)
        return vrt_fold(r);
    held = calloc(1, sizeof(*held));
    if (!held)
        return vrt_raise(-ENOMEM);
    r = new_session(executor, order, fit, replica, &held->session);
    if (r != 0) {
        free(held);
        return vrt_fold(r);
    }
    held->spec = vrt_job_spec_ref(order->spec);
    held->dtype = order->dtype;
    held->replica = replica;
    if (replica->n_sessions++ == 0)
        vrt_replica_hold_mark(replica->hold, true);
    vrt_list_append(&executor->sessions, &held->link);
    note_peak(executor);
    *ret_held = held;
    return 0;
}

/* Gives up what others hold until the job's session may be made: not every driver refuses memory
 * that it should refuse, least of all that of a host. */
static int make_room(struct vrt_device_executor *executor,
                     const struct vrt_device_executor_order *order,
                     const struct vrt_session_plan *plan)
{
    struct vrt_held_replica *replica;

    if (vrt_list_is_empty(&executor->sessions))
        return 0;
    int r = vrt_device_executor_get_replica(executor, order->spec->network, order->dtype,
                                            &replica);
    if (r != 0)
        return vrt_fold(r);
    const int64_t needed_bytes = (int64_t)plan->bytes +
                                 (int64_t)vrt_replica_bytes(executor->device, replica->replica);
    int64_t bytes;
    do {
        bytes = vrt_device_executor_free_bytes(executor, replica, false);
    } while (bytes >= 0 && (double)bytes * SQUEEZED_FRACTION < (double)needed_bytes &&
             vrt_device_executor_give_up(executor, order->spec, order->dtype));
    return 0;
}

/* The session for the job, made if need be, at the cost of whatever is idle. */
static int get_session(struct vrt_device_executor *executor,
                       const struct vrt_device_executor_order *order,
                       struct vrt_held_session **ret_held)
{
    struct vrt_held_session *held = find_session(executor, order->spec);
    int r = 0;

    if (!held || held->dtype != order->dtype) {
        struct vrt_fit fit = { .size = vrt_job_spec_size(order->spec) };
        /* At most one session for a work: find_session() knows it by nothing else. */
        if (held)
            free_session(held);
        r = vrt_session_plan(executor->device, order->spec, &fit.size, order->dtype, &fit.plan);
        if (r != 0)
            return vrt_fold(r);
        do {
            r = make_room(executor, order, &fit.plan);
            if (r == 0)
                r = make_session(executor, order, &fit, &held);
        } while (r == VRT_BACKEND_E_NOMEM &&
                 vrt_device_executor_give_up(executor, order->spec, order->dtype));
    }
    if (r != 0)
        return vrt_fold(r);
    held->used_ns = vrt_clock_now_ns();
    *ret_held = held;
    return 0;
}

int vrt_device_executor_prepare(struct vrt_device_executor *executor,
                                const struct vrt_device_executor_order *order)
{
    struct vrt_held_session *held;

    return vrt_fold(get_session(executor, order, &held));
}

bool vrt_device_executor_is_ready(const struct vrt_device_executor *executor,
                                  const struct vrt_device_executor_order *order)
{
    const struct vrt_held_session *held = find_session(executor, order->spec);

    return held && held->dtype == order->dtype && !order->op_times;
}

int vrt_device_executor_begin(struct vrt_device_executor *executor,
                              struct vrt_device_executor_shard *shard)
{
    struct vrt_held_session *held;
    int r = get_session(executor, &shard->order, &held);

    if (r != 0)
        return vrt_refuse(shard->error, r, "device.failed", "%s", vrt_backend_strerror(r));
    vrt_restore_init(shard, held->session);
    return 0;
}

int vrt_device_executor_run(struct vrt_device_executor *executor,
                            const struct vrt_device_executor_order *order,
                   struct vrt_shard_frames *frames, struct vrt_session_times *times,
                   struct vrt_error *error)
{
    struct vrt_device_executor_shard shard = {
        .order = *order,
        .frames = frames,
        .times = times,
        .error = error,
    };
    struct vrt_device_executor_shard *const shards[] = { &shard };
    int r = vrt_device_executor_begin(executor, &shard);

    if (r != 0)
        return vrt_fold(r);
    while (!vrt_restore_is_done(&shard))
        vrt_restore_advance(shards, 1);
    return shard.result < 0 ? vrt_fold(shard.result) : shard.result;
}

int64_t vrt_device_executor_job_bytes(const struct vrt_device_executor *executor,
                                      const struct vrt_job_spec *spec)
{
    const struct vrt_held_session *held = find_session(executor, spec);

    if (!held)
        return -1;
    return (int64_t)(vrt_session_bytes(held->session) +
                     vrt_replica_bytes(executor->device, held->replica->replica));
}

void vrt_device_executor_release(struct vrt_device_executor *executor,
                                 const struct vrt_job_spec *spec)
{
    struct vrt_held_session *held = find_session(executor, spec);

    if (held)
        free_session(held);
}

int64_t vrt_device_executor_trim(struct vrt_device_executor *executor, int64_t idle_ns)
{
    const int64_t now_ns = vrt_clock_now_ns();
    const int64_t bytes_before = vrt_device_used_bytes(executor->device);
    struct vrt_held_replica *held;

    VRT_LIST_FOREACH(held, &executor->replicas, link)
        if (!held->n_sessions && now_ns - held->used_ns >= idle_ns)
            free_replica(held);
    return bytes_before - vrt_device_used_bytes(executor->device);
}

int64_t vrt_device_executor_reset_peak(struct vrt_device_executor *executor)
{
    const int64_t peak_bytes = executor->peak_bytes;

    executor->peak_bytes = vrt_device_used_bytes(executor->device);
    return peak_bytes;
}

void vrt_device_executor_usage(struct vrt_device_executor *executor,
                               struct vrt_device_executor_usage *ret_usage)
{
    const struct vrt_memory_info memory = ask_memory(executor, 1);
    struct vrt_device_executor_usage usage = {
        .peak_bytes = executor->peak_bytes,
        .total_bytes = memory.total_bytes,
        .free_bytes = memory.free_bytes,
        .used_bytes = vrt_device_used_bytes(executor->device),
    };
    struct vrt_held_replica *replica;
    struct vrt_held_session *session;

    VRT_LIST_FOREACH(replica, &executor->replicas, link) {
        usage.replica_bytes += (int64_t)vrt_replica_bytes(executor->device, replica->replica);
        usage.n_replicas++;
    }
    VRT_LIST_FOREACH(session, &executor->sessions, link)
        usage.workspace_bytes += (int64_t)vrt_session_bytes(session->session);
    *ret_usage = usage;
}
