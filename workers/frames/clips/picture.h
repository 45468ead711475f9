/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A picture: RGB in f32 in host memory, shared by counting references
 *
 * What a clip has computed of a frame that other clips compute too: it is blended with theirs
 * before it is made a frame of samples.
 */

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "frames/clips/overlap.h"
#include "frames/extra.h"

struct vrt_picture {
    atomic_int n_refs;
    int width, height;
    struct vrt_share share;         /* what it is worth */
    int64_t pts, duration, index;   /* as of the frame that it was made from */
    bool concealed;                 /* likewise */
    struct vrt_frame_extra extra;   /* likewise */
    float *rgb;                     /* [height,width,3], 0 to 1 where it can be shown */
};

/* Undefined pixels, zeros else. Return: 0; -ENOMEM. Thread: any. */
int vrt_picture_new(int width, int height, struct vrt_picture **ret_picture) VRT_MUST_CHECK;

/* One reference less; with the last one the picture goes. NULL is fine. Return: NULL. Thread:
 * any. */
struct vrt_picture *vrt_picture_unref(struct vrt_picture *picture);

/* Bytes of a picture's pixels. */
size_t vrt_picture_bytes(int width, int height);

VRT_DEFINE_CLEANUP(struct vrt_picture, vrt_picture_unref)
