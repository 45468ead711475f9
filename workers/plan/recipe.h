/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A job's recipe: whatever decides its output's bits besides input, network and encoder. Chosen
 * at admission from what was asked for (base/settings.h), and stored with the job; a smaller one
 * follows only where no device has memory for it any more. Pure.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/settings.h"
#include "frames/clips/clip.h"
#include "frames/clips/tile.h"
#include "frames/fields.h"
#include "frames/format.h"
#include "model/network.h"

/* The time between two frames is divided in no more parts, of which one of no more is shown: a
 * device has a program for each rest. */
#define VRT_RECIPE_TIMES_MAX 64
#define VRT_RECIPE_EVERY_MAX 24

struct vrt_recipe {
    int clip_frames;                /* frames of a shard; of one that the network doesn't see as a
                                     * clip, by the frame's size alone */
    bool exact_clip, exact_tile;    /* asked for: refused rather than made smaller */
    int clip_overlap;               /* frames that clips share, and blend */
    int times;                      /* frames that become of each: itself, and those between it and
                                     * the next; 1: no others */
    int every;                      /* of all of those, one of so many is shown; 1: each */
    enum vrt_tiling tiling;
    double scene_threshold;         /* 0: no cuts */
    double strength;                /* of the network: 1: all of it, 0: enlarged plainly */
    double sigma;                   /* of the noise, where white is 255; 0 where the network isn't
                                     * told */
    int64_t segment_frames;         /* a segment ends with the shard that makes it so many */
    int tile_w, tile_h;             /* in input pixels; the frame's size where it isn't cut */
    int overlap;                    /* input pixels of context on a tile's inner sides; of tiles
                                     * that are blended: what neighbours share */
    enum vrt_precision precision;   /* as asked for: AUTO is resolved for each class of device */
    int encoder_threads;
    struct vrt_fields fields;       /* what is done about the input's fields, if it has such */
    enum vrt_tonemap tonemap;       /* what is done about HDR, likewise */
};

/* What a recipe is chosen for. */
struct vrt_recipe_params {
    const struct vrt_network_info *network;
    int width, height;              /* of the input */
    int64_t n_frames;               /* -1: unknown */
    struct vrt_fields fields;       /* as was decided */
    enum vrt_tonemap tonemap;       /* likewise */
    struct vrt_rational fps;        /* of the input; 0/1: unknown, or it varies */
    struct vrt_rational wanted_fps; /* of the result; 0/1: as it becomes */
};

/*
 * Chooses everything but the final clip and tile, which the devices' memory may still make smaller.
 * Return: 0; -EINVAL: what is asked for doesn't suit the network: `error` says what does.
 */
int vrt_recipe_choose(const struct vrt_job_settings *settings,
                      const struct vrt_recipe_params *params, struct vrt_recipe *ret_recipe,
                      struct vrt_error *error);

/* Whether the network sees whole clips. */
bool vrt_recipe_is_temporal(const struct vrt_network_info *network);

/* How many frames become of n; -1 where that is -1, unknown. */
int64_t vrt_recipe_n_frames(const struct vrt_recipe *recipe, int64_t n);

/* How the recipe cuts a video into clips. */
struct vrt_clip_rule vrt_recipe_rule(const struct vrt_recipe *recipe,
                                     const struct vrt_network_info *network);

/* Makes clips shorter, for devices that hold no longer ones: what they share with them. */
void vrt_recipe_shorten(struct vrt_recipe *recipe, int clip_frames);

/* Cuts a recipe otherwise as far as nobody asked for its tiles and clips: into tiles of `tile`
 * pixels of frames that are so large, and clips no longer than `clip`; 0: as it is. */
void vrt_recipe_recut(struct vrt_recipe *recipe, const struct vrt_network_info *network, int width,
                      int height, int tile, int clip);

/* The same noise, as of struct vrt_network_use. */
float vrt_recipe_noise(const struct vrt_recipe *recipe);

/* What tiles of this recipe need of their grid. */
struct vrt_tile_needs vrt_recipe_tile_needs(const struct vrt_recipe *recipe,
                                            const struct vrt_network_info *network);

/* A frame of fewer operations is computed in a moment by whatever computes: 96 of them take two
 * minutes at 8 GFLOP/s, which is a slow processor. */
#define VRT_RECIPE_FAST_FLOPS INT64_C(10000000000)

/*
 * Makes shards and segments of a slow job shorter, so that something is seen to move, and a crash
 * costs no more than a few minutes, where a frame takes `frame_s` on its slowest device; 0:
 * nobody knows. By halves: the same machine chooses the same again, though it measures a little
 * else. Clips of a network that sees several frames stay: they decide what it sees.
 */
void vrt_recipe_pace(struct vrt_recipe *recipe, const struct vrt_network_info *network,
                     double frame_s);

/* The recipe's tiles on a frame of this size. */
struct vrt_tile_grid vrt_recipe_grid(const struct vrt_recipe *recipe,
                                     const struct vrt_network_info *network, int width,
                                     int height);
