/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * How jobs and devices fared: GET /v1/jobs/{id}/history, over a job's life, and
 * GET /v1/devices/history, of the last ten minutes. What plots are drawn from.
 */

#include <stddef.h>
#include <stdint.h>

#include "api.h"
#include "fields.h"

/* Points of a job's history: from half as many up, once it ran for long enough. */
#define VRT_API_HISTORY_POINTS 256

/* Points of a device's history, and how far they are apart. */
#define VRT_API_DEVICE_HISTORY_POINTS 300
#define VRT_API_DEVICE_HISTORY_PERIOD_S 2

/* Of a job, from the point before (or its begin) to this one. */
struct vrt_history_point {
    double elapsed_s;                       /* that it had run, as a job's elapsed_s */
    double frames;                          /* computed by then, of shards in work a part too */
    double fps;                             /* since the point before; NAN: no time went by */
    int64_t memory_bytes;                   /* of all its devices, at most; VRT_UNKNOWN */
};

struct vrt_history_report {
    double period_s;                        /* between two points, the last one left out */
    struct vrt_history_point *points;
    size_t n_points;
};

struct vrt_device_history_point {
    int64_t used_bytes;                     /* of its memory, by anybody: as its driver says */
    int64_t held_bytes;                     /* by vrtd, by our own accounting */
    double utilization_percent;             /* as its driver says */
    double busy_percent;                    /* of the time: it had a shard in work */
    double fps;                             /* NAN: its shard is not done yet */
};

struct vrt_device_history_report {
    char name[VRT_API_DEVICE_BYTES];
    struct vrt_device_history_point *points;
    size_t n_points;
};

/* Each device has the same number of points, which were taken at the same times. */
struct vrt_devices_history_report {
    double period_s;
    int64_t last;                           /* the number of the last point, counted from 1 */
    struct vrt_device_history_report *devices;
    size_t n_devices;
};

extern const struct vrt_field vrt_history_fields[];
extern const struct vrt_field vrt_devices_history_fields[];
