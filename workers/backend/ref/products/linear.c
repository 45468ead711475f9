/* SPDX-License-Identifier: MIT */

#include "backend/ref/ops.h"
#include "backend/ref/parts.h"
#include "backend/ref/run.h"

size_t vrt_ref_linear_workspace_bytes(const struct vrt_op *op)
{
    return ((size_t)op->in[0].shape.c + (size_t)op->out.shape.c) * sizeof(double);
}

void vrt_ref_linear(const struct vrt_ref_run *run)
{
    const struct vrt_op_linear *linear = &run->op->linear;
    const struct vrt_shape shape = run->op->out.shape;          /* D,H,W,O */
    const struct vrt_shape places = { shape.d, shape.h, shape.w, 1 };
    const struct vrt_ref_layer layer = {
        linear->weight, linear->bias, run->op->in[0].shape.c, shape.c,
    };
    double *x = run->workspace, *out = x + layer.n_in;

    for (int at[4] = { 0 }; at[0] < places.d; vrt_ref_step(at, places)) {
        vrt_ref_read(&run->in[0], at, x);
        vrt_ref_norm(run, &linear->norm, x, layer.n_in);
        vrt_ref_multiply(run, &layer, x, out);
        for (int o = 0; linear->activation == VRT_ACTIVATION_GELU && o < shape.c; o++)
            out[o] = vrt_ref_gelu(out[o]);
        vrt_ref_write(&run->out[0], at, out, &run->in[1]);
    }
}
