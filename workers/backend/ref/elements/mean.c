/* SPDX-License-Identifier: MIT */

#include "backend/ref/ops.h"
#include "backend/ref/run.h"

void vrt_ref_mean(const struct vrt_ref_run *run)
{
    const struct vrt_shape in = run->op->in[0].shape;
    const struct vrt_shape places = { in.d, in.h, in.w, 1 };
    const double n = (double)vrt_shape_count(places);

    for (int c = 0; c < in.c; c++) {
        double sum = 0;
        for (int at[4] = { 0 }; at[0] < places.d; vrt_ref_step(at, places))
            sum += vrt_ref_get(&run->in[0], at[0], at[1], at[2], c);
        vrt_ref_put(&run->out[0], (int[4]){ 0, 0, 0, c }, sum / n);
    }
}
