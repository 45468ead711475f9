/* SPDX-License-Identifier: MIT */

/* space_to_depth: r x r pixels become one of r*r as many channels */

#include "backend/cpu/isa/kernels.h"
#include "backend/cpu/isa/rows.h"

static size_t space_to_depth_scratch_bytes(const struct vrt_op *op)
{
    return vrt_cpu_run_bytes(2, op->out.shape.c);
}

/* in [n*r,C] is row i of the r x r blocks, out [n,C,r,r] */
static void scatter(const float *in, float *out, int n, int c, const int r, int i)
{
    for (int x = 0; x < n; x++)
    for (int j = 0; j < r; j++)
    for (int k = 0; k < c; k++)
        out[((x * c + k) * r + i) * r + j] = in[(x * r + j) * c + k];
}

/* in [n*r,C] is row i of the r x r blocks, out [n,r,r,C]: columns first */
static void scatter_blocks(const float *restrict in, float *restrict out, int n, int c, int r,
                           int i)
{
    for (int x = 0; x < n; x++)
    for (int j = 0; j < r; j++)
    for (int k = 0; k < c; k++)
        out[((x * r + j) * r + i) * c + k] = in[(x * r + j) * c + k];
}

static void space_to_depth_rows(const struct vrt_cpu_call *call, int d, int y0, int y1)
{
    const struct vrt_op *op = call->op;
    const struct vrt_tensor *in = &op->in[0], *out = &op->out;
    const int r = op->space_to_depth.r, w = out->shape.w, c = in->shape.c;
    const int columns = vrt_cpu_run_columns(out->shape.c);
    float *gathered = call->scratch;
    float *scratch = gathered + vrt_cpu_run_bytes(1, out->shape.c) / sizeof(float);

    for (int y = y0; y < y1; y++)
    for (int x = 0; x < w; x += columns) {
        const int n = VRT_MIN(columns, w - x), at[3] = { d, y, x };
        float *target = vrt_cpu_row_target(out, call->out, at, scratch);

        for (int i = 0; i < r; i++) {
            const int in_at[3] = { d, y * r + i, x * r };
            const float *row = vrt_cpu_row_get(in, call->in[0], in_at, n * r, gathered);

            if (op->space_to_depth.order == VRT_SHUFFLE_BLOCKS)
                scatter_blocks(row, target, n, c, r, i);
            else
                scatter(row, target, n, c, r, i);
        }
        vrt_cpu_row_put(out, call->out, at, n, target);
    }
}

const struct vrt_cpu_kernel vrt_cpu_op_space_to_depth = {
    .rows = space_to_depth_rows,
    .scratch_bytes = space_to_depth_scratch_bytes,
};
