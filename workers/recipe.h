/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A job's recipe: whatever decides its output's bits besides input and network. Chosen once, at
 * admission, stored with the job, changed by nothing afterwards. Pure.
 */

#include <stdint.h>

#include "backend/backend.h"
#include "frames/tile.h"
#include "model/network.h"

struct vrt_recipe {
    int clip_frames;                /* frames of a shard; by the frame's size alone */
    int64_t segment_frames;         /* frames of a segment: whole shards */
    int tile_w, tile_h;             /* in input pixels; the frame's size where it isn't cut */
    int overlap;                    /* input pixels of context on a tile's inner sides */
    enum vrt_precision precision;   /* as asked for: AUTO is resolved for each class of device */
    int encoder_threads;
};

/* What a recipe is chosen for. */
struct vrt_recipe_params {
    const struct vrt_network_info *network;
    int width, height;              /* of the input */
    int64_t n_frames;               /* -1: unknown */
    int tile;                       /* asked for; 0: the whole frame, refined until it fits */
    int overlap;                    /* asked for; -1: by the network's radius */
    enum vrt_precision precision;
};

/*
 * Chooses everything but the final tile, which the devices' memory may still refine.
 * Return: 0; -EINVAL: the tile asked for is too small; `error` names the smallest.
 */
int vrt_recipe_choose(const struct vrt_recipe_params *params, struct vrt_recipe *ret_recipe,
                      struct vrt_error *error);

/* What tiles of this recipe need of their grid. */
struct vrt_tile_needs vrt_recipe_tile_needs(const struct vrt_recipe *recipe,
                                            const struct vrt_network_info *network);

/* The recipe's tiles on a frame of this size. */
struct vrt_tile_grid vrt_recipe_grid(const struct vrt_recipe *recipe,
                                     const struct vrt_network_info *network, int width,
                                     int height);
