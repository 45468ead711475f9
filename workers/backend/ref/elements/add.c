/* SPDX-License-Identifier: MIT */

#include "backend/ref/ops.h"
#include "backend/ref/run.h"

void vrt_ref_add(const struct vrt_ref_run *run)
{
    const struct vrt_shape out = run->op->out.shape;
    const bool same = vrt_shape_equal(run->op->in[0].shape, out);
    const double scale = (double)run->op->add.scale;

    for (int at[4] = { 0 }; at[0] < out.d; vrt_ref_step(at, out)) {
        const double a = same ? vrt_ref_get(&run->in[0], at[0], at[1], at[2], at[3])
                              : vrt_ref_get(&run->in[0], 0, 0, 0, at[3]);
        const double b = vrt_ref_get(&run->in[1], at[0], at[1], at[2], at[3]);
        vrt_ref_put(&run->out[0], at, a * scale + b);
    }
}
