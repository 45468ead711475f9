/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A kit: everything one device needs to restore frames of one job: recorded programs for planes to
 * RGB, for a tile of the network and for RGB to planes, the arena they share, and the frames'
 * buffers. One frame goes through it at a time, or one clip where the network sees clips.
 *
 * Thread: that of the device.
 */

#include <stddef.h>

#include "backend/backend.h"
#include "engine/executor.h"
#include "workers/plan/work.h"

struct vrt_frame;
struct vrt_kit;
struct vrt_picture;

/* How long frames' way through a kit took, in nanoseconds of the device's thread. */
struct vrt_kit_times {
    int64_t upload_ns, compute_ns, download_ns;
};

/* What tells whether a result can be right. */
struct vrt_kit_evidence {
    float min, max, n_not_finite;   /* of the RGB result: the finite values, as the device saw it */
    /* Whether the first plane has no contrast to speak of, as the host saw it: so that a device
     * which lies is caught as well. */
    bool in_is_blank, out_is_blank;
};

/* Frames on their way through a kit: all of a clip, or one. */
struct vrt_kit_clip {
    int n, depth;                   /* frames; those that the network sees (frames/clip.h) */
    struct vrt_frame *const *in;    /* [n], of work->in */
    struct vrt_frame *const *out;   /* [n], of work->out, writable: samples are filled in; NULL: */
    struct vrt_picture *const *shared;  /* [n]: this one's pixels are; both NULL: nothing is */
};

/* What a kit will be. */
struct vrt_kit_plan {
    size_t bytes;                   /* of device memory, beside the replica */
    int64_t tile_flops;             /* of one tile's network, all frames of a clip */
};

/*
 * Plans a kit for `work`, cut to `size`. Nothing is allocated on the device.
 * Return: 0; -EINVAL: the device can't run the network; -ENOMEM.
 */
int vrt_kit_plan(struct vrt_device *device, const struct vrt_work *work,
                 const struct vrt_work_size *size, enum vrt_dtype dtype,
                 struct vrt_kit_plan *ret_plan);

/*
 * `work` and `replica` (of the network in `dtype`) must outlive it.
 * Return: 0; outcome of the backend; -errno.
 */
int vrt_kit_new(struct vrt_device *device, const struct vrt_work *work, struct vrt_replica *replica,
                enum vrt_dtype dtype, struct vrt_kit **ret_kit);

/* Return: NULL. */
struct vrt_kit *vrt_kit_free(struct vrt_kit *kit);

/* What vrt_kit_plan() promised. */
size_t vrt_kit_bytes(const struct vrt_kit *kit);

/*
 * Restores a clip: samples and pixels only. Between tiles the go_on() of `watch` is asked, too; it
 * is not NULL. evidence[0..n-1] is filled in: zeros for a frame of which nothing is wanted.
 */
int vrt_kit_run(struct vrt_kit *kit, const struct vrt_kit_clip *clip,
                const struct vrt_executor_watch *watch, struct vrt_kit_times *times,
                struct vrt_kit_evidence *evidence);
