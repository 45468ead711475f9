/* SPDX-License-Identifier: MIT */

#include "backend/ref/ops.h"
#include "backend/ref/run.h"

void vrt_ref_range(const struct vrt_ref_run *run)
{
    const struct vrt_shape in = run->op->in[0].shape;
    const struct vrt_shape frame = { 1, in.h, in.w, in.c };

    for (int d = 0; d < in.d; d++) {
        double smallest = INFINITY, largest = -INFINITY, n_not_finite = 0;
        for (int at[4] = { 0 }; at[0] < 1; vrt_ref_step(at, frame)) {
            const double x = vrt_ref_get(&run->in[0], d, at[1], at[2], at[3]);
            if (!isfinite(x)) {
                n_not_finite++;
                continue;
            }
            smallest = fmin(smallest, x);
            largest = fmax(largest, x);
        }
        const double n = (double)vrt_shape_count(frame);
        const bool any = n_not_finite < n;
        const double result[4] = { any ? smallest : 0, any ? largest : 0, n_not_finite, n };
        for (int i = 0; i < 4; i++)
            vrt_ref_put(&run->out[0], (int[4]){ d, 0, 0, i }, result[i]);
    }
}
