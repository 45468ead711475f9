/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * How a device fared in the last ten minutes: a ring of points at even distances, in memory. Pure.
 *
 * Thread: the loop's.
 */

#include <stdint.h>

#include "daemon/devices/pool.h"
#include "history/msg_history.h"

/* Zero-initialised is empty. */
struct vrt_device_history {
    struct vrt_device_history_point points[VRT_API_DEVICE_HISTORY_POINTS];
    int64_t n_points;                   /* ever: point n is at (n - 1) % POINTS */
    int64_t begun_ns;                   /* when the next one began; 0: not yet */
    int n_looks, n_busy;                /* since then */
    int64_t frames_done;                /* at the last point */
    int n_open;                         /* points up to the last whose rate isn't known yet */
};

/*
 * Looks at the device, at this time of the clock that doesn't jump: a few times a period, or times
 * between two looks have no points of their own. Frames come by the shard: the rate of a point is
 * that of the shard that was in work, and known when that is done.
 */
void vrt_device_history_note(struct vrt_device_history *history,
                             const struct vrt_device_snapshot *device, int64_t now_ns);

/*
 * Copies the points behind point number `after`, as far as they are kept, oldest first;
 * `ret_points` has room for VRT_API_DEVICE_HISTORY_POINTS. Return: how many.
 */
size_t vrt_device_history_points(const struct vrt_device_history *history, int64_t after,
                                 struct vrt_device_history_point *ret_points);
