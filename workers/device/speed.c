/* SPDX-License-Identifier: MIT */

/*
 * A measurement goes the way of any shard, through a device executor: whatever a device does for a
 * frame is in its time. The first run of a size warms up (code is generated, memory touched for the
 * first time) and counts only if it is the last one that there is time for.
 */

#include "workers/device/speed.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>

#include "base/clock.h"

#define SIDE_FIRST 32
#define SIDE_MAX 512

/* A run of so long tells how fast the device is. */
#define ENOUGH_NS (VRT_NS_PER_S / 10)

/* A run that takes longer isn't repeated, and no larger one is tried. */
#define LONG_NS (VRT_NS_PER_S / 2)

static struct vrt_frame_format format_of(int width, int height)
{
    return (struct vrt_frame_format){
        .width = width,
        .height = height,
        .depth = 8,
        .layout = VRT_LAYOUT_YUV,
        .chroma_shift_x = 1,
        .chroma_shift_y = 1,
        .matrix = VRT_FRAME_MATRIX_BT709,
        .chroma_location = VRT_CHROMA_LOCATION_LEFT,
    };
}

int vrt_speed_spec_new(struct vrt_network *network, int width, int height,
                       struct vrt_job_spec **ret_spec)
{
    const struct vrt_network_info *info = vrt_network_info(network);
    struct vrt_frame_format in = format_of(width, height);
    struct vrt_frame_format out = format_of(width * info->scale, height * info->scale);

    if (!vrt_frame_format_is_valid(&in))
        return vrt_raise(-EINVAL);
    int r = vrt_job_spec_new(network, &in, &out, ret_spec);
    if (r < 0)
        return vrt_fold(r);
    if (info->window_frames > 1) {
        (*ret_spec)->rule.temporal = true;
        (*ret_spec)->rule.times = 1 + info->out_frames;
        (*ret_spec)->rule.overlap.size = info->out_frames ? info->min_frames :
                                         VRT_MAX(info->window_frames, info->min_frames);
    }
    return 0;
}

/* Limited range, between black and white. */
static uint8_t sample(int p, int x, int y, uint32_t *noise)
{
    double v = 110 + 45 * sin(0.05 * x + p) * cos(0.03 * y - p) + (x / 24 % 2 ? 20 : -20);

    *noise = *noise * 1664525 + 1013904223;
    return (uint8_t)(v + (*noise >> 24) % 32);
}

int vrt_speed_shard_init(const struct vrt_job_spec *spec, int n,
                         struct vrt_shard_frames *ret_frames)
{
    VRT_CLEANUP(vrt_frame_unrefp) struct vrt_frame *frame = NULL;
    uint32_t noise = 1;
    int r = vrt_frame_new(&spec->in, &frame);

    if (r < 0)
        return vrt_fold(r);
    for (int p = 0; p < vrt_frame_format_n_planes(&spec->in); p++) {
        const struct vrt_plane *plane = &frame->planes[p];
        for (int y = 0; y < plane->height; y++)
            for (int x = 0; x < plane->width; x++)
                plane->data[(size_t)y * plane->stride_bytes + (size_t)x] =
                    sample(p, x, y, &noise);
    }
    *ret_frames = (struct vrt_shard_frames){
        .n = n, .n_new = n, .depth = vrt_clip_depth(&spec->rule, n),
        .times = spec->rule.times, .every = spec->rule.every, .span = 1,
    };
    for (int i = 0; i < n; i++) {
        ret_frames->in[i] = vrt_frame_ref(frame);
        ret_frames->shares[i] = (struct vrt_share){ 1, 1, 1 };
    }
    return 0;
}

void vrt_speed_shard_done(struct vrt_shard_frames *frames)
{
    vrt_shard_frames_done(frames);
}

/* Of everything that a frame, or a whole clip, is cut into. A gray network restores red, green and
 * blue one after the other. */
static int64_t all_tiles(const struct vrt_job_spec *spec, int64_t tile_flops)
{
    return tile_flops * spec->grid.x.n * spec->grid.y.n *
           (3 / vrt_network_info(spec->network)->in_channels);
}

int64_t vrt_speed_frame_flops(const struct vrt_job_spec *spec, int64_t tile_flops)
{
    /* What clips share is computed more than once. */
    return all_tiles(spec, tile_flops) / (spec->rule.temporal ? vrt_clip_n_new(&spec->rule) : 1);
}

double vrt_speed_shard_flops(const struct vrt_job_spec *spec, int64_t tile_flops,
                             const struct vrt_shard_frames *frames)
{
    double flops = (double)all_tiles(spec, tile_flops);

    if (!spec->rule.temporal)
        return flops * (frames->n - frames->n_repeated);
    return flops * frames->depth / spec->rule.overlap.size;
}

/* One frame or clip, untiled: its time, and its operations. */
static int run_once(struct vrt_device_executor *executor,
                    const struct vrt_speed_measurement *measurement,
                    struct vrt_job_spec *spec, int64_t *ret_ns, struct vrt_error *error)
{
    const struct vrt_device_executor_order order = {
        .spec = spec,
        .dtype = measurement->dtype,
        .watch = measurement->watch,
    };
    struct vrt_shard_frames frames;
    struct vrt_session_times times = { 0 };
    struct vrt_error why = { 0 };
    int r = vrt_speed_shard_init(spec, vrt_job_spec_size(spec).frames, &frames);

    if (r != 0)
        return vrt_refuse_errno(error, vrt_fold(r), "measuring the speed");
    r = vrt_device_executor_run(executor, &order, &frames, &times, &why);
    vrt_speed_shard_done(&frames);
    *ret_ns = times.upload_ns + times.compute_ns + times.download_ns;
    /* Made-up pictures through an unknown network: what comes out need not look like anything. */
    if (vrt_device_executor_is_wrong(r))
        return 0;
    if (error && r != 0)
        *error = why;
    return r;
}

/* Measures frames of one size. Return: as vrt_speed_measure(). */
static int measure_size(struct vrt_device_executor *executor,
                        const struct vrt_speed_measurement *measurement,
                        struct vrt_job_spec *spec, int64_t *ret_ns, struct vrt_error *error)
{
    int64_t first_ns, second_ns;
    int r = run_once(executor, measurement, spec, &first_ns, error);

    if (r != 0)
        return r;
    *ret_ns = first_ns;
    if (first_ns >= LONG_NS)
        return 0;
    r = run_once(executor, measurement, spec, &second_ns, error);
    if (r != 0)
        return r;
    *ret_ns = VRT_MIN(first_ns, second_ns);
    return 0;
}

int vrt_speed_measure(struct vrt_device_executor *executor,
                      const struct vrt_speed_measurement *measurement,
                      double *ret_flops_per_s, struct vrt_error *error)
{
    bool is_last = false;
    int64_t ns = 0;

    for (int side = SIDE_FIRST; !is_last; side *= 2) {
        struct vrt_job_spec *spec;
        struct vrt_job_spec_size size;
        struct vrt_session_plan plan;
        int width = VRT_MIN(side, measurement->width), height = VRT_MIN(side, measurement->height);
        int r = vrt_speed_spec_new(measurement->network, width, height, &spec);
        if (r != 0)
            return vrt_refuse_errno(error, vrt_fold(r), "measuring the speed");
        r = measure_size(executor, measurement, spec, &ns, error);
        size = vrt_job_spec_size(spec);
        if (r == 0)
            r = vrt_session_plan(vrt_device_executor_device(executor), spec, &size,
                                 measurement->dtype,
                                 &plan);
        if (r == 0 && ns > 0)
            *ret_flops_per_s = (double)all_tiles(spec, plan.tile_flops) * VRT_NS_PER_S /
                               (double)ns;
        vrt_device_executor_release(executor, spec);
        vrt_job_spec_unref(spec);
        if (r != 0)
            return r < 0 ? vrt_fold(r) : r;
        is_last = ns >= ENOUGH_NS || side >= SIDE_MAX ||
                  (width == measurement->width && height == measurement->height);
    }
    return 0;
}
