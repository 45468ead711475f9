/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * How fast a device restores: measured on pictures made up for it
 *
 * What a network computes doesn't depend on what it sees, and so neither does the time it takes:
 * any picture will do. These are of the kind that most videos have, 8 bits in 4:2:0, with shading,
 * edges and noise, so that the check of results has nothing to object to.
 *
 * Thread: that of the device; specs and shards may be made on any.
 */

#include "backend/backend.h"
#include "base/error.h"
#include "workers/device/device-executor.h"
#include "workers/plan/job-spec.h"

/* Return: 0; -EINVAL: no frame has such a size; -ENOMEM. */
int vrt_speed_spec_new(struct vrt_network *network, int width, int height,
                       struct vrt_job_spec **ret_spec);

/* Fills the shard with `n` references to one made-up frame of spec->in. Return: 0; -ENOMEM. */
int vrt_speed_shard_init(const struct vrt_job_spec *spec, int n,
                         struct vrt_shard_frames *ret_frames);

/* Drops the frames of a shard, restored ones included. */
void vrt_speed_shard_done(struct vrt_shard_frames *frames);

/* Of a frame that is cut as spec->grid says, where one run of the network has `tile_flops`. */
int64_t vrt_speed_frame_flops(const struct vrt_job_spec *spec, int64_t tile_flops);

/* Of a shard of such frames; a clip that is shorter than others has as much less. */
double vrt_speed_shard_flops(const struct vrt_job_spec *spec, int64_t tile_flops,
                             const struct vrt_shard_frames *frames);

struct vrt_speed_measurement {
    struct vrt_network *network;
    enum vrt_dtype dtype;
    int width, height;              /* of the frames, or tiles, that it is about: try no larger */
    struct vrt_graph_executor_watch watch;
};

/*
 * Measures operations per second, by vrt_op_flops(), of whole frames: upload, conversion and
 * download are in their time. Small frames first, larger ones until the time is long enough to
 * tell something: it takes about a second on any device.
 * Return: 0; as vrt_device_executor_run().
 */
int vrt_speed_measure(struct vrt_device_executor *executor,
                      const struct vrt_speed_measurement *measurement,
                      double *ret_flops_per_s, struct vrt_error *error);
