/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A job's recipe: whatever decides its output's bits besides input and network. Chosen once, at
 * admission, stored with the job, changed by nothing afterwards. Pure.
 */

#include <stdint.h>

#include "backend/backend.h"

struct vrt_recipe {
    int clip_frames;                /* frames of a shard; by the frame's size alone */
    int tile_w, tile_h;             /* in input pixels; the frame's size where it isn't cut */
    int overlap;                    /* input pixels of context on a tile's inner sides */
    enum vrt_precision precision;   /* as asked for: AUTO is resolved for each class of device */
    int encoder_threads;
};
