/* SPDX-License-Identifier: MIT */
#pragma once

/* A device that a test opens for itself, and what frames it is given. */

#include "frames/frame.h"
#include "tests/unit/environment.h"
#include "tests/unit/test.h"

static inline struct vrt_frame_format bench_format(int width, int height, int depth)
{
    return (struct vrt_frame_format){
        .width = width,
        .height = height,
        .depth = depth,
        .layout = VRT_LAYOUT_GBR,
        .full_range = true,
        .chroma_location = VRT_CHROMA_LOCATION_LEFT,
    };
}

/* The device of that name, which fails as `fault` says; NULL: it doesn't. */
static inline struct vrt_device *bench_open(const char *name, int n_threads, const char *fault,
                                            struct vrt_registry **ret_registry)
{
    const struct vrt_registry_params params = { .values = TEST_CPUS(1, n_threads), .fault = fault };
    struct vrt_device *device;

    expect_int(vrt_registry_new(&params, ret_registry, NULL), 0);
    const struct vrt_device_info *info = vrt_registry_find(*ret_registry, name);
    if (!info)
        test_skip("there is no such device here");
    expect_int(vrt_device_open(*ret_registry, info, &device), 0);
    return device;
}

/* Nothing is left on it. */
static inline void bench_close(struct vrt_device *device, struct vrt_registry *registry)
{
    expect_int(vrt_device_used_bytes(device), 0);
    vrt_device_close(device);
    vrt_registry_free(registry);
}
