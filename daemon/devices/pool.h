/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The devices of the machine, as the loop sees them
 *
 * The pool lists the devices, gives each a worker thread which opens and owns it, and hands them
 * the shards of the running pipelines as sched decides. It quarantines a device that fails twice
 * in a row or is lost, and asks it again after a while, longer each time.
 *
 * Thread: the loop's, all of it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/backend.h"
#include "base/error.h"
#include "daemon/devices/histogram.h"
#include "msg_device.h"
#include "workers/plan/device-request.h"

struct uv_loop_s;
struct vrt_device_history;
struct vrt_pool;
struct vrt_replica_entry;
struct vrt_store;

/* Zeros: defaults. What it points to needs to live only until vrt_pool_new() returns. */
struct vrt_pool_params {
    struct uv_loop_s *loop;
    struct vrt_registry_params registry;
    bool (*has_gpu)(const char *kind);          /* whether there is one for such devices; NULL: as
                                                 * the machine says */
    struct vrt_store *store;        /* of what was measured; goes after the pool; NULL: none */
    int64_t memory_limit_bytes;     /* that are ever held of a device; 0: no such limit */
    double keep_alive_s;            /* how long an unused replica stays on a device; 0: 600 */
    double stall_s;                 /* a device silent for so much longer than its work explains
                                     * is given up; 0: 300 */
    double silence_s;               /* for so much longer: not waited for by jobs that others can
                                     * do; given up after twice as long, where it was measured how
                                     * long its work takes; 0: 30 */
    double retry_s;                 /* the first wait of a quarantined device; 0: 5 */
    double patience_s;              /* a job waits so long for any device; 0: 120 */
};

/* What a user may know of a device. Bytes and seconds are -1 where nobody can tell. */
struct vrt_device_snapshot {
    const struct vrt_device_info *info;     /* lives as long as the pool */
    enum vrt_device_state state;            /* quarantined: asked again at retry_in_s */
    int in_flight;                  /* shards handed to it and not returned */
    int64_t shards_done, shards_failed, frames_done;
    int64_t n_quarantined;          /* how often it was, since the daemon began */
    struct vrt_histogram shard_times;   /* of shards_done */
    double shard_s;                 /* measured seconds per shard, lately */
    double retry_in_s;              /* quarantined: until it is asked again */
    int64_t memory_total_bytes, memory_free_bytes;      /* by the driver */
    int64_t used_bytes;             /* by our own accounting, now: all that follows */
    int64_t replica_bytes, workspace_bytes, peak_bytes;
    int n_replicas;                 /* networks it holds */
    struct vrt_device_sensors sensors;      /* some seconds old */
    char last_error[512];           /* without the device's name; "" if it never failed */
};

/*
 * Lists the devices and starts their threads; devices open in the background. `error` says why it
 * failed. Return: 0; -errno. It is freed by vrt_pool_free(), after vrt_pool_stop()'s `stopped`.
 */
int vrt_pool_new(const struct vrt_pool_params *params, struct vrt_pool **ret_pool,
                 struct vrt_error *error) VRT_MUST_CHECK;

/*
 * Cancels the pipelines that still run (each calls its done), then closes the devices and ends
 * their threads. `stopped` is called once, on the loop, when nothing of the pool is left on it;
 * pipelines may be freed before or after that.
 */
void vrt_pool_stop(struct vrt_pool *pool, void (*stopped)(void *ctx), void *ctx);

/* The process is to end: a device that hangs isn't waited for as long as otherwise while the jobs
 * come to an end. vrt_pool_stop() follows. */
void vrt_pool_expect_end(struct vrt_pool *pool);

/* After `stopped`, or in it. Return: NULL. */
struct vrt_pool *vrt_pool_free(struct vrt_pool *pool);

/* Whether a device's thread was ever given up: it may still be in a driver, and the process must
 * end without taking that down. */
bool vrt_pool_has_abandoned(const struct vrt_pool *pool);

/* How many devices there are: fixed; those lost or quarantined are among them. */
size_t vrt_pool_n_devices(const struct vrt_pool *pool);

/* Device `i` as it is now. Cheap: nothing is asked of the device. */
void vrt_pool_device(const struct vrt_pool *pool, size_t i, struct vrt_device_snapshot *ret_device);

/* How device `i` fared lately (device-history.h); it lives as long as the pool. */
const struct vrt_device_history *vrt_pool_history(const struct vrt_pool *pool, size_t i);

/* Shards that could be computed now, and wait for a device. */
int64_t vrt_pool_n_ready(const struct vrt_pool *pool);

/* The part of device `i`'s free memory that jobs may take which are admitted or begin from now on;
 * 0, as at first: 0.8. */
void vrt_pool_set_memory_fraction(struct vrt_pool *pool, size_t i, double fraction);

/* Which replicas are on which devices (engine/replica.h). Cheap likewise. Return: 0, -ENOMEM. The
 * caller frees *ret_entries by free(). */
int vrt_pool_replicas(const struct vrt_pool *pool, struct vrt_replica_entry **ret_entries,
                      size_t *ret_n_entries) VRT_MUST_CHECK;

/* Devices that are asked for (workers/plan/device-request.h). */
struct vrt_pool_wish {
    const char *request;            /* "auto" */
    enum vrt_fallback fallback;
    int n_tries;                    /* for `auto`: devices that were opened so often, and have never
                                     * worked, don't count; 0: all do */
    uint64_t unfit;                 /* for `auto`: nor do these */
};

/* Return: as vrt_device_request_resolve(). */
int vrt_pool_choose(const struct vrt_pool *pool, const struct vrt_pool_wish *wish,
                    struct vrt_device_choice *ret_choice, struct vrt_error *error);

/* The infos, in order of preference. */
const struct vrt_device_info *const *vrt_pool_infos(const struct vrt_pool *pool,
                                                    size_t *ret_n_infos);

/* What the backends looked for when the devices were listed; it lives as long as the pool. */
const struct vrt_findings *vrt_pool_findings(const struct vrt_pool *pool);

VRT_DEFINE_CLEANUP(struct vrt_pool, vrt_pool_free)
