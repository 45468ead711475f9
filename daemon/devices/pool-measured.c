/* SPDX-License-Identifier: MIT */

/*
 * What was measured of networks on the devices, and is kept for the next start
 *
 * A figure is known by the network's checksum, the class of devices and the precision. For the
 * store the class is spelled out with all that a figure depends on: devices, drivers and libraries
 * are in the backend's name for it; threads and our own version are added here. Figures of devices
 * that aren't there now are left to the store.
 *
 * Speed changes a little with each shard: the store is told when it has moved by a tenth.
 */

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/thread.h"
#include "daemon/devices/pool-impl.h"
#include "daemon/sched/sched.h"
#include "daemon/store/store.h"
#include "workers/device/speed.h"

#define WORTH_TELLING 0.1

/* What the store calls them: these, and ".f16", say. */
#define FIDELITY "fidelity_db"
#define SPEED "flops_per_s"

#define CLASS_BYTES 256

static void print_class(const struct vrt_device_info *info, char text[CLASS_BYTES])
{
    snprintf(text, CLASS_BYTES, "vrtd %s; %s; %d threads", VRT_VERSION, info->class_id,
             info->n_threads);
}

static struct vrt_pool_measured *find(struct vrt_pool *pool, uint64_t network_checksum, size_t d)
{
    size_t n = VRT_MIN(pool->n_measured, VRT_POOL_MEASURED_MAX);
    int speed_class = pool->devices[d].speed_class;
    struct vrt_pool_measured *measured;

    for (size_t i = 0; i < n; i++)
        if (pool->measured[i].network_checksum == network_checksum &&
            pool->measured[i].speed_class == speed_class)
            return &pool->measured[i];
    measured = &pool->measured[pool->n_measured++ % VRT_POOL_MEASURED_MAX];
    measured->network_checksum = network_checksum;
    measured->speed_class = speed_class;
    for (int i = 0; i < VRT_DTYPE_COUNT; i++)
        measured->fidelity_db[i] = measured->flops_per_s[i] = measured->kept_flops_per_s[i] = NAN;
    return measured;
}

const double *vrt_pool_fidelity(struct vrt_pool *pool, uint64_t network_checksum, size_t d)
{
    return find(pool, network_checksum, d)->fidelity_db;
}

const double *vrt_pool_speed(struct vrt_pool *pool, uint64_t network_checksum, size_t d)
{
    return find(pool, network_checksum, d)->flops_per_s;
}

/* Gives a figure to the store. */
static void keep(struct vrt_pool *pool, uint64_t network_checksum, size_t d, const char *what,
                 double value)
{
    char network[17], class[CLASS_BYTES];

    if (!pool->params.store)
        return;
    snprintf(network, sizeof(network), "%016" PRIx64, network_checksum);
    print_class(pool->devices[d].info, class);
    vrt_store_put_measure(pool->params.store, &(struct vrt_store_measure){
        .network = network,
        .device_class = class,
        .what = what,
        .value = value,
    });
}

void vrt_pool_note_fidelity(struct vrt_pool *pool, uint64_t network_checksum, size_t d,
                            const double fidelity_db[VRT_DTYPE_COUNT])
{
    double *known = find(pool, network_checksum, d)->fidelity_db;
    char what[32];

    vrt_assert_thread(VRT_THREAD_LOOP);
    for (int i = 0; i < VRT_DTYPE_COUNT; i++) {
        if (isnan(fidelity_db[i]) || fidelity_db[i] == known[i])
            continue;
        known[i] = fidelity_db[i];
        snprintf(what, sizeof(what), FIDELITY ".%s", vrt_dtype_name((enum vrt_dtype)i));
        keep(pool, network_checksum, d, what, known[i]);
    }
}

/* Takes over what a network's speed is now. */
static void set_speed(struct vrt_pool *pool, uint64_t network_checksum, size_t d,
                      enum vrt_dtype dtype, double flops_per_s)
{
    struct vrt_pool_measured *measured = find(pool, network_checksum, d);
    double kept = measured->kept_flops_per_s[dtype];
    char what[32];

    measured->flops_per_s[dtype] = flops_per_s;
    /* False where none is kept, which is a NAN. */
    if (fabs(flops_per_s - kept) <= WORTH_TELLING * kept)
        return;
    measured->kept_flops_per_s[dtype] = flops_per_s;
    snprintf(what, sizeof(what), SPEED ".%s", vrt_dtype_name(dtype));
    keep(pool, network_checksum, d, what, flops_per_s);
}

void vrt_pool_note_measurement(struct vrt_pool *pool, uint64_t network_checksum, size_t d,
                         enum vrt_dtype dtype, double flops_per_s)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    if (flops_per_s > 0 && isnan(vrt_pool_speed(pool, network_checksum, d)[dtype]))
        set_speed(pool, network_checksum, d, dtype, flops_per_s);
}

void vrt_pool_note_speed(struct vrt_pool *pool, size_t d, const struct vrt_worker_task *task,
                         int64_t tile_flops)
{
    const struct vrt_session_times *times = &task->times;
    int64_t ns = times->upload_ns + times->compute_ns + times->download_ns;
    uint64_t checksum;
    double flops, known;

    /* Op by op it is slower, and what was cut short says nothing. */
    if (task->request != VRT_WORKER_RUN || task->task.outcome != VRT_TASK_DONE || task->by_ops ||
        ns <= 0 || tile_flops <= 0)
        return;
    checksum = vrt_network_checksum(task->spec->network);
    flops = vrt_speed_shard_flops(task->spec, tile_flops, &task->frames);
    known = vrt_pool_speed(pool, checksum, d)[task->dtype];
    set_speed(pool, checksum, d, task->dtype,
              vrt_sched_measure(known > 0 ? known : 0, flops * VRT_NS_PER_S / (double)ns));
}

/* The precision that `what` is of, if it begins with `quantity`; or VRT_DTYPE_COUNT. */
static int find_dtype(const char *what, const char *quantity)
{
    size_t n = strlen(quantity);
    int i = 0;

    if (strncmp(what, quantity, n) != 0 || what[n] != '.')
        return VRT_DTYPE_COUNT;
    while (i < VRT_DTYPE_COUNT && strcmp(vrt_dtype_name((enum vrt_dtype)i), what + n + 1) != 0)
        i++;
    return i;
}

/* A figure that an earlier start left; what nobody asks for any more is passed over. */
static void learn(void *ctx, const struct vrt_store_measure *measure)
{
    struct vrt_pool *pool = ctx;
    int of_fidelity = find_dtype(measure->what, FIDELITY);
    int of_speed = find_dtype(measure->what, SPEED);
    char *end, class[CLASS_BYTES] = "";
    uint64_t checksum = strtoull(measure->network, &end, 16);
    struct vrt_pool_measured *measured;
    size_t d = 0;

    for (; d < pool->n_devices; d++) {
        print_class(pool->devices[d].info, class);
        if (strcmp(class, measure->device_class) == 0)
            break;
    }
    if (d == pool->n_devices || *end)
        return;
    measured = find(pool, checksum, d);
    if (of_fidelity < VRT_DTYPE_COUNT && !isnan(measure->value))
        measured->fidelity_db[of_fidelity] = measure->value;
    else if (of_speed < VRT_DTYPE_COUNT && measure->value > 0 && isfinite(measure->value))
        measured->flops_per_s[of_speed] = measured->kept_flops_per_s[of_speed] = measure->value;
}

int vrt_pool_recall(struct vrt_pool *pool, struct vrt_error *error)
{
    return pool->params.store ?
        vrt_fold(vrt_store_load_measures(pool->params.store, learn, pool, error)) : 0;
}
