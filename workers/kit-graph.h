/* SPDX-License-Identifier: MIT */
#pragma once

/* The graphs of a kit: private to kit.c and kit-graph.c. Unit of sizes: pixels. */

#include "engine/graph.h"
#include "workers/work.h"

enum vrt_kit_graph {
    VRT_KIT_TO_RGB,                 /* planes -> rgb */
    VRT_KIT_TO_PLANES,              /* rgb -> planes, range */
    VRT_KIT_NETWORK,                /* a tile of rgb -> a tile of rgb */
    VRT_KIT_COPY,                   /* + 1 where columns are cut, + 2 where rows are */
    VRT_KIT_GRAPH_COUNT = VRT_KIT_COPY + 4,
};

/* The frame's buffers on the device, in bytes. */
struct vrt_kit_layout {
    size_t plane_offset[2][VRT_FRAME_MAX_PLANES];   /* of the input's planes, the output's */
    size_t planes_bytes[2];
    size_t rgb_bytes[2];
    size_t tile_bytes;              /* the network's result before it is cut; 0: not tiled */
};

/* Computes the layout of the work's frames under `grid`. */
void vrt_kit_layout(const struct vrt_work *work, const struct vrt_tile_grid *grid,
                    struct vrt_kit_layout *ret_layout);

/*
 * Builds the graphs that `grid` needs; the others stay NULL: the copies where nothing is cut.
 * Return: 0; -EINVAL; -ENOMEM. The caller frees ret_graphs[...] whatever is returned.
 */
int vrt_kit_graphs_new(const struct vrt_work *work, const struct vrt_tile_grid *grid,
                       enum vrt_dtype dtype, struct vrt_graph *ret_graphs[VRT_KIT_GRAPH_COUNT]);
