/* SPDX-License-Identifier: MIT */

#include <math.h>

#include "backend/ref/ops.h"
#include "backend/ref/run.h"

void vrt_ref_gate(const struct vrt_ref_run *run)
{
    const struct vrt_op_gate *gate = &run->op->gate;
    const struct vrt_shape out = run->op->out.shape;
    const bool adds = vrt_op_in(run->op, 2) != NULL;

    for (int at[4] = { 0 }; at[0] < out.d; vrt_ref_step(at, out)) {
        const double g = vrt_ref_get(&run->in[0], at[0], at[1], at[2], at[3]);
        const double x = vrt_ref_get(&run->in[1], at[0], at[1], at[2], at[3]);
        const double y = adds ? vrt_ref_get(&run->in[2], at[0], at[1], at[2], at[3]) : 0;
        const double factor = (double)gate->scale / (1 + exp(-g)) + (double)gate->shift;
        vrt_ref_put(&run->out[0], at, (x + y) * factor);
    }
}
