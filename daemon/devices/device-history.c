/* SPDX-License-Identifier: MIT */

#include "daemon/devices/device-history.h"

#include <math.h>

#include "base/clock.h"
#include "base/macro.h"

#define PERIOD_NS (VRT_API_DEVICE_HISTORY_PERIOD_S * VRT_NS_PER_S)

/* Looks come every half second or so: the fourth is not to wait for a fifth. */
#define EARLY_NS (VRT_NS_PER_S / 10)

/* The point `age` points before the last one. */
static struct vrt_device_history_point *point_at(struct vrt_device_history *history, int64_t age)
{
    return &history->points[(history->n_points - 1 - age) % VRT_API_DEVICE_HISTORY_POINTS];
}

/* So many points up to the last one get this rate. */
static void settle(struct vrt_device_history *history, int n, double fps)
{
    for (int age = 0; age < VRT_MIN(n, VRT_API_DEVICE_HISTORY_POINTS); age++)
        point_at(history, age)->fps = fps;
    history->n_open = 0;
}

static double to_thousandths(double value)
{
    return round(value * 1000) / 1000;
}

void vrt_device_history_note(struct vrt_device_history *history,
                             const struct vrt_device_snapshot *device, int64_t now_ns)
{
    const double lasted_s = (double)(now_ns - history->begun_ns) / VRT_NS_PER_S;
    const int64_t n_frames = device->frames_done - history->frames_done;
    const bool knows_used = device->memory_total_bytes >= 0 && device->memory_free_bytes >= 0;

    history->n_looks++;
    history->n_busy += device->in_flight > 0;
    if (!history->begun_ns) {
        history->begun_ns = now_ns;
        history->frames_done = device->frames_done;
        history->n_looks = history->n_busy = 0;
        return;
    }
    if (now_ns - history->begun_ns < PERIOD_NS - EARLY_NS)
        return;
    history->n_points++;
    *point_at(history, 0) = (struct vrt_device_history_point){
        .used_bytes = knows_used ? device->memory_total_bytes - device->memory_free_bytes :
                                   VRT_UNKNOWN,
        .held_bytes = device->used_bytes,
        .utilization_percent = device->sensors.are_known ? device->sensors.utilization_percent :
                                                           NAN,
        .busy_percent = 100.0 * history->n_busy / history->n_looks,
        .fps = NAN,
    };
    history->n_open++;
    if (n_frames > 0)
        settle(history, history->n_open,
               to_thousandths((double)n_frames / (lasted_s * history->n_open)));
    else if (history->n_busy == 0)
        settle(history, history->n_open, 0);
    history->frames_done = device->frames_done;
    history->begun_ns = now_ns;
    history->n_looks = history->n_busy = 0;
}

size_t vrt_device_history_points(const struct vrt_device_history *history, int64_t after,
                                 struct vrt_device_history_point *ret_points)
{
    int64_t first = VRT_MAX(history->n_points - VRT_API_DEVICE_HISTORY_POINTS, 0);
    size_t n = 0;

    for (int64_t i = VRT_MAX(first, after); i < history->n_points; i++)
        ret_points[n++] = history->points[i % VRT_API_DEVICE_HISTORY_POINTS];
    return n;
}
