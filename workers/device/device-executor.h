/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What one device holds and computes: replicas of networks, kept warm between jobs, and the
 * sessions of the jobs that run, both given up, least recently used first, when memory is short.
 *
 * Thread: that of the device.
 */

#include <stdbool.h>
#include <stdint.h>

#include "backend/backend.h"
#include "engine/replica.h"
#include "workers/device/session/session.h"
#include "workers/plan/recipe.h"
#include "workers/device/shard.h"
#include "workers/plan/job-spec.h"

struct vrt_checkup;
struct vrt_device_executor;

/* Beside 0, -errno and the outcomes of the backend. */
enum vrt_device_executor_outcome {
    VRT_DEVICE_EXECUTOR_E_OUTPUT = 64,  /* the result can't be right: not finite, wild, or blank */
    VRT_DEVICE_EXECUTOR_E_ODD,      /* it may be, if the network means it: black in a part, or of
                                     * another colour */
};

/* Whether `r` says that a result was there, and was wrong. */
static inline bool vrt_device_executor_is_wrong(int r)
{
    return r == VRT_DEVICE_EXECUTOR_E_OUTPUT || r == VRT_DEVICE_EXECUTOR_E_ODD;
}

/* How a shard's frames are to be restored. */
struct vrt_device_executor_order {
    struct vrt_job_spec *spec;
    enum vrt_dtype dtype;
    int batch;                      /* as `wanted_batch` of struct vrt_probe */
    struct vrt_graph_executor_watch watch;
    struct vrt_op_times *op_times;  /* added to; then ops run one by one; NULL: they don't */
    bool accepts_odd;               /* the network is known to mean what looks odd */
};

/* A shard on its way over the device. */
struct vrt_device_executor_shard {
    struct vrt_device_executor_order order;
    struct vrt_shard_frames *frames;    /* out[0..n-1] and shared[0..n-1] are filled in: new, with
                                     * the timestamps of in[0..n-1] */
    struct vrt_session_times *times;    /* added to */
    struct vrt_error *error;        /* filled in where it fails */
    int result;                     /* when it is done: as of vrt_device_executor_run() */

    /* The device executor's own. */
    struct vrt_session *session;
    int n_begun, n_ended;           /* of the frames that are computed */
};

/* What a device is asked before a job may use it. */
struct vrt_probe {
    struct vrt_job_spec *spec;      /* its grid and clips: the largest that are wanted; its
                                     * precision: as asked for */
    bool is_fixed;                  /* in that size, or not at all */
    bool smaller;                   /* the spec's own size proved to be too large */
    double memory_fraction;         /* of the device's free memory, that jobs may take; 0: 0.8 */
    bool is_due;                   /* it is about to run: sessions of other jobs make room for it */
    double fidelity_db[VRT_DTYPE_COUNT];    /* known already; NAN: not measured */
    int64_t speed_over_flops;       /* measure what isn't known of it, where a frame takes more
                                     * operations than so many; INT64_MAX: never */
    double flops_per_s[VRT_DTYPE_COUNT];    /* known already; NAN: not measured */
    double f32_speedup;             /* of f32 over the precision that `auto` would take: likewise */
    enum vrt_precision fastest;     /* as somebody found out by himself; AUTO: nobody did */
    int wanted_batch;               /* likewise, of frames; 0: nobody did, as suits the device */

    /* The answer. */
    struct vrt_job_spec_size size;  /* the first that fits */
    enum vrt_dtype dtype;
    int64_t replica_bytes;
    int64_t planned_bytes;          /* replica and session */
    int batch;                      /* frames at a time, of a network that sees each by itself */
    int64_t tile_flops;             /* of the network on one tile of a clip */
    int64_t allowed_bytes;          /* what jobs may take of the device's memory; -1: unknown */
    const char *lacks;              /* EINVAL: the name of an op of it, which the device hasn't in
                                     * dtype; NULL: it isn't for want of one */
    bool is_makeshift;              /* f32 only because nothing else could be measured just now */
};

/* Our own accounting, in bytes. */
struct vrt_device_executor_usage {
    int64_t total_bytes, free_bytes;        /* by the driver; -1: it can't tell */
    int64_t used_bytes, replica_bytes, workspace_bytes, peak_bytes;
    int n_replicas;
};

/* Zeros: defaults. */
struct vrt_device_executor_params {
    int n_sharing;                  /* devices, this one too, that share one memory */
    int64_t memory_limit_bytes;     /* never hold more of the device's; 0: no such limit */
    struct vrt_replica_store *store;        /* a reference is taken; NULL: one of its own */
    struct vrt_replica_watch watch; /* while weights come; go_on NULL: nobody looks on */
};

/* Return: 0, -ENOMEM. `device` must outlive it. */
int vrt_device_executor_new(struct vrt_device *device,
                            const struct vrt_device_executor_params *params,
                   struct vrt_device_executor **ret_executor);

/* The device that it was made for. */
struct vrt_device *vrt_device_executor_device(const struct vrt_device_executor *executor);

/* Gives up all it holds. Return: NULL. */
struct vrt_device_executor *vrt_device_executor_free(struct vrt_device_executor *executor);

/*
 * Finds out how the device would do the job: resolves the precision (measuring what a reduced
 * one costs in fidelity, where nobody knows) and the size. The replica stays warm.
 * Return: 0; -EINVAL: it can't run the network, or not so: `error` says why; -ENOSPC: not with its
 * memory: likewise; outcome; -errno.
 */
int vrt_device_executor_probe(struct vrt_device_executor *executor, struct vrt_probe *probe,
                      struct vrt_error *error);

/* Makes ready for the job what the first shard, done by such an order, would otherwise wait for.
 * Return: as run. */
int vrt_device_executor_prepare(struct vrt_device_executor *executor,
                                const struct vrt_device_executor_order *order);

/*
 * Restores the shard's frames: out[0..n-1] and shared[0..n-1] are new, with the timestamps of
 * in[0..n-1].
 * Return: 0; VRT_DEVICE_EXECUTOR_E_* or an outcome: `error` says what happened; -ECANCELED;
 * -errno. Where it isn't 0, nothing is restored. *times is added to in any case.
 */
int vrt_device_executor_run(struct vrt_device_executor *executor,
                            const struct vrt_device_executor_order *order,
                   struct vrt_shard_frames *frames, struct vrt_session_times *times,
                   struct vrt_error *error);

/* Whether a shard can be begun while others are on their way: there is a session for it, which
 * takes no memory from anybody, and its ops aren't timed. */
bool vrt_device_executor_is_ready(const struct vrt_device_executor *executor,
                                  const struct vrt_device_executor_order *order);

/*
 * Readies a shard to go its way step by step (restore.h), several at a time. While any is on its
 * way nothing but this and is_ready() is called. Return: as vrt_device_executor_run(): where it
 * isn't 0 the shard is not on its way.
 */
int vrt_device_executor_begin(struct vrt_device_executor *executor,
                              struct vrt_device_executor_shard *shard);

/*
 * Fills the checkup in, in some seconds at most on any device; what jobs hold stays as it is, save
 * weights that have changed. Return: 0, whatever was found; VRT_BACKEND_E_LOST; -ECANCELED: the
 * device executor's watch said no. What was found before stands in any case.
 */
int vrt_device_executor_checkup(struct vrt_device_executor *executor, struct vrt_checkup *checkup);

/* Device memory that a session and the replica of `spec` take; -1: it has none. */
int64_t vrt_device_executor_job_bytes(const struct vrt_device_executor *executor,
                                      const struct vrt_job_spec *spec);

/* Gives the session of a finished job up; its replica stays. */
void vrt_device_executor_release(struct vrt_device_executor *executor,
                                 const struct vrt_job_spec *spec);

/* Gives up the replicas that no session uses and that weren't used for `idle_ns`. Return: the bytes
 * that this freed of the device. */
int64_t vrt_device_executor_trim(struct vrt_device_executor *executor, int64_t idle_ns);

/* The most it ever held is from now on what it holds now. Return: what it was. */
int64_t vrt_device_executor_reset_peak(struct vrt_device_executor *executor);

/* What it holds now, and the most it ever held since the peak was reset. */
void vrt_device_executor_usage(struct vrt_device_executor *executor,
                               struct vrt_device_executor_usage *ret_usage);

VRT_DEFINE_CLEANUP(struct vrt_device_executor, vrt_device_executor_free)
