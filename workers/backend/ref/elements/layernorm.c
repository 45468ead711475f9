/* SPDX-License-Identifier: MIT */

#include "backend/ref/ops.h"
#include "backend/ref/parts.h"
#include "backend/ref/run.h"

size_t vrt_ref_layernorm_workspace_bytes(const struct vrt_op *op)
{
    return (size_t)op->out.shape.c * sizeof(double);
}

void vrt_ref_layernorm(const struct vrt_ref_run *run)
{
    const struct vrt_shape shape = run->op->out.shape;
    const struct vrt_shape places = { shape.d, shape.h, shape.w, 1 };
    const struct vrt_ref_view none = { .tensor = NULL };
    double *x = run->workspace;

    for (int at[4] = { 0 }; at[0] < places.d; vrt_ref_step(at, places)) {
        vrt_ref_read(&run->in[0], at, x);
        vrt_ref_norm(run, &run->op->layernorm.norm, x, shape.c);
        vrt_ref_write(&run->out[0], at, x, &none);
    }
}
