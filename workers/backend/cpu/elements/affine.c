/* SPDX-License-Identifier: MIT */

/* affine: each of few channels times its scale, plus its shift */

#include "backend/cpu/isa/kernels.h"
#include "backend/cpu/isa/rows.h"

static size_t affine_scratch_bytes(const struct vrt_op *op)
{
    return vrt_cpu_run_bytes(2, op->out.shape.c);
}

/* in, out [n,c] */
static inline void affine_run(const float *restrict in, const struct vrt_op_affine *affine,
                              float *restrict out, int n, int c)
{
    for (int i = 0; i < n; i++)
    for (int k = 0; k < c; k++)
        out[i * c + k] = in[i * c + k] * affine->scale[k] + affine->shift[k];
}

static void affine_rows(const struct vrt_cpu_call *call, int d, int y0, int y1)
{
    const struct vrt_op *op = call->op;
    const struct vrt_op_affine affine = op->affine;
    const int w = op->out.shape.w, c = op->out.shape.c, columns = vrt_cpu_run_columns(c);
    float *scratch = call->scratch;
    float *scratch_out = scratch + vrt_cpu_run_bytes(1, c) / sizeof(float);

    for (int y = y0; y < y1; y++)
    for (int x = 0; x < w; x += columns) {
        const int n = VRT_MIN(columns, w - x), at[3] = { d, y, x };
        const float *in = vrt_cpu_row_get(&op->in[0], call->in[0], at, n, scratch);
        float *out = vrt_cpu_row_target(&op->out, call->out, at, scratch_out);

        if (c == 3)
            affine_run(in, &affine, out, n, 3);
        else
            affine_run(in, &affine, out, n, c);
        vrt_cpu_row_put(&op->out, call->out, at, n, out);
    }
}

const struct vrt_cpu_kernel vrt_cpu_op_affine = {
    .rows = affine_rows,
    .scratch_bytes = affine_scratch_bytes,
};
