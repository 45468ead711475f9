/* SPDX-License-Identifier: MIT */

#include "backend/ref/ops.h"
#include "backend/ref/run.h"

void vrt_ref_affine(const struct vrt_ref_run *run)
{
    const struct vrt_op_affine *affine = &run->op->affine;
    const struct vrt_shape out = run->op->out.shape;

    for (int at[4] = { 0 }; at[0] < out.d; vrt_ref_step(at, out)) {
        const double x = vrt_ref_get(&run->in[0], at[0], at[1], at[2], at[3]);
        vrt_ref_put(&run->out[0], at,
                    x * (double)affine->scale[at[3]] + (double)affine->shift[at[3]]);
    }
}
