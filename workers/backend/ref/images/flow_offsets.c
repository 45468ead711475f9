/* SPDX-License-Identifier: MIT */

#include "backend/ref/ops.h"
#include "backend/ref/run.h"

void vrt_ref_flow_offsets(const struct vrt_ref_run *run)
{
    const struct vrt_op_flow_offsets *offsets = &run->op->flow_offsets;
    const struct vrt_shape out = run->op->out.shape;            /* D,H,W,27*G */
    const int n_offsets = 18 * offsets->offset_groups, n_each = n_offsets / (run->op->n_in - 1);

    for (int at[4] = { 0 }; at[0] < out.d; vrt_ref_step(at, out)) {
        const double o = vrt_ref_get(&run->in[0], at[0], at[1], at[2], at[3]);
        double x;
        if (at[3] < n_offsets) {
            /* Pairs are (y, x), a flow's channels x, y. */
            const struct vrt_ref_view *flow = &run->in[1 + at[3] / n_each];
            x = (double)offsets->max_residue * tanh(o) +
                vrt_ref_get(flow, at[0], at[1], at[2], 1 - at[3] % 2);
        } else {
            x = 1 / (1 + exp(-o));
        }
        vrt_ref_put(&run->out[0], at, x);
    }
}
