/* SPDX-License-Identifier: MIT */
#pragma once

/* The graphs of a session: private to session.c and session-graph.c. Unit of sizes: pixels.
 * Pure. */

#include "engine/graph.h"
#include "workers/plan/job-spec.h"

/* All but the network's are for one frame. */
enum vrt_session_graph {
    VRT_SESSION_TO_RGB,             /* planes -> rgb */
    VRT_SESSION_TO_PLANES,          /* rgb -> planes, range */
    VRT_SESSION_NETWORK,            /* a tile of rgb -> a tile of rgb, all frames of a clip */
    VRT_SESSION_CLEAR,              /* -> rgb, black */
    VRT_SESSION_BLEND,              /* a tile of rgb, weights of rows, of columns, the tile's place
                                     * in the frame -> that place */
    VRT_SESSION_DIVIDE,             /* rgb, totals of rows, of columns -> rgb */
    VRT_SESSION_MIX,                /* rgb of the input, rgb -> rgb, in its place: of a network
                                     * that isn't to have its full strength */
    VRT_SESSION_COPY,               /* + 1 where columns are cut, + 2 where rows are */
    VRT_SESSION_GRAPH_COUNT = VRT_SESSION_COPY + 4,
};

/* What the op `range` gives: smallest, largest, how many not finite, how many. */
#define VRT_SESSION_N_RANGE 4

/* The frame's buffers on the device, in bytes. */
struct vrt_session_layout {
    size_t plane_offset[2][VRT_FRAME_MAX_PLANES];   /* of the input's planes; of the output's, which
                                     * stand behind the result's range */
    size_t planes_bytes[2];         /* of one frame, with the range */
    size_t slot_bytes[2];           /* of all frames of a clip, of all its results */
    size_t frame_bytes[2];          /* of one frame of RGB */
    size_t rgb_bytes[2];            /* of all frames of a clip, of all that the network makes */
    size_t tile_frame_bytes;        /* the network's result before it is cut or blended */
    size_t tile_bytes;              /* the same of all frames; 0: not tiled */

    /* Weights of blended tiles, f32, one a row or column of the output: of each tile, then the
     * totals of the whole frame. */
    size_t rows_offset, columns_offset, totals_offset[2];
    size_t weights_bytes;           /* 0: not blended */
};

/* Computes the layout of the job's frames. */
void vrt_session_layout(const struct vrt_job_spec *spec, const struct vrt_job_spec_size *size,
                    struct vrt_session_layout *ret_layout);

/*
 * Builds the graphs that `size` needs; the others stay NULL: the copies where nothing is cut.
 * Return: 0; -EINVAL; -ENOMEM. The caller frees ret_graphs[...] whatever is returned.
 */
int vrt_session_graphs_new(const struct vrt_job_spec *spec, const struct vrt_job_spec_size *size,
                       enum vrt_dtype dtype, struct vrt_graph *ret_graphs[VRT_SESSION_GRAPH_COUNT]);

/* Builds the network's graph alone, for clips of so many frames. Return: 0; -EINVAL; -ENOMEM. */
int vrt_session_network_graph_new(const struct vrt_job_spec *spec, int depth, int first,
                              enum vrt_dtype dtype, struct vrt_graph **ret_graph);

