/* SPDX-License-Identifier: MIT */

/* Small pictures come several at a time, and clips one behind the other. Neither changes a bit of
 * the results, so that each device has as much of both as suits it. */

#include "workers/device/load.h"

#include "workers/device/device-executor-impl.h"

int vrt_load_batch(const struct vrt_device_info *info, const struct vrt_job_spec *spec,
                   const struct vrt_tile_grid *grid, int wanted)
{
    const int64_t pixels = (int64_t)grid->x.size * grid->y.size;
    const int64_t most = VRT_MIN(spec->recipe.clip_frames, VRT_LOAD_BATCH_MAX);
    const int64_t n = wanted > 0 ? wanted : (info->n_pixels + pixels - 1) / pixels;

    if (spec->rule.temporal || info->n_pixels == 0)
        return 1;
    return (int)VRT_MAX(VRT_MIN(n, most), 1);
}

bool vrt_load_reduce(struct vrt_load *load)
{
    if (load->batch > 1)
        load->batch /= 2;
    else if (load->n_in_flight > 1)
        load->n_in_flight--;
    else
        return false;
    return true;
}

int vrt_load_find(const struct vrt_device_executor *executor, const struct vrt_job_spec *spec,
                  enum vrt_dtype dtype, int batch, const struct vrt_fit *fit,
                  int64_t allowed_bytes, struct vrt_load *ret_load)
{
    struct vrt_load load = {
        .batch = vrt_load_batch(vrt_device_info(executor->device), spec, &fit->size.grid,
                                batch),
        .n_in_flight = vrt_device_info(executor->device)->n_in_flight,
    };
    struct vrt_job_spec_size size = fit->size;
    struct vrt_session_plan plan = fit->plan;
    int planned = 1, r = 0;

    for (;;) {
        if (load.batch != planned) {
            size.frames = planned = load.batch;
            r = vrt_session_plan(executor->device, spec, &size, dtype, &plan);
            if (r != 0)
                return vrt_fold(r);
        }
        load.bytes = (int64_t)(plan.bytes + (size_t)(load.n_in_flight - 1) * plan.slot_bytes);
        if (allowed_bytes < 0 || load.bytes <= allowed_bytes || !vrt_load_reduce(&load))
            break;
    }
    *ret_load = load;
    return 0;
}
