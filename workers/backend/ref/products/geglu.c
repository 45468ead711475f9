/* SPDX-License-Identifier: MIT */

#include "backend/ref/ops.h"
#include "backend/ref/parts.h"
#include "backend/ref/run.h"

size_t vrt_ref_geglu_workspace_bytes(const struct vrt_op *op)
{
    return ((size_t)op->in[0].shape.c + 2 * (size_t)op->geglu.hidden + (size_t)op->out.shape.c) *
           sizeof(double);
}

void vrt_ref_geglu(const struct vrt_ref_run *run)
{
    const struct vrt_op_geglu *geglu = &run->op->geglu;
    const struct vrt_shape shape = run->op->out.shape;          /* D,H,W,O */
    const struct vrt_shape places = { shape.d, shape.h, shape.w, 1 };
    const int n = run->op->in[0].shape.c, hidden = geglu->hidden;
    const struct vrt_ref_layer fc11 = { geglu->fc11, geglu->fc11_bias, n, hidden };
    const struct vrt_ref_layer fc12 = { geglu->fc12, geglu->fc12_bias, n, hidden };
    const struct vrt_ref_layer fc2 = { geglu->fc2, geglu->fc2_bias, hidden, shape.c };
    double *x = run->workspace, *a = x + n, *b = a + hidden, *out = b + hidden;

    for (int at[4] = { 0 }; at[0] < places.d; vrt_ref_step(at, places)) {
        vrt_ref_read(&run->in[0], at, x);
        vrt_ref_norm(run, &geglu->norm, x, n);
        vrt_ref_multiply(run, &fc11, x, a);
        vrt_ref_multiply(run, &fc12, x, b);
        for (int k = 0; k < hidden; k++)
            a[k] = vrt_ref_gelu(a[k]) * b[k];
        vrt_ref_multiply(run, &fc2, a, out);
        vrt_ref_write(&run->out[0], at, out, &run->in[1]);
    }
}
