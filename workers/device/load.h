/* SPDX-License-Identifier: MIT */
#pragma once

/* How much of a job a device has at a time: for those who wait for it. Pure. */

#include "backend/backend.h"
#include "workers/plan/job-spec.h"

/* More frames at a time gain nothing, and a shard's come out later. */
#define VRT_LOAD_BATCH_MAX 8

/* Frames that are computed at a time, at most, in tiles of this grid, of a network that sees each
 * by itself: `wanted`; 0: as many as make up the pixels that the device wants. */
int vrt_load_batch(const struct vrt_device_info *info, const struct vrt_job_spec *spec,
                   const struct vrt_tile_grid *grid, int wanted);
