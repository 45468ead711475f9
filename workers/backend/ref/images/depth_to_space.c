/* SPDX-License-Identifier: MIT */

#include "backend/ref/ops.h"
#include "backend/ref/run.h"

void vrt_ref_depth_to_space(const struct vrt_ref_run *run)
{
    const struct vrt_ref_view *x = &run->in[0], *base = &run->in[1];
    const struct vrt_shape out = run->op->out.shape;            /* D,H*r,W*r,C */
    const int r = run->op->depth_to_space.r;

    for (int at[4] = { 0 }; at[0] < out.d; vrt_ref_step(at, out)) {
        const int i = at[1] % r, j = at[2] % r;
        const int channel = run->op->depth_to_space.order == VRT_SHUFFLE_PIXELS
                                ? (at[3] * r + i) * r + j
                                : (j * r + i) * out.c + at[3];
        double sum = vrt_ref_get(x, at[0], at[1] / r, at[2] / r, channel);
        if (base->tensor) {
            const struct vrt_shape small = base->tensor->shape; /* D,h,w,C */
            sum += vrt_ref_get(base, at[0], at[1] / (out.h / small.h), at[2] / (out.w / small.w),
                               at[3]);
        }
        vrt_ref_put(&run->out[0], at, sum);
    }
}
