/* SPDX-License-Identifier: MIT */
#pragma once

/* What a shard holds: the frames of a clip, and what becomes of them. Whoever embeds it owns its
 * references. Thread: that of its owner; a shard goes from one thread to the next with its task. */

#include "frames/clips/clip.h"
#include "frames/frame.h"
#include "frames/clips/picture.h"

struct vrt_shard_frames {
    int n, n_new;                   /* frames; those of them that no shard before has */
    int depth;                      /* frames that the network sees: as of struct vrt_clip */
    struct vrt_frame *in[VRT_CLIP_FRAMES_MAX];
    struct vrt_share shares[VRT_CLIP_FRAMES_MAX];

    /* Once restored: a frame where the shard alone makes it up, a picture where it is one of
     * several, neither where it has no share in it. */
    struct vrt_frame *out[VRT_CLIP_FRAMES_MAX];
    struct vrt_picture *shared[VRT_CLIP_FRAMES_MAX];
};

/* The same shard with nothing restored: new references to in[]. */
void vrt_shard_frames_copy(const struct vrt_shard_frames *from, struct vrt_shard_frames *ret_to);

/* Drops the references to what is restored. */
void vrt_shard_frames_drop_out(struct vrt_shard_frames *frames);

/* Drops all references; none is held any more. */
void vrt_shard_frames_done(struct vrt_shard_frames *frames);
