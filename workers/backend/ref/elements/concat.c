/* SPDX-License-Identifier: MIT */

#include "backend/ref/ops.h"
#include "backend/ref/run.h"

void vrt_ref_concat(const struct vrt_ref_run *run)
{
    int first = 0;              /* the output's channel where this input begins */

    for (int i = 0; i < run->op->n_in; i++) {
        const struct vrt_shape in = run->op->in[i].shape;
        for (int at[4] = { 0 }; at[0] < in.d; vrt_ref_step(at, in)) {
            const int to[4] = { at[0], at[1], at[2], first + at[3] };
            vrt_ref_put(&run->out[0], to, vrt_ref_get(&run->in[i], at[0], at[1], at[2], at[3]));
        }
        first += in.c;
    }
}
