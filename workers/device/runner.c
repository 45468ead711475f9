/* SPDX-License-Identifier: MIT */

/*
 * A runner holds two things that take memory: replicas, which cost time to make and may serve the
 * next job, and kits, which are quickly made again. When an allocation fails it gives up what is
 * idle, oldest first and replicas before the kits of other jobs, and tries again; only a device on
 * which nothing idle is left is told to be full. What the driver says is free decides about a
 * survey's plan only: other processes may have taken it before anything is allocated.
 *
 * Where a replica's bytes come from is the store's business (engine/replica.h), in which the
 * runners of all devices meet. A kit is found by its work, a replica by the weights' checksum and
 * the precision: jobs with one model share the replica, each with a kit of its own. A kit refers
 * to its replica, so that one in use is never given up, and of the work at hand neither is.
 */

#include "workers/device/runner-impl.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "workers/plan/fidelity.h"
#include "workers/plan/trial.h"
#include "workers/device/fit.h"
#include "workers/device/restore.h"

#define VRT_LOG_TOPIC "runner"

#define MEMORY_FRACTION_DEFAULT 0.8

/* Of what is free, that a kit may take before those of other jobs go: more than planned with, so
 * that two jobs which fit don't push each other out whenever a little less is free. */
#define SQUEEZED_FRACTION 0.95

/* A seat at the store that was given, or at one that goes with the seat. */
static int take_seat(struct vrt_runner *runner)
{
    VRT_CLEANUP(vrt_replica_store_unrefp) struct vrt_replica_store *own = NULL;
    struct vrt_replica_store *store = runner->params.store;

    if (!store) {
        int r = vrt_replica_store_new(&(struct vrt_replica_store_params){ 0 }, &own);
        if (r)
            return vrt_fold(r);
        store = own;
    }
    return vrt_fold(vrt_replica_seat_new(store, runner->device, &runner->seat));
}

int vrt_runner_new(struct vrt_device *device, const struct vrt_runner_params *params,
                   struct vrt_runner **ret_runner)
{
    struct vrt_runner *runner = calloc(1, sizeof(*runner));

    if (!runner)
        return vrt_raise(-ENOMEM);
    runner->device = device;
    runner->params = *params;
    int r = take_seat(runner);
    if (r) {
        free(runner);
        return vrt_fold(r);
    }
    vrt_device_limit_memory(device, params->memory_limit_bytes);
    if (runner->params.memory_fraction <= 0)
        runner->params.memory_fraction = MEMORY_FRACTION_DEFAULT;
    if (runner->params.n_sharing < 1)
        runner->params.n_sharing = 1;
    vrt_list_init(&runner->replicas);
    vrt_list_init(&runner->kits);
    *ret_runner = runner;
    return 0;
}

struct vrt_device *vrt_runner_device(const struct vrt_runner *runner)
{
    return runner->device;
}

static void free_kit(struct vrt_held_kit *held)
{
    vrt_list_remove(&held->link);
    if (--held->replica->n_kits == 0)
        vrt_replica_hold_mark(held->replica->hold, false);
    /* It may be idle from now on, and was in use until now, however long ago it was made. */
    held->replica->used_ns = vrt_clock_now_ns();
    vrt_kit_free(held->kit);
    vrt_work_unref(held->work);
    free(held);
}

static void free_replica(struct vrt_held_replica *held)
{
    vrt_assert(held->n_kits == 0);
    vrt_list_remove(&held->link);
    vrt_replica_hold_free(held->hold);
    free(held);
}

void vrt_runner_drop_replica(struct vrt_runner *runner, struct vrt_held_replica *held)
{
    struct vrt_held_kit *kit;

    VRT_LIST_FOREACH(kit, &runner->kits, link)
        if (kit->replica == held)
            free_kit(kit);
    free_replica(held);
}

struct vrt_runner *vrt_runner_free(struct vrt_runner *runner)
{
    struct vrt_held_kit *kit;
    struct vrt_held_replica *replica;

    if (!runner)
        return NULL;
    VRT_LIST_FOREACH(kit, &runner->kits, link)
        free_kit(kit);
    VRT_LIST_FOREACH(replica, &runner->replicas, link)
        free_replica(replica);
    vrt_replica_seat_free(runner->seat);
    free(runner);
    return NULL;
}

static void note_peak(struct vrt_runner *runner)
{
    runner->peak_bytes = VRT_MAX(runner->peak_bytes, vrt_device_used_bytes(runner->device));
}

static bool is_of(const struct vrt_held_replica *held, const struct vrt_network *network,
                  enum vrt_dtype dtype)
{
    return held->checksum == vrt_network_checksum(network) && held->dtype == dtype;
}

/* Gives up the least recently used of what is idle, and not for `keep` in `dtype`: a replica, else
 * the kit of a job that waits. Return: whether there was anything. */
static bool give_up_something(struct vrt_runner *runner, const struct vrt_work *keep,
                              enum vrt_dtype dtype)
{
    struct vrt_held_replica *replica, *oldest_replica = NULL;
    struct vrt_held_kit *kit, *oldest_kit = NULL;

    VRT_LIST_FOREACH(replica, &runner->replicas, link)
        if (!replica->n_kits && !is_of(replica, keep->network, dtype) &&
            (!oldest_replica || replica->used_ns < oldest_replica->used_ns))
            oldest_replica = replica;
    if (oldest_replica) {
        free_replica(oldest_replica);
        return true;
    }
    VRT_LIST_FOREACH(kit, &runner->kits, link)
        if (kit->work != keep && (!oldest_kit || kit->used_ns < oldest_kit->used_ns))
            oldest_kit = kit;
    if (oldest_kit)
        free_kit(oldest_kit);
    return oldest_kit != NULL;
}

int vrt_runner_get_replica(struct vrt_runner *runner, const struct vrt_network *network,
                           enum vrt_dtype dtype, struct vrt_held_replica **ret_held)
{
    struct vrt_held_replica *held;

    VRT_LIST_FOREACH(held, &runner->replicas, link) {
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
        .watch = runner->params.watch,
    };
    want.pack.params = vrt_network_params(network, &want.pack.n_params);
    int r = vrt_replica_seat_take(runner->seat, &want, &held->hold);
    if (r) {
        free(held);
        return vrt_fold(r);
    }
    held->replica = vrt_replica_hold_get(held->hold);
    held->used_ns = vrt_clock_now_ns();
    vrt_list_append(&runner->replicas, &held->link);
    note_peak(runner);
    *ret_held = held;
    return 0;
}

static int make_kit(struct vrt_runner *runner, struct vrt_work *work, enum vrt_dtype dtype,
                    struct vrt_held_kit **ret_held)
{
    struct vrt_held_replica *replica;
    struct vrt_held_kit *held;
    int r = vrt_runner_get_replica(runner, work->network, dtype, &replica);

    if (r)
        return vrt_fold(r);
    held = calloc(1, sizeof(*held));
    if (!held)
        return vrt_raise(-ENOMEM);
    r = vrt_kit_new(runner->device, work, replica->replica, dtype, &held->kit);
    if (r) {
        free(held);
        return vrt_fold(r);
    }
    held->work = vrt_work_ref(work);
    held->dtype = dtype;
    held->replica = replica;
    if (replica->n_kits++ == 0)
        vrt_replica_hold_mark(replica->hold, true);
    vrt_list_append(&runner->kits, &held->link);
    note_peak(runner);
    *ret_held = held;
    return 0;
}

static struct vrt_held_kit *find_kit(const struct vrt_runner *runner, const struct vrt_work *work)
{
    struct vrt_held_kit *held;

    VRT_LIST_FOREACH(held, &runner->kits, link)
        if (held->work == work)
            return held;
    return NULL;
}

/* The device's memory as the driver sees it, within the limit that we were given. Devices that
 * share a memory see the same free bytes, of which each takes its part. */
static int ask_memory(const struct vrt_runner *runner, int n_sharing,
                      struct vrt_memory_info *ret_memory)
{
    int64_t limit_bytes = runner->params.memory_limit_bytes;
    struct vrt_memory_info memory = { -1, -1 };
    int r = vrt_device_memory(runner->device, &memory);

    if (r)
        return r;
    if (memory.free_bytes >= 0)
        memory.free_bytes /= n_sharing;
    if (limit_bytes > 0) {
        int64_t used_bytes = vrt_device_used_bytes(runner->device);
        int64_t left_bytes = VRT_MAX(limit_bytes - used_bytes, 0);
        memory.total_bytes = memory.total_bytes < 0 ? limit_bytes :
                             VRT_MIN(memory.total_bytes, limit_bytes);
        memory.free_bytes = memory.free_bytes < 0 ? left_bytes :
                            VRT_MIN(memory.free_bytes, left_bytes);
    }
    *ret_memory = memory;
    return 0;
}

/* What letting a replica go frees of what is this device's part: of bytes that several share, only
 * the last one's does. */
static int64_t freed_bytes(const struct vrt_runner *runner, const struct vrt_held_replica *held)
{
    const int64_t bytes = (int64_t)vrt_replica_bytes(runner->device, held->replica);

    return vrt_replica_packed(held->replica) ? bytes / runner->params.n_sharing : bytes;
}

/* What is free, with what idle replicas would leave, and to a job that is due kits that others can
 * make anew; -1: nobody can tell. */
static int64_t free_bytes(struct vrt_runner *runner, const struct vrt_held_replica *keep,
                          bool is_due)
{
    struct vrt_memory_info memory = { -1, -1 };
    struct vrt_held_replica *held;
    struct vrt_held_kit *kit;
    int64_t idle_bytes = 0;

    if (ask_memory(runner, runner->params.n_sharing, &memory) || memory.free_bytes < 0)
        return -1;
    /* The replica that the job will use is on the device already, and part of what it plans. */
    VRT_LIST_FOREACH(held, &runner->replicas, link) {
        if (held == keep)
            idle_bytes += (int64_t)vrt_replica_bytes(runner->device, held->replica);
        else if (!held->n_kits || is_due)
            idle_bytes += freed_bytes(runner, held);
    }
    VRT_LIST_FOREACH(kit, &runner->kits, link)
        if (is_due)
            idle_bytes += (int64_t)vrt_kit_bytes(kit->kit);
    return memory.free_bytes + idle_bytes;
}

/* Gives up what others hold until the work's kit may be made: not every driver refuses memory that
 * it should refuse, least of all that of a host. */
static int make_room(struct vrt_runner *runner, const struct vrt_work *work, enum vrt_dtype dtype)
{
    const struct vrt_work_size size = vrt_work_size(work);
    struct vrt_held_replica *replica;
    struct vrt_kit_plan plan;

    if (vrt_list_is_empty(&runner->kits))
        return 0;
    int r = vrt_runner_get_replica(runner, work->network, dtype, &replica);
    if (!r)
        r = vrt_kit_plan(runner->device, work, &size, dtype, &plan);
    if (r)
        return vrt_fold(r);
    const int64_t needed_bytes = (int64_t)plan.bytes +
                                 (int64_t)vrt_replica_bytes(runner->device, replica->replica);
    int64_t bytes;
    do {
        bytes = free_bytes(runner, replica, false);
    } while (bytes >= 0 && (double)bytes * SQUEEZED_FRACTION < (double)needed_bytes &&
             give_up_something(runner, work, dtype));
    return 0;
}

/* The kit for the work, made if need be, at the cost of whatever is idle. */
static int get_kit(struct vrt_runner *runner, struct vrt_work *work, enum vrt_dtype dtype,
                   struct vrt_held_kit **ret_held)
{
    struct vrt_held_kit *held = find_kit(runner, work);
    int r = 0;

    if (!held || held->dtype != dtype) {
        /* At most one kit for a work: find_kit() knows it by nothing else. */
        if (held)
            free_kit(held);
        do {
            r = make_room(runner, work, dtype);
            if (!r)
                r = make_kit(runner, work, dtype, &held);
        } while (r == VRT_BACKEND_E_NOMEM && give_up_something(runner, work, dtype));
    }
    if (r)
        return vrt_fold(r);
    held->used_ns = vrt_clock_now_ns();
    *ret_held = held;
    return 0;
}

/* A work's network, tried out on a device. */
struct tried {
    struct vrt_runner *runner;
    const struct vrt_work *work;
};

/* See struct vrt_fidelity_params: at the cost of whatever is idle, and so of the weights of the run
 * before, where there is no room for both. */
static int run_trial(void *ctx, enum vrt_dtype dtype, float *out)
{
    const struct tried *tried = ctx;
    const struct vrt_network *network = tried->work->network;
    struct vrt_held_replica *held;
    int r;

    do {
        r = vrt_runner_get_replica(tried->runner, network, dtype, &held);
        if (!r)
            r = vrt_trial_run(tried->runner->device, network, held->replica, dtype, out);
    } while (r == VRT_BACKEND_E_NOMEM && give_up_something(tried->runner, tried->work, dtype));
    return r < 0 ? vrt_fold(r) : r;
}

/* Whether the network in `dtype` is close enough to itself in f32; what isn't known is measured. */
static bool is_faithful(struct vrt_runner *runner, struct vrt_survey *survey, enum vrt_dtype dtype)
{
    double *db = &survey->fidelity_db[dtype];
    int r = 0;

    if (isnan(*db)) {
        struct tried tried = { runner, survey->work };
        r = vrt_fidelity_measure(&(struct vrt_fidelity_params){
            .network = survey->work->network,
            .dtype = dtype,
            .run = run_trial,
            .ctx = &tried,
        }, db);
        /* No reason to refuse a job that left the choice to us. The next one measures again. */
        if (r) {
            survey->is_makeshift = true;
            vrt_log_info("%s: how close %s comes to f32 can't be measured, so f32 is used: %s",
                         vrt_device_info(runner->device)->name, vrt_dtype_name(dtype),
                         vrt_backend_strerror(r));
            return false;
        }
        vrt_log_info("%s in %s on %s: %.1f dB of f32",
                     vrt_network_info(survey->work->network)->description, vrt_dtype_name(dtype),
                     vrt_device_info(runner->device)->name, *db);
    }
    return *db >= VRT_FIDELITY_MIN_DB;
}

static enum vrt_dtype resolve_precision(struct vrt_runner *runner, struct vrt_survey *survey)
{
    enum vrt_dtype dtype;

    switch (survey->precision) {
    case VRT_PRECISION_F16:
        return VRT_DTYPE_F16;
    case VRT_PRECISION_BF16:
        return VRT_DTYPE_BF16;
    case VRT_PRECISION_AUTO:
        dtype = vrt_device_info(runner->device)->preferred_dtype;
        return is_faithful(runner, survey, dtype) ? dtype : VRT_DTYPE_F32;
    default:
        return VRT_DTYPE_F32;
    }
}

/* Says that no size fits, and what would help. */
static int refuse_memory(const char *device, const struct vrt_survey *survey,
                         struct vrt_error *error)
{
    const char *cure = ": ask for another device, or see memory_limit in vrtd.conf(5)";
    const int64_t mib = INT64_C(1) << 20;

    if (survey->exact_grid)
        cure = ": ask for a smaller tile, or for none";
    else if (survey->exact_clip)
        cure = ": ask for shorter clips, or for none";
    else if (survey->smaller)
        cure = ": stop other programs that use its memory, or ask for another device";
    if (survey->smaller)
        return vrt_refuse(error, -ENOSPC, "device.memory", "%s ran out of memory with the smallest "
                          "clips and tiles that the job may be done in%s", device, cure);
    return vrt_refuse(error, -ENOSPC, "device.memory",
                      "the job needs %" PRId64 " MiB of %s, which has %" PRId64
                      " MiB to give%s", (survey->planned_bytes - 1) / mib + 1, device,
                      survey->allowed_bytes / mib, cure);
}

/* The largest clip and tile from the wanted ones on that fit, with what they take. */
static int fit(struct vrt_runner *runner, struct vrt_survey *survey, struct vrt_error *error)
{
    const char *device = vrt_device_info(runner->device)->name;
    const struct vrt_fit_params params = {
        .work = survey->work,
        .dtype = survey->dtype,
        .allowed_bytes = survey->allowed_bytes < 0 ? -1 :
                         VRT_MAX(survey->allowed_bytes - survey->replica_bytes, 0),
        .exact_grid = survey->exact_grid,
        .exact_clip = survey->exact_clip,
        .smaller = survey->smaller,
    };
    struct vrt_fit found;
    int r = vrt_fit_find(runner->device, &params, &found);

    if (r == -EINVAL)
        return vrt_refuse(error, r, "device.unsupported",
                          "%s can't compute this network in %s: ask for another "
                          "precision, or for auto", device, vrt_dtype_name(survey->dtype));
    if (r && r != -ENOSPC)
        return vrt_refuse_errno(error, r, device);
    survey->size = found.size;
    survey->planned_bytes = survey->replica_bytes + (int64_t)found.plan.bytes;
    survey->tile_flops = found.plan.tile_flops;
    if (!r)
        return 0;
    return refuse_memory(device, survey, error);
}

int vrt_runner_survey(struct vrt_runner *runner, struct vrt_survey *survey,
                      struct vrt_error *error)
{
    const char *device = vrt_device_info(runner->device)->name;
    struct vrt_held_replica *replica;
    int r;

    survey->is_makeshift = false;
    survey->dtype = resolve_precision(runner, survey);
    do {
        r = vrt_runner_get_replica(runner, survey->work->network, survey->dtype, &replica);
    } while (r == VRT_BACKEND_E_NOMEM && give_up_something(runner, survey->work, survey->dtype));
    if (r == -EINVAL)
        return vrt_refuse(error, r, "device.unsupported", "%s can't hold this network in %s: "
                          "ask for another precision, or for auto", device,
                          vrt_dtype_name(survey->dtype));
    if (r)
        return vrt_refuse(error, r, r == VRT_BACKEND_E_NOMEM ? "device.memory" : "device.failed",
                          "%s: %s", device, vrt_backend_strerror(r));
    survey->replica_bytes = (int64_t)vrt_replica_bytes(runner->device, replica->replica);
    int64_t bytes = free_bytes(runner, replica, survey->is_due);
    survey->allowed_bytes = bytes < 0 ? -1 :
                            (int64_t)(runner->params.memory_fraction * (double)bytes);
    return vrt_fold(fit(runner, survey, error));
}

int vrt_runner_prepare(struct vrt_runner *runner, struct vrt_work *work, enum vrt_dtype dtype)
{
    struct vrt_held_kit *held;

    return vrt_fold(get_kit(runner, work, dtype, &held));
}

int vrt_runner_run(struct vrt_runner *runner, const struct vrt_runner_order *order,
                   struct vrt_shard_frames *frames, struct vrt_kit_times *times,
                   struct vrt_error *error)
{
    struct vrt_executor_watch watch = order->watch;
    struct vrt_held_kit *held;
    int r = get_kit(runner, order->work, order->dtype, &held);

    watch.op_times = order->op_times;
    if (!r)
        r = vrt_restore_shard(held->kit, order->work, &watch, frames, times, error);
    if (r)
        return vrt_refuse(error, r, "device.failed", "%s", vrt_backend_strerror(r));
    return 0;
}

int64_t vrt_runner_work_bytes(const struct vrt_runner *runner, const struct vrt_work *work)
{
    const struct vrt_held_kit *held = find_kit(runner, work);

    if (!held)
        return -1;
    return (int64_t)(vrt_kit_bytes(held->kit) +
                     vrt_replica_bytes(runner->device, held->replica->replica));
}

void vrt_runner_release(struct vrt_runner *runner, const struct vrt_work *work)
{
    struct vrt_held_kit *held = find_kit(runner, work);

    if (held)
        free_kit(held);
}

void vrt_runner_trim(struct vrt_runner *runner, int64_t idle_ns)
{
    int64_t now_ns = vrt_clock_now_ns();
    struct vrt_held_replica *held;

    VRT_LIST_FOREACH(held, &runner->replicas, link)
        if (!held->n_kits && now_ns - held->used_ns >= idle_ns)
            free_replica(held);
}

void vrt_runner_usage(struct vrt_runner *runner, struct vrt_runner_usage *ret_usage)
{
    struct vrt_runner_usage usage = { .peak_bytes = runner->peak_bytes };
    struct vrt_memory_info memory = { -1, -1 };
    struct vrt_held_replica *replica;
    struct vrt_held_kit *kit;

    int r = ask_memory(runner, 1, &memory);
    usage.total_bytes = r ? -1 : memory.total_bytes;
    usage.free_bytes = r ? -1 : memory.free_bytes;
    usage.used_bytes = vrt_device_used_bytes(runner->device);
    VRT_LIST_FOREACH(replica, &runner->replicas, link) {
        usage.replica_bytes += (int64_t)vrt_replica_bytes(runner->device, replica->replica);
        usage.n_replicas++;
    }
    VRT_LIST_FOREACH(kit, &runner->kits, link)
        usage.workspace_bytes += (int64_t)vrt_kit_bytes(kit->kit);
    *ret_usage = usage;
}
