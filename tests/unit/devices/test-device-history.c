/* SPDX-License-Identifier: MIT */
/* daemon/devices/device-history: points at even times, and the rate of a shard over all of it. */

#include "tests/unit/test.h"

#include <math.h>

#include "base/clock.h"
#include "daemon/devices/device-history.h"

#define LOOK_NS (VRT_NS_PER_S / 2)

static struct vrt_device_history history;
static struct vrt_device_history_point points[VRT_API_DEVICE_HISTORY_POINTS];
static struct vrt_device_snapshot device;
static int64_t now_ns;

static void begin(void)
{
    history = (struct vrt_device_history){ .n_points = 0 };
    device = (struct vrt_device_snapshot){
        .memory_total_bytes = 1000,
        .memory_free_bytes = 400,
        .used_bytes = 250,
        .frames_done = 77,
    };
    now_ns = 5 * VRT_NS_PER_S;
    vrt_device_history_note(&history, &device, now_ns);
}

static void look(int n)
{
    for (int i = 0; i < n; i++)
        vrt_device_history_note(&history, &device, now_ns += LOOK_NS);
}

static void test_idle(void)
{
    begin();
    look(4 * 3);
    expect_int(vrt_device_history_points(&history, 0, points), 3);
    expect_int(points[0].used_bytes, 600);
    expect_int(points[0].held_bytes, 250);
    expect_near(points[2].busy_percent, 0, 0);
    expect_near(points[2].fps, 0, 0);
    expect_true(isnan(points[2].utilization_percent));
    device.memory_free_bytes = -1;
    device.sensors = (struct vrt_device_sensors){ .are_known = true, .utilization_percent = 42 };
    look(4);
    expect_int(vrt_device_history_points(&history, 3, points), 1);
    expect_int(points[0].used_bytes, VRT_UNKNOWN);
    expect_near(points[0].utilization_percent, 42, 0);
    expect_int(vrt_device_history_points(&history, 4, points), 0);
    expect_int(vrt_device_history_points(&history, INT64_MAX, points), 0);
}

/* A shard of 30 frames takes 10 s: 5 points, which have a rate when it is done. */
static void test_shards(void)
{
    begin();
    look(4);
    device.in_flight = 1;
    look(4 * 4);
    expect_int(vrt_device_history_points(&history, 1, points), 4);
    for (int i = 0; i < 4; i++)
        expect_true(isnan(points[i].fps));
    device.frames_done += 30;
    look(2);
    device.in_flight = 0;
    look(2);
    expect_int(vrt_device_history_points(&history, 0, points), 6);
    expect_near(points[0].fps, 0, 0);
    for (int i = 1; i < 6; i++)
        expect_near(points[i].fps, 3, 1e-6);
    expect_near(points[4].busy_percent, 100, 0);
    expect_near(points[5].busy_percent, 50, 0);
    /* One that came to nothing. */
    device.in_flight = 1;
    look(8);
    device.in_flight = 0;
    look(4);
    expect_int(vrt_device_history_points(&history, 6, points), 3);
    for (int i = 0; i < 3; i++)
        expect_near(points[i].fps, 0, 0);
}

/* The ring has the last ten minutes, however long a shard takes, or the machine slept. */
static void test_long(void)
{
    begin();
    device.in_flight = 1;
    look(4 * (VRT_API_DEVICE_HISTORY_POINTS + 100) - 1);
    device.frames_done += 2 * (VRT_API_DEVICE_HISTORY_POINTS + 100);
    look(1);
    expect_int(history.n_points, VRT_API_DEVICE_HISTORY_POINTS + 100);
    expect_int(vrt_device_history_points(&history, 0, points), VRT_API_DEVICE_HISTORY_POINTS);
    expect_near(points[0].fps, 1, 1e-6);
    expect_near(points[VRT_API_DEVICE_HISTORY_POINTS - 1].fps, 1, 1e-6);
    now_ns += 3600 * VRT_NS_PER_S;
    device.frames_done += 36020;
    look(1);
    expect_int(vrt_device_history_points(&history, history.n_points - 1, points), 1);
    expect_near(points[0].fps, 36020 / 3600.5, 1e-3);
}

int main(void)
{
    test_idle();
    test_shards();
    test_long();
    return 0;
}
