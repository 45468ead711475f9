/* SPDX-License-Identifier: MIT */

/* blend: out = acc + x * (rows * columns), or divided by it, in runs of columns; x and acc may be
 * where the output is, so that nothing here is `restrict` */

#include "backend/cpu/isa/kernels.h"
#include "backend/cpu/isa/rows.h"

enum { X, WEIGHTS, ACC, OUT, N_RUNS };

static size_t blend_scratch_bytes(const struct vrt_op *op)
{
    return vrt_cpu_run_bytes(N_RUNS, op->out.shape.c);
}

/* columns [n] f32, weights [n,C]: each of them times `row`, for every channel */
static void spread(const float *columns, float row, float *weights, int n, int c)
{
    for (int x = 0; x < n; x++)
        for (int k = 0; k < c; k++)
            weights[x * c + k] = columns[x] * row;
}

/* x, weights, acc (or NULL), out [n] */
static void multiply(const float *x, const float *weights, const float *acc, float *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (acc ? acc[i] : 0) + x[i] * weights[i];
}

static void divide(const float *x, const float *weights, const float *acc, float *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (acc ? acc[i] : 0) + x[i] / weights[i];
}

static void blend_run(const struct vrt_cpu_call *call, const int at[3], int n, float row)
{
    const struct vrt_op *op = call->op;
    const int c = op->out.shape.c;
    const size_t step = vrt_cpu_run_bytes(1, c) / sizeof(float);
    const int top[3] = { 0, 0, at[2] };
    float *scratch = call->scratch, *weights = scratch + WEIGHTS * step, *out;
    const float *columns, *x, *acc = NULL;

    /* The one that is spread is out of the way before acc comes to its place. */
    columns = vrt_cpu_row_get(&op->in[2], call->in[2], top, n, scratch + ACC * step);
    spread(columns, row, weights, n, c);
    x = vrt_cpu_row_get(&op->in[0], call->in[0], at, n, scratch + X * step);
    if (vrt_op_in(op, 3))
        acc = vrt_cpu_row_get(&op->in[3], call->in[3], at, n, scratch + ACC * step);
    out = vrt_cpu_row_target(&op->out, call->out, at, scratch + OUT * step);
    (op->blend.divides ? divide : multiply)(x, weights, acc, out, (size_t)n * (size_t)c);
    vrt_cpu_row_put(&op->out, call->out, at, n, out);
}

static void blend_rows(const struct vrt_cpu_call *call, int d, int y0, int y1)
{
    const struct vrt_op *op = call->op;
    const int w = op->out.shape.w, columns = vrt_cpu_run_columns(op->out.shape.c);

    for (int y = y0; y < y1; y++) {
        const float *row = (const float *)(void *)vrt_cpu_at(&op->in[1], call->in[1], 0, y, 0);
        for (int x = 0; x < w; x += columns)
            blend_run(call, (int[3]){ d, y, x }, VRT_MIN(columns, w - x), *row);
    }
}

const struct vrt_cpu_kernel vrt_cpu_op_blend = {
    .rows = blend_rows,
    .scratch_bytes = blend_scratch_bytes,
};
