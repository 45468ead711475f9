/* SPDX-License-Identifier: MIT */
#pragma once

/* What a shard holds: the frames of a clip, and what becomes of them: as many, or, where frames are
 * made between, its frame and those that follow it. Whoever embeds it owns its references.
 * Thread: that of its owner; a shard goes from one thread to the next with its task. */

#include "frames/clips/bookmark.h"
#include "frames/clips/clip.h"
#include "frames/frame.h"
#include "frames/clips/picture.h"

struct vrt_shard_frames {
    int n, n_new;                   /* frames; those of them that no shard before has */
    int n_repeated;                 /* of in[], but for the first: such that repeat the one before,
                                     * and so does their result: they aren't computed */
    int depth;                      /* frames that the network sees: as of struct vrt_clip */
    struct vrt_frame *in[VRT_CLIP_FRAMES_MAX];
    struct vrt_share shares[VRT_CLIP_FRAMES_MAX];
    int times, every;               /* as of struct vrt_clip_rule */
    int first;                      /* as of struct vrt_clip_shown */
    int64_t span;                   /* as of struct vrt_cut */
    struct vrt_bookmark behind;     /* where to go on behind it; first 0: nowhere */

    /* Once restored: a frame where the shard alone makes it up, a picture where it is one of
     * several, neither where it has no share in it. */
    struct vrt_frame *out[VRT_CLIP_FRAMES_MAX];
    struct vrt_picture *shared[VRT_CLIP_FRAMES_MAX];

    /* While it is restored: what is computed, all but repeated frames. A session in which it is in
     * flight points here. */
    struct {
        int n;
        int at[VRT_CLIP_FRAMES_MAX];    /* which ones */
        struct vrt_frame *in[VRT_CLIP_FRAMES_MAX], *out[VRT_CLIP_FRAMES_MAX];   /* no references */
    } computed;
};

/* How many frames become of it: out[] and shared[] have so many. */
int vrt_shard_n_out(const struct vrt_shard_frames *frames);

/* Which of the `times` that its frame becomes is the i-th that is shown. */
int vrt_shard_place(const struct vrt_shard_frames *frames, int i);

/* Which of in[] is shown before those that are made: as of a shard where some are. */
int vrt_shard_at(const struct vrt_shard_frames *frames);

/* The same shard with nothing restored: new references to in[]. */
void vrt_shard_frames_copy(const struct vrt_shard_frames *from, struct vrt_shard_frames *ret_to);

/* Takes over what is restored of the same shard, and drops the references to in[]. */
void vrt_shard_frames_take_out(struct vrt_shard_frames *frames, struct vrt_shard_frames *restored);

/* Drops the references to what is restored. */
void vrt_shard_frames_drop_out(struct vrt_shard_frames *frames);

/* Drops all references; none is held any more. */
void vrt_shard_frames_done(struct vrt_shard_frames *frames);
