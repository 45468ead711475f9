/* SPDX-License-Identifier: MIT */

#include "backend/op/position.h"
#include "backend/ref/ops.h"
#include "backend/ref/run.h"

/* Between which two of `n` samples place `i` of `m` lies, and how near the second. */
struct between {
    int first, second;
    double weight;              /* of the second */
};

static struct between between(enum vrt_resize_mode mode, int i, int m, int n)
{
    const double position = (double)vrt_position_resized(mode, i, m, n);
    const int first = (int)position;

    return (struct between){
        .first = first,
        .second = vrt_ref_clamp(first + 1, n),
        .weight = position - first,
    };
}

static double bilinear(const struct vrt_ref_run *run, const int at[4])
{
    const enum vrt_resize_mode mode = run->op->resize.mode;
    const struct vrt_shape out = run->op->out.shape;
    const struct vrt_ref_view *in = &run->in[0];
    const struct between y = between(mode, at[1], out.h, in->tensor->shape.h);
    const struct between x = between(mode, at[2], out.w, in->tensor->shape.w);
    const double above = (1 - x.weight) * vrt_ref_get(in, at[0], y.first, x.first, at[3]) +
                         x.weight * vrt_ref_get(in, at[0], y.first, x.second, at[3]);
    const double below = (1 - x.weight) * vrt_ref_get(in, at[0], y.second, x.first, at[3]) +
                         x.weight * vrt_ref_get(in, at[0], y.second, x.second, at[3]);

    return (1 - y.weight) * above + y.weight * below;
}

static double bicubic(const struct vrt_ref_run *run, const int at[4])
{
    const struct vrt_shape in = run->op->in[0].shape, out = run->op->out.shape;
    const struct vrt_cubic y = vrt_position_cubic(at[1], out.h, in.h);
    const struct vrt_cubic x = vrt_position_cubic(at[2], out.w, in.w);
    double sum = 0;

    for (int j = 0; j < 4; j++)
        for (int i = 0; i < 4; i++)
            sum += (double)y.weights[j] * (double)x.weights[i] *
                   vrt_ref_get(&run->in[0], at[0], vrt_ref_clamp(y.first + j, in.h),
                               vrt_ref_clamp(x.first + i, in.w), at[3]);
    return sum;
}

void vrt_ref_resize(const struct vrt_ref_run *run)
{
    const struct vrt_shape in = run->op->in[0].shape, out = run->op->out.shape;

    for (int at[4] = { 0 }; at[0] < out.d; vrt_ref_step(at, out)) {
        double x;
        if (run->op->resize.mode == VRT_RESIZE_BICUBIC)
            x = bicubic(run, at);
        else if (run->op->resize.mode != VRT_RESIZE_NEAREST)
            x = bilinear(run, at);
        else
            x = vrt_ref_get(&run->in[0], at[0], (int)((int64_t)at[1] * in.h / out.h),
                            (int)((int64_t)at[2] * in.w / out.w), at[3]);
        vrt_ref_put(&run->out[0], at, x);
    }
}
