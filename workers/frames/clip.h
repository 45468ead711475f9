/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Shards in time: how a video is cut into runs of frames. Pure.
 *
 * The grid is the recipe's, so that the same video is always cut alike, whatever devices there
 * are. Shard i holds the frames [i * clip_frames, (i + 1) * clip_frames) that exist.
 */

#include <stdint.h>

/* No shard has more frames. */
#define VRT_CLIP_FRAMES_MAX 8

/* Frames of a shard for frames of this size: 1 for large ones, more where frames are small, so
 * that handing a shard on costs little beside computing it. */
int vrt_clip_frames(int width, int height);

/* Shards of a video of n_frames. */
int64_t vrt_clip_n_shards(int64_t n_frames, int clip_frames);

/*
 * Frames of a segment, the piece of output that is encoded by itself: whole shards, and so many
 * that a video of n_frames (-1: unknown) has a bounded number of segments.
 */
int64_t vrt_clip_segment_frames(int64_t n_frames, int clip_frames);
