/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The rules by which a network that sees clips is applied to a video, once more and as plainly as
 * they can be said: the whole video in memory, one device, loops over every pixel
 *
 * Only single ops and whole networks are run on the device, as they are.
 */

#include <stdbool.h>

#include "frames/frame.h"
#include "model/network.h"

struct direct_rule {
    int clip, overlap;              /* frames; of a clip, shared */
    int tile_w, tile_h, tile_overlap;   /* input pixels; a tile of the frame's size: not cut */
    bool official;
    float noise;
    const int *cuts;                /* frames that begin a scene, ended by 0; NULL: none */
};

struct direct {
    struct vrt_registry *registry;
    struct vrt_device *device;
    struct vrt_network *network;    /* borrowed */
    struct vrt_replica *replica;
};

/* On the CPU device, in f32. */
void direct_init(struct direct *direct, struct vrt_network *network);
void direct_done(struct direct *direct);

/* Restores n frames by the rule. Return: n new frames of `format`, in ret_frames. */
void direct_restore(struct direct *direct, const struct direct_rule *rule,
                    struct vrt_frame *const *frames, int n, const struct vrt_frame_format *format,
                    struct vrt_frame **ret_frames);

/* Twice n frames of `format`: each, and behind it the one that a network makes between it and the
 * next, from one before these two and one behind; it again where a scene ends, which `cuts` tell as
 * above. */
void direct_between(struct direct *direct, const int *cuts, struct vrt_frame *const *frames, int n,
                    const struct vrt_frame_format *format, struct vrt_frame **ret_frames);

/* Reads all frames of a video. Return: how many; the references are the caller's. */
int direct_read(const char *path, struct vrt_frame **frames, int max);

/* Compares samples. Return: how many differ; *ret_most is the largest difference. */
int direct_compare(const struct vrt_frame *a, const struct vrt_frame *b, int *ret_most);
