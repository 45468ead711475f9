/* SPDX-License-Identifier: MIT */

#include "backend/ref/ops.h"
#include "backend/ref/run.h"

void vrt_ref_copy(const struct vrt_ref_run *run)
{
    const struct vrt_shape out = run->op->out.shape;

    for (int at[4] = { 0 }; at[0] < out.d; vrt_ref_step(at, out))
        vrt_ref_put(&run->out[0], at, vrt_ref_get(&run->in[0], at[0], at[1], at[2], at[3]));
}
