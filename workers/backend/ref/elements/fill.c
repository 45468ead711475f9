/* SPDX-License-Identifier: MIT */

#include "backend/ref/ops.h"
#include "backend/ref/run.h"

void vrt_ref_fill(const struct vrt_ref_run *run)
{
    const struct vrt_shape out = run->op->out.shape;

    for (int at[4] = { 0 }; at[0] < out.d; vrt_ref_step(at, out))
        vrt_ref_put(&run->out[0], at, (double)run->op->fill.value);
}
