/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A pool and pipelines that compute nothing: for tests of what stands above them
 *
 * They implement pool.h and profile.h of daemon/devices/, and daemon/pipeline/pipeline.h; a profile
 * takes as many ticks as its frames are wide. A job does what its input's name says:
 *
 *     run-N      takes N ticks, a frame each, then is done; every 4 are a segment
 *     run-N-large    finds after N frames that it needs a smaller recipe, and then is done
 *     run-N-alpha    takes N ticks for its transparency first
 *     run-N-cut      finds that of the segments that it goes on from only the first is whole
 *     hang       goes on until it is cancelled
 *     stuck      goes on for ever, as if its device hung
 *     fail       fails after three frames
 *     fail-N     fails after N frames
 *     media-N    ends as if its vrt-media had crashed, after N frames of each run; has 12
 *     full       finds its disk full after three frames
 *     refuse     is not admitted
 *     never      is admitted only when it is cancelled, that is, not at all
 *     slow       goes on like hang, but each start waits to be admitted until a test lets it, or
 *                the daemon ends
 *     last       goes on like hang; held, it has nothing left but to finish, which takes its time
 *     last-1     the same in a moment
 *     fill       finds its disk full when it is held
 *     other      is admitted, but each start finds that its input is another
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <uv.h>

#include "daemon/pipeline/pipeline.h"

#define FAKE_FLOW_TICK_MS 2
#define FAKE_FLOW_STARTS_MAX 64

struct vrt_pool {
    uv_loop_t *loop;
    uv_timer_t timer;
    void (*stopped)(void *ctx);
    void *ctx;
};

/* What happened since vrt_pool_new(); to be looked at when the server's thread has ended. */
struct fake_flow {
    int n_alive, n_running, n_running_max;      /* pipelines; alive: not freed */
    int n_errands;                              /* that devices are at: the pool waits for them */
    int n_profiles_cancelled;
    int n_frames;                               /* computed by all pipelines */
    atomic_int priority;                        /* that any was given last */
    int n_starts;
    int n_committed;                            /* segments of which that was told */
    char starts[FAKE_FLOW_STARTS_MAX][64];      /* names of inputs, in order */
    atomic_int n_profiles;                      /* ever begun; to be looked at at any time */
    atomic_int n_doctors;                       /* likewise */
    atomic_int n_slow;                          /* slow ones that ever waited to be admitted */
    atomic_int n_let;                           /* so many more are; set by a test at any time */
    int64_t size_bytes_max;                     /* of the result that was finished last */
    double memory_fractions[2];                 /* of its devices */
    bool has_snapshot;                          /* snapshots of whatever pipeline are: */
    struct vrt_pipeline_snapshot snapshot;
    atomic_bool is_mended;                      /* set by a test at any time: cuda:0 is ready */
};

extern struct fake_flow fake_flow;
