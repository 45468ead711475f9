/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What one device holds and computes: replicas of networks, kept warm between jobs, and the kits
 * of the jobs that run, both given up, least recently used first, when memory is short.
 *
 * Thread: that of the device.
 */

#include <stdbool.h>
#include <stdint.h>

#include "backend/backend.h"
#include "engine/replica.h"
#include "workers/device/kit.h"
#include "workers/plan/recipe.h"
#include "workers/device/shard.h"
#include "workers/plan/work.h"

struct vrt_checkup;
struct vrt_runner;

/* Beside 0, -errno and the outcomes of the backend. */
enum vrt_runner_outcome {
    VRT_RUNNER_E_OUTPUT = 64,       /* the result can't be right: not finite, wild, or blank */
};

/* How a shard's frames are to be restored. */
struct vrt_runner_order {
    struct vrt_work *work;
    enum vrt_dtype dtype;
    struct vrt_executor_watch watch;
    struct vrt_op_times *op_times;  /* added to; then ops run one by one; NULL: they don't */
};

/* What a device is asked before a job may use it. */
struct vrt_survey {
    struct vrt_work *work;          /* its grid and clips: the largest that are wanted */
    bool exact_grid, exact_clip;    /* asked for: refuse rather than make smaller */
    bool smaller;                   /* the work's own size proved to be too large */
    bool is_due;                    /* it is about to run: kits of other jobs make room for it */
    enum vrt_precision precision;   /* as asked for */
    double fidelity_db[VRT_DTYPE_COUNT];    /* known already; NAN: not measured */
    bool wants_speed;               /* measure what isn't known of it */
    double flops_per_s[VRT_DTYPE_COUNT];    /* known already; NAN: not measured */

    /* The answer. */
    struct vrt_work_size size;      /* the first that fits */
    enum vrt_dtype dtype;
    int64_t replica_bytes;
    int64_t planned_bytes;          /* replica and kit */
    int64_t tile_flops;             /* of the network on one tile of a clip */
    int64_t allowed_bytes;          /* what jobs may take of the device's memory; -1: unknown */
    bool is_makeshift;              /* f32 only because nothing else could be measured just now */
};

/* Our own accounting, in bytes. */
struct vrt_runner_usage {
    int64_t total_bytes, free_bytes;        /* by the driver; -1: it can't tell */
    int64_t used_bytes, replica_bytes, workspace_bytes, peak_bytes;
    int n_replicas;
};

/* Zeros: defaults. */
struct vrt_runner_params {
    double memory_fraction;         /* of the free memory that jobs may take */
    int n_sharing;                  /* devices, this one too, that share one memory */
    int64_t memory_limit_bytes;     /* never hold more of the device's; 0: no such limit */
    struct vrt_replica_store *store;        /* a reference is taken; NULL: one of its own */
    struct vrt_replica_watch watch; /* while weights come; go_on NULL: nobody looks on */
};

/* Return: 0, -ENOMEM. `device` must outlive it. */
int vrt_runner_new(struct vrt_device *device, const struct vrt_runner_params *params,
                   struct vrt_runner **ret_runner);

/* The device that it was made for. */
struct vrt_device *vrt_runner_device(const struct vrt_runner *runner);

/* Gives up all it holds. Return: NULL. */
struct vrt_runner *vrt_runner_free(struct vrt_runner *runner);

/*
 * Finds out how the device would do the work: resolves the precision (measuring what a reduced
 * one costs in fidelity, where nobody knows) and the size. The replica stays warm.
 * Return: 0; -EINVAL: it can't run the network, or not so: `error` says why; -ENOSPC: not with its
 * memory: likewise; outcome; -errno.
 */
int vrt_runner_survey(struct vrt_runner *runner, struct vrt_survey *survey,
                      struct vrt_error *error);

/* Makes ready for the work what the first shard would otherwise wait for. Return: as run. */
int vrt_runner_prepare(struct vrt_runner *runner, struct vrt_work *work, enum vrt_dtype dtype);

/*
 * Restores the shard's frames: out[0..n-1] and shared[0..n-1] are new, with the timestamps of
 * in[0..n-1].
 * Return: 0; VRT_RUNNER_E_OUTPUT or an outcome: `error` says what happened; -ECANCELED; -errno.
 * Where it isn't 0, nothing is restored. *times is added to in any case.
 */
int vrt_runner_run(struct vrt_runner *runner, const struct vrt_runner_order *order,
                   struct vrt_shard_frames *frames, struct vrt_kit_times *times,
                   struct vrt_error *error);

/*
 * Fills the checkup in, in some seconds at most on any device; what jobs hold stays as it is, save
 * weights that have changed. Return: 0, whatever was found; VRT_BACKEND_E_LOST; -ECANCELED: the
 * runner's watch said no. What was found before stands in any case.
 */
int vrt_runner_checkup(struct vrt_runner *runner, struct vrt_checkup *checkup);

/* Device memory that a kit and the replica of `work` take; -1: it has none. */
int64_t vrt_runner_work_bytes(const struct vrt_runner *runner, const struct vrt_work *work);

/* Gives the kit of a finished job up; its replica stays. */
void vrt_runner_release(struct vrt_runner *runner, const struct vrt_work *work);

/* Gives up the replicas that no kit uses and that weren't used for `idle_ns`. */
void vrt_runner_trim(struct vrt_runner *runner, int64_t idle_ns);

/* What it holds now, and the most it ever held. */
void vrt_runner_usage(struct vrt_runner *runner, struct vrt_runner_usage *ret_usage);

VRT_DEFINE_CLEANUP(struct vrt_runner, vrt_runner_free)
