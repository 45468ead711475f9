/* SPDX-License-Identifier: MIT */

#include "workers/device/shard.h"

#include <string.h>

void vrt_shard_frames_copy(const struct vrt_shard_frames *from, struct vrt_shard_frames *ret_to)
{
    struct vrt_shard_frames *to = ret_to;

    to->n = from->n;
    to->n_new = from->n_new;
    to->depth = from->depth;
    memcpy(to->shares, from->shares, sizeof(to->shares));
    for (int i = 0; i < from->n; i++) {
        to->in[i] = vrt_frame_ref(from->in[i]);
        to->out[i] = NULL;
        to->shared[i] = NULL;
    }
}

void vrt_shard_frames_drop_out(struct vrt_shard_frames *frames)
{
    for (int i = 0; i < frames->n; i++) {
        frames->out[i] = vrt_frame_unref(frames->out[i]);
        frames->shared[i] = vrt_picture_unref(frames->shared[i]);
    }
}

void vrt_shard_frames_done(struct vrt_shard_frames *frames)
{
    vrt_shard_frames_drop_out(frames);
    for (int i = 0; i < frames->n; i++)
        frames->in[i] = vrt_frame_unref(frames->in[i]);
    frames->n = 0;
}
