/* SPDX-License-Identifier: MIT */

/* add: out = a * scale + b, in runs of columns; a may be the same at each place */

#include "backend/cpu/isa/kernels.h"
#include "backend/cpu/isa/rows.h"

static size_t add_scratch_bytes(const struct vrt_op *op)
{
    return vrt_cpu_run_bytes(3, op->out.shape.c);
}

/* a, b, out [n] */
static void add_run(const float *a, const float *b, float scale, float *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = a[i] * scale + b[i];
}

/* The channels at a's only place, n times, in `scratch`. */
static const float *repeated(const struct vrt_cpu_call *call, int n, float *scratch)
{
    const struct vrt_tensor *a = &call->op->in[0];
    const int c = a->shape.c;

    vrt_cpu_load(a->dtype, vrt_cpu_at(a, call->in[0], 0, 0, 0), scratch, (size_t)c);
    for (int i = c; i < n * c; i++)
        scratch[i] = scratch[i - c];
    return scratch;
}

static void add_rows(const struct vrt_cpu_call *call, int d, int y0, int y1)
{
    const struct vrt_op *op = call->op;
    const int w = op->out.shape.w, c = op->out.shape.c, columns = vrt_cpu_run_columns(c);
    const size_t step = vrt_cpu_run_bytes(1, c) / sizeof(float);
    float *scratch = call->scratch;
    const bool same = !vrt_shape_equal(op->in[0].shape, op->out.shape);
    const float *everywhere = same ? repeated(call, VRT_MIN(columns, w), scratch) : NULL;

    for (int y = y0; y < y1; y++)
    for (int x = 0; x < w; x += columns) {
        const int n = VRT_MIN(columns, w - x), at[3] = { d, y, x };
        const float *a =
            same ? everywhere : vrt_cpu_row_get(&op->in[0], call->in[0], at, n, scratch);
        const float *b = vrt_cpu_row_get(&op->in[1], call->in[1], at, n, scratch + step);
        float *out = vrt_cpu_row_target(&op->out, call->out, at, scratch + 2 * step);

        add_run(a, b, op->add.scale, out, (size_t)n * (size_t)c);
        vrt_cpu_row_put(&op->out, call->out, at, n, out);
    }
}

const struct vrt_cpu_kernel vrt_cpu_op_add = {
    .rows = add_rows,
    .scratch_bytes = add_scratch_bytes,
};
