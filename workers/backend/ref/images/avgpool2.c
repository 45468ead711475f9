/* SPDX-License-Identifier: MIT */

#include "backend/ref/ops.h"
#include "backend/ref/run.h"

void vrt_ref_avgpool2(const struct vrt_ref_run *run)
{
    const struct vrt_shape out = run->op->out.shape;

    for (int at[4] = { 0 }; at[0] < out.d; vrt_ref_step(at, out)) {
        double sum = 0;
        for (int k = 0; k < 4; k++)
            sum += vrt_ref_get(&run->in[0], at[0], 2 * at[1] + k / 2, 2 * at[2] + k % 2, at[3]);
        vrt_ref_put(&run->out[0], at, sum / 4);
    }
}
