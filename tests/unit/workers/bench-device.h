/* SPDX-License-Identifier: MIT */
#pragma once

/* A device that a test opens for itself, and what frames it is given. */

#include "frames/frame.h"
#include "tests/unit/environment.h"
#include "tests/unit/test.h"
#include "workers/device/device-executor.h"

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

/* A device with an executor, and what it is to do. */
struct bench_executor {
    struct vrt_registry *registry;
    struct vrt_device *device;
    struct vrt_device_executor *executor;
    struct vrt_network *network;
    struct vrt_job_spec *spec;      /* NULL: none yet */
    int n_left;                     /* times that the watch lets it go on; -1: always */
};

/* A watch: of a bench. */
static inline bool bench_go_on(void *ctx)
{
    struct bench_executor *bench = ctx;

    return bench->n_left < 0 || (bench->n_left > 0 && bench->n_left-- > 0);
}

/* As bench_open(); the network is taken over. */
static inline void bench_executor_init(struct bench_executor *bench, const char *device,
                                       int n_threads, const char *fault,
                                       struct vrt_network *network)
{
    const struct vrt_device_executor_params params = { .n_sharing = 1 };

    *bench = (struct bench_executor){ .n_left = -1, .network = network };
    bench->device = bench_open(device, n_threads, fault, &bench->registry);
    expect_int(vrt_device_executor_new(bench->device, &params, &bench->executor), 0);
}

static inline void bench_executor_done(struct bench_executor *bench)
{
    vrt_job_spec_unref(bench->spec);
    vrt_network_unref(bench->network);
    vrt_device_executor_free(bench->executor);
    bench_close(bench->device, bench->registry);
}

static inline bool bench_same_pixels(const struct vrt_frame *a, const struct vrt_frame *b)
{
    for (int p = 0; p < 3; p++)
        for (int y = 0; y < a->planes[p].height; y++)
            if (memcmp(a->planes[p].data + (size_t)y * a->planes[p].stride_bytes,
                       b->planes[p].data + (size_t)y * b->planes[p].stride_bytes,
                       (size_t)a->planes[p].width) != 0)
                return false;
    return true;
}
