/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Scene cuts, found on decoded frames
 *
 * A frame begins a scene if it differs much more from the one before than its neighbours differ
 * from each other, and no frame shortly before looks like one shortly after. So neither fast motion
 * nor a flash of one or two frames is a cut; nor is a scene of one frame a scene.
 *
 * Thread: any one at a time.
 */

#include <stdbool.h>
#include <stdint.h>

#include "frames/frame.h"

/* The difference of two pictures, as a share of black to white, from which on it is a cut. */
#define VRT_SCENE_THRESHOLD_DEFAULT 0.08

/* Frames that must follow one before it is known whether it begins a scene. */
#define VRT_SCENE_AHEAD 2
#define VRT_SCENE_BEHIND 3

#define VRT_SCENE_COLUMNS 64       /* a frame is compared as a picture of so */
#define VRT_SCENE_ROWS 36           /* many means, of 16 : 9 */

/* A picture in small: the mean brightness of each part, 0 to 255. */
struct vrt_scene_sketch {
    uint8_t parts[VRT_SCENE_ROWS * VRT_SCENE_COLUMNS];
};

/* The last pictures of a video; embedded, zero-initialised. */
struct vrt_scene {
    int64_t n_seen;                 /* frames */
    struct vrt_scene_sketch sketches[VRT_SCENE_BEHIND + 1 + VRT_SCENE_AHEAD];
};

/* Draws the first plane of `frame` in small. */
void vrt_scene_draw(const struct vrt_frame *frame, struct vrt_scene_sketch *ret_sketch);

/* The mean difference of two pictures, 0 to 1. */
double vrt_scene_difference(const struct vrt_scene_sketch *a, const struct vrt_scene_sketch *b);

/* Looks at the next frame. */
void vrt_scene_see(struct vrt_scene *scene, const struct vrt_frame *frame);

/*
 * Whether frame `at` begins a scene: one of the last 1 + VRT_SCENE_AHEAD frames seen, which all
 * that follow it have joined, up to VRT_SCENE_AHEAD or to the video's end. The first frame of all
 * does not.
 */
bool vrt_scene_is_cut(const struct vrt_scene *scene, int64_t at, double threshold);
