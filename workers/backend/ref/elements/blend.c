/* SPDX-License-Identifier: MIT */

#include "backend/ref/ops.h"
#include "backend/ref/run.h"

void vrt_ref_blend(const struct vrt_ref_run *run)
{
    const struct vrt_shape out = run->op->out.shape;
    const bool adds = vrt_op_in(run->op, 3) != NULL;

    for (int at[4] = { 0 }; at[0] < out.d; vrt_ref_step(at, out)) {
        const double x = vrt_ref_get(&run->in[0], at[0], at[1], at[2], at[3]);
        const double weight = vrt_ref_get(&run->in[1], 0, at[1], 0, 0) *
                              vrt_ref_get(&run->in[2], 0, 0, at[2], 0);
        const double acc = adds ? vrt_ref_get(&run->in[3], at[0], at[1], at[2], at[3]) : 0;
        vrt_ref_put(&run->out[0], at, acc + (run->op->blend.divides ? x / weight : x * weight));
    }
}
