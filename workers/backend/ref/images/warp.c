/* SPDX-License-Identifier: MIT */

#include "backend/op/position.h"
#include "backend/ref/ops.h"
#include "backend/ref/parts.h"
#include "backend/ref/run.h"

size_t vrt_ref_warp_workspace_bytes(const struct vrt_op *op)
{
    return (size_t)op->out.shape.c * sizeof(double);
}

/* out [4,C] */
static void take_nearest4(const struct vrt_ref_view *x, const double from[3], double *out)
{
    const int c = x->tensor->shape.c;

    for (int k = 0; k < 4; k++) {
        const double sample[3] = {
            from[0],
            k % 2 ? ceil(from[1]) : floor(from[1]),
            k / 2 ? ceil(from[2]) : floor(from[2]),
        };
        vrt_ref_interpolate(x, sample, 0, c, out + k * c);
    }
}

void vrt_ref_warp(const struct vrt_ref_run *run)
{
    const struct vrt_shape in = run->op->in[0].shape, out = run->op->out.shape;
    const struct vrt_shape places = { out.d, out.h, out.w, 1 };
    const struct vrt_ref_view *x = &run->in[0], *flow = &run->in[1], none = { .tensor = NULL };
    double *result = run->workspace;

    for (int at[4] = { 0 }; at[0] < places.d; vrt_ref_step(at, places)) {
        /* Positions are f32, as everywhere: nearest4 depends on where exactly they are. */
        const float dx = (float)vrt_ref_get(flow, at[0], at[1], at[2], 0);
        const float dy = (float)vrt_ref_get(flow, at[0], at[1], at[2], 1);
        double from[3] = { at[0], (double)((float)at[1] + dy), (double)((float)at[2] + dx) };
        if (run->op->warp.mode != VRT_WARP_NEAREST4) {
            from[1] = (double)vrt_position_warped((float)from[1], in.h);
            from[2] = (double)vrt_position_warped((float)from[2], in.w);
        }
        if (run->op->warp.mode == VRT_WARP_BILINEAR_BORDER) {
            from[1] = fmin(fmax(from[1], 0), in.h - 1);
            from[2] = fmin(fmax(from[2], 0), in.w - 1);
        }
        if (run->op->warp.mode == VRT_WARP_NEAREST4)
            take_nearest4(x, from, result);
        else
            vrt_ref_interpolate(x, from, 0, in.c, result);
        vrt_ref_write(&run->out[0], at, result, &none);
    }
}
