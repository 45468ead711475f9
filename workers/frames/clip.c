/* SPDX-License-Identifier: MIT */

/*
 * Small shards: the first frames come out soon, the last ones keep all devices busy to the end, and
 * little memory lies in queues. Large enough that the loop isn't asked thousands of times a second.
 */

#include "frames/clip.h"

/* Pixels that a shard should have at least. */
#define SHARD_PIXELS (1 << 20)

/* A segment is about 40 s long; a file of a segment stays open until the end. */
#define SEGMENT_FRAMES_MIN 1024
#define SEGMENTS_MAX 128

/* Where nobody knows how many frames are to come. */
#define SEGMENT_FRAMES_UNKNOWN 8192

int vrt_clip_frames(int width, int height)
{
    int64_t pixels = (int64_t)width * height;

    if (pixels * VRT_CLIP_FRAMES_MAX <= SHARD_PIXELS)
        return VRT_CLIP_FRAMES_MAX;
    return pixels >= SHARD_PIXELS ? 1 : (int)(SHARD_PIXELS / pixels);
}

int64_t vrt_clip_n_shards(int64_t n_frames, int clip_frames)
{
    return n_frames / clip_frames + (n_frames % clip_frames > 0);
}

int64_t vrt_clip_segment_frames(int64_t n_frames, int clip_frames)
{
    int64_t wanted = n_frames < 0 ? SEGMENT_FRAMES_UNKNOWN : n_frames / SEGMENTS_MAX + 1;

    if (wanted < SEGMENT_FRAMES_MIN)
        wanted = SEGMENT_FRAMES_MIN;
    return vrt_clip_n_shards(wanted, clip_frames) * clip_frames;
}
