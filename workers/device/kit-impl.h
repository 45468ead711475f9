/* SPDX-License-Identifier: MIT */
#pragma once

/* What a kit is made of: private to kit.c and kit-run.c. */

#include "engine/executor.h"
#include "workers/device/kit-graph.h"
#include "workers/device/kit.h"

/* What the op `range` gives: smallest, largest, how many not finite, how many. */
#define VRT_KIT_N_RANGE 4
#define VRT_KIT_RANGE_BYTES (VRT_KIT_N_RANGE * sizeof(float))

/* Programs for clips that are shorter than the recipe's: so many are kept. */
#define VRT_KIT_N_SHORTER 4

enum {
    VRT_KIT_IN,
    VRT_KIT_OUT,
    VRT_KIT_SIDE_COUNT,
};

struct vrt_kit {
    struct vrt_device *device;
    const struct vrt_work *work;
    struct vrt_replica *replica;
    enum vrt_dtype dtype;
    struct vrt_kit_layout layout;
    struct vrt_executor *executors[VRT_KIT_GRAPH_COUNT];    /* NULL: not needed */
    struct {
        int depth;
        struct vrt_executor *executor;  /* NULL: none yet */
    } shorter[VRT_KIT_N_SHORTER];
    int n_shorter;                      /* ever made */
    struct vrt_arena arena;
    struct vrt_buffer *planes[VRT_KIT_SIDE_COUNT], *rgb[VRT_KIT_SIDE_COUNT];
    struct vrt_buffer *tile;            /* NULL: not tiled */
    struct vrt_buffer *weights;         /* NULL: not blended */
    struct vrt_buffer *range;
    uint8_t *host;                      /* a plane without gaps, of either side */
    struct vrt_executor_watch watch;    /* of the run at hand */
};

/* The network's program for clips of so many frames, made if need be. Return: 0; outcome;
 * -errno. */
int vrt_kit_network(struct vrt_kit *kit, int depth, struct vrt_executor **ret_executor);
