/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The largest clip and tile that a device has memory for
 *
 * Whole clips, as the network's authors cut them, in large tiles are best. What doesn't fit is
 * first cut into tiles, down to the size that the authors test with; then clips are halved, and
 * each length is tried in tiles from the whole frame on; only clips of a single window are cut
 * into the smallest tiles there are. A network that sees each frame by itself has tiles alone.
 *
 * Thread: that of the device.
 */

#include "backend/backend.h"
#include "workers/device/session/session.h"
#include "workers/plan/job-spec.h"

struct vrt_fit_params {
    const struct vrt_job_spec *spec; /* its grid and clips: the largest that are wanted */
    enum vrt_dtype dtype;
    int64_t allowed_bytes;          /* for the session; -1: nobody knows */
    bool is_fixed;                  /* in that size, or not at all */
    bool smaller;                   /* the spec's own size proved to be too large */
};

struct vrt_fit {
    struct vrt_job_spec_size size;
    struct vrt_session_plan plan;
};

/*
 * Plans sizes, largest first, until one fits. Nothing is allocated on the device. What is to be
 * smaller takes at most three quarters of the memory, or is the smallest there is: who tries again
 * and again is soon done.
 * Return: 0; -ENOSPC: none does, and *ret_fit is the smallest; -EINVAL: the device can't run the
 * network; -ENOMEM.
 */
int vrt_fit_find(struct vrt_device *device, const struct vrt_fit_params *params,
                 struct vrt_fit *ret_fit);

/* Whether `a` is a smaller size of the same work than `b`. */
bool vrt_fit_is_smaller(const struct vrt_job_spec_size *a, const struct vrt_job_spec_size *b);
