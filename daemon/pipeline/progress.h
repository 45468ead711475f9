/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What is told of a pipeline: counts, times, warnings, each device's share
 *
 * Whoever does something notes it here; nothing here looks at them or calls anybody, so that a
 * poll only reads. Thread: the loop's.
 */

#include "daemon/pipeline/pipeline.h"
#include "daemon/sched/sched.h"
#include "frames/warnings.h"
#include "workers/device/worker.h"

/* The rate is averaged over so many of the last returns of the encoder. */
#define VRT_PROGRESS_SAMPLES 64

struct vrt_progress_sample {
    int64_t ran_ns;                     /* how long it had run then */
    double frames;                      /* encoded and under way */
};

/* A device's part in the job. */
struct vrt_progress_device {
    bool is_probed;                     /* it is told of */
    enum vrt_dtype dtype;               /* as probed, and the next four; -1: unknown */
    int batch;                          /* frames at a time; 0: as suits the device */
    int64_t planned_bytes, replica_bytes, allowed_bytes;
    int64_t job_bytes;                  /* that the device gave to it; -1: not known yet */
    int in_flight;
    const struct vrt_worker_run *runs[VRT_SCHED_IN_FLIGHT];     /* of these, but for copies */
    int64_t shards_done, shards_failed, frames_done;
    struct vrt_session_times times;
};

struct vrt_progress {
    struct vrt_pool *pool;
    const char *job_id;                 /* for logs; the pipeline's */
    uint64_t network_checksum;          /* known with the first device */
    struct vrt_progress_device devices[VRT_DEVICES_MAX];
    uint64_t admitted;                  /* the devices that admission found */
    int64_t started_ns, ended_ns;
    int64_t idle_ns;                    /* of the time since: it was held, and nothing was out */
    int64_t idle_since_ns;              /* likewise, and still is; 0: it isn't */
    int64_t decode_ns, encode_ns;       /* busy */
    struct vrt_pipeline_totals *totals; /* of all pipelines; NULL: nobody asks */
    struct vrt_pipeline_snapshot told;  /* its counts; the rest is filled in when it is asked for */
    int64_t frames_decoded;
    int64_t frames_resumed;             /* done by earlier pipelines */
    int clip_frames;                    /* of a shard */
    struct vrt_progress_sample samples[VRT_PROGRESS_SAMPLES];
    size_t n_samples;                   /* ever taken */
    char *warnings[VRT_PIPELINE_WARNINGS_MAX];
    size_t n_warnings;
};

/* Nothing yet. `job_id` and `totals`, which may be NULL, must outlive it. */
void vrt_progress_init(struct vrt_progress *progress, struct vrt_pool *pool, const char *job_id,
                       struct vrt_pipeline_totals *totals);

/* Frees what it holds. */
void vrt_progress_done(struct vrt_progress *progress);

/* Adds a warning, unless it is there; further ones than fit are dropped. */
void vrt_progress_warn(struct vrt_progress *progress, const char *format, ...) VRT_PRINTF(2, 3);

/* Adds each sentence. */
void vrt_progress_warn_all(struct vrt_progress *progress, const struct vrt_warnings *warnings);

/* These devices are asked, as `uid` wanted by `request`: its warnings are the job's, and that
 * others take part is logged, warned of or not. */
void vrt_progress_note_choice(struct vrt_progress *progress,
                              const struct vrt_device_choice *choice, const char *request,
                              uid_t uid);

/* Device `d` takes part as it said; NULL: it is asked anew, and not told of until then. */
void vrt_progress_note_probe(struct vrt_progress *progress, size_t d,
                             const struct vrt_probe *probe);

/* Device `d` got a shard; NULL: one that another has, too. */
void vrt_progress_note_run(struct vrt_progress *progress, size_t d,
                           const struct vrt_worker_run *run);

/* ... which came back, or isn't waited for. */
void vrt_progress_forget_run(struct vrt_progress *progress, size_t d,
                             const struct vrt_worker_run *run);

/* Whether it is held with nothing under way, which is no time of the job's. */
void vrt_progress_note_idle(struct vrt_progress *progress, bool is_idle);

/* A stage worked for so long: the decoder or the encoder. */
void vrt_progress_note_busy(struct vrt_progress *progress, enum vrt_stage stage, int64_t busy_ns);

/* Likewise those of device `d`. */
void vrt_progress_note_times(struct vrt_progress *progress, size_t d,
                             const struct vrt_session_times *times);

/* `n` more frames are encoded. */
void vrt_progress_note_frames(struct vrt_progress *progress, int n);

/* What vrt_pipeline_snapshot() gives, of a pipeline in this phase. */
void vrt_progress_snapshot(const struct vrt_progress *progress, enum vrt_pipeline_phase phase,
                           struct vrt_pipeline_snapshot *ret_snapshot);
