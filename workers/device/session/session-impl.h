/* SPDX-License-Identifier: MIT */
#pragma once

/* What a session is made of: private to session.c and session-run.c. Thread: that of
 * the device. */

#include "backend/staging.h"
#include "engine/graph-executor.h"
#include "workers/device/session/session-graph.h"
#include "workers/device/session/session.h"

/* Programs for clips that are shorter than the recipe's, or of which others are shown: so many are
 * kept. */
#define VRT_SESSION_N_SHORTER VRT_RECIPE_EVERY_MAX

enum {
    VRT_SESSION_IN,
    VRT_SESSION_OUT,
    VRT_SESSION_SIDE_COUNT,
};

/* A clip's place while it is in flight. */
struct vrt_session_slot {
    struct vrt_staging *planes[VRT_SESSION_SIDE_COUNT];
    struct vrt_session_clip clip;
    struct vrt_graph_executor_watch watch;
    bool is_submitted;
    int result;                         /* of that: what its end returns */
    bool has_pixels;                    /* some are wanted */
};

struct vrt_session {
    struct vrt_device *device;
    const struct vrt_job_spec *spec;
    struct vrt_replica *replica;
    enum vrt_dtype dtype;
    int depth;                          /* frames of a clip; fewer may come */
    struct vrt_session_layout layout;
    struct vrt_graph_executor *executors[VRT_SESSION_GRAPH_COUNT]; /* NULL: not needed */
    struct {
        int depth, first;
        struct vrt_graph_executor *executor; /* NULL: none yet */
    } shorter[VRT_SESSION_N_SHORTER];
    int n_shorter;                      /* ever made */
    struct vrt_arena arena;
    struct vrt_session_slot slots[VRT_DEVICE_IN_FLIGHT];
    int n_slots;
    int first, n_begun;                 /* slots of the clips in flight, the oldest first */
    struct vrt_buffer *rgb[VRT_SESSION_SIDE_COUNT];
    struct vrt_buffer *tile;            /* NULL: not tiled */
    struct vrt_buffer *weights;         /* NULL: not blended */
    struct vrt_graph_executor_watch watch; /* of the clip that is submitted */
};

/* The network's program for clips of so many frames, of which what is made between begins at place
 * `first`, 1 where none is, made if need be. Return: 0; outcome; -errno. */
int vrt_session_network(struct vrt_session *session, int depth, int first,
                        struct vrt_graph_executor **ret_executor);
