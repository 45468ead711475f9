/* SPDX-License-Identifier: MIT */
#pragma once

/* A pool and pipelines on a loop of their own, as the daemon would run them, with the default
 * model; every test ends with the loop closing clean. */

#include <uv.h>

#include "daemon/pipeline/pipeline.h"
#include "daemon/devices/pool.h"

#define FLOW_SEGMENTS_MAX 64

struct flow;

/* One job of a flow. */
struct flow_job {
    struct flow *flow;
    struct vrt_pipeline *pipeline;
    int output_fd, folder_fd;
    bool was_admitted, is_done;
    bool keeps;                     /* its folder of working files is left as it was before */
    int cancel_at;                  /* frames after which it is cancelled; -1: never */
    int park_frames;                /* frames after which it is parked; 0: never */
    int park_at, stop_at;           /* segments after which it is parked, is stopped; 0: never */
    int hold_at;                    /* segments after which it is held, for good; 0: never */

    /* Its segments, of all its flows; with `keeps` what it goes on from. */
    struct vrt_segment_record segments[FLOW_SEGMENTS_MAX];
    int n_segments, n_cuts;         /* cuts: calls of segments_cut() */
    int n_good;                     /* segments that the last cut left */
    struct vrt_error error;         /* of admission or end; message "": none */
    struct vrt_pipeline_info info;
    struct vrt_pipeline_snapshot last;      /* taken in done() */
    char warnings[2048];            /* joined by newlines */
};

struct flow {
    uv_loop_t loop;
    uv_timer_t timer;
    struct vrt_pool *pool;
    struct vrt_network *network;
    int spool_fd;
    int n_running;
    bool stopped;
    void (*watch)(struct flow *flow);       /* called every few milliseconds; NULL: nobody looks */
    uint64_t quarantined;           /* devices that ever were, as seen every few milliseconds */
    struct flow_job *jobs[8];
    int n_jobs;
};

/* Makes the pool; `spool` is a folder. Of the params the loop is filled in. */
void flow_init(struct flow *flow, const char *spool, struct vrt_pool_params params);

/* Likewise, of so many processors. */
void flow_init_cpus(struct flow *flow, int n_devices);

/* Zero, where a job of a flow asks for just that: what its settings leave out is not asked for. */
#define FLOW_ZERO (-2)

/* Begins a job: the params' callbacks, output, spool and network are filled in; the input's
 * descriptor is taken over. Of its settings (NULL: none) zeros are not asked for. It is started as
 * soon as it is admitted. */
void flow_submit(struct flow *flow, struct flow_job *job, struct vrt_pipeline_params params,
                 const char *output);

/* A lossless restoration of this file on the CPU's devices, which is the same to the bit on any of
 * them, to be submitted once. */
struct vrt_pipeline_params flow_exact_params(const char *input);

/* Runs the loop until every job is done. */
void flow_run(struct flow *flow);

/* Runs the loop for so long. */
void flow_run_for(struct flow *flow, int ms);

/* Runs the loop until the job, which is held, is told of as it was a while ago: nothing of it is
 * under way any more. */
void flow_wait_until_idle(struct flow *flow, const struct flow_job *job,
                          struct vrt_pipeline_snapshot *ret_idle);

/* By all devices. */
int64_t flow_shards_done(const struct vrt_pipeline_snapshot *now);

/* Stops the pool, closes the loop, and checks that nothing is left. */
void flow_done(struct flow *flow);

/* Waits until no device's thread is left: those that were given up came back, and freed what they
 * held. Where a system doesn't list its threads this returns at once. */
void flow_wait_for_threads(void);
