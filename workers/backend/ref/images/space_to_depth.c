/* SPDX-License-Identifier: MIT */

#include "backend/ref/ops.h"
#include "backend/ref/run.h"

void vrt_ref_space_to_depth(const struct vrt_ref_run *run)
{
    const struct vrt_shape out = run->op->out.shape;            /* D,H,W,C*r*r */
    const int r = run->op->space_to_depth.r, n = run->op->in[0].shape.c;

    for (int at[4] = { 0 }; at[0] < out.d; vrt_ref_step(at, out)) {
        int c = at[3] / (r * r), i = at[3] / r % r, j = at[3] % r;
        if (run->op->space_to_depth.order == VRT_SHUFFLE_BLOCKS) {
            c = at[3] % n;
            i = at[3] / n % r;
            j = at[3] / n / r;
        }
        const double x = vrt_ref_get(&run->in[0], at[0], at[1] * r + i, at[2] * r + j, c);
        vrt_ref_put(&run->out[0], at, x);
    }
}
