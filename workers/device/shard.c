/* SPDX-License-Identifier: MIT */

#include "workers/device/shard.h"

#include <string.h>

int vrt_shard_n_out(const struct vrt_shard_frames *frames)
{
    if (!frames->n || frames->times <= 1)
        return frames->n;
    return (frames->times - 1 - frames->first) / VRT_MAX(frames->every, 1) + 1;
}

int vrt_shard_place(const struct vrt_shard_frames *frames, int i)
{
    return frames->first + i * VRT_MAX(frames->every, 1);
}

int vrt_shard_at(const struct vrt_shard_frames *frames)
{
    return (frames->n - 1) / 2;
}

void vrt_shard_frames_copy(const struct vrt_shard_frames *from, struct vrt_shard_frames *ret_to)
{
    struct vrt_shard_frames *to = ret_to;

    to->n = from->n;
    to->n_new = from->n_new;
    to->n_repeated = from->n_repeated;
    to->depth = from->depth;
    to->times = from->times;
    to->every = from->every;
    to->first = from->first;
    to->span = from->span;
    to->behind = from->behind;
    memcpy(to->shares, from->shares, sizeof(to->shares));
    for (int i = 0; i < from->n; i++)
        to->in[i] = vrt_frame_ref(from->in[i]);
    for (int i = 0; i < vrt_shard_n_out(from); i++) {
        to->out[i] = NULL;
        to->shared[i] = NULL;
    }
}

void vrt_shard_frames_take_out(struct vrt_shard_frames *frames, struct vrt_shard_frames *restored)
{
    for (int i = 0; i < frames->n; i++)
        frames->in[i] = vrt_frame_unref(frames->in[i]);
    for (int i = 0; i < vrt_shard_n_out(frames); i++) {
        frames->out[i] = VRT_STEAL(restored->out[i]);
        frames->shared[i] = VRT_STEAL(restored->shared[i]);
    }
}

void vrt_shard_frames_drop_out(struct vrt_shard_frames *frames)
{
    for (int i = 0; i < vrt_shard_n_out(frames); i++) {
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
