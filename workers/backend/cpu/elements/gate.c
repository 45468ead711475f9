/* SPDX-License-Identifier: MIT */

/* gate: out = (x + y) * (scale * sigmoid(g) + shift), in runs of columns; y may be absent */

#include "backend/cpu/isa/exp.h"
#include "backend/cpu/isa/kernels.h"
#include "backend/cpu/isa/rows.h"

enum { G, X, Y, OUT, N_RUNS };

static size_t gate_scratch_bytes(const struct vrt_op *op)
{
    return vrt_cpu_run_bytes(N_RUNS, op->out.shape.c);
}

/* g, x, y (or NULL), out [n] */
static void gate_run(const float *const in[3], const struct vrt_op_gate *gate, float *restrict out,
                     size_t n)
{
    const float *g = in[G], *x = in[X], *y = in[Y], scale = gate->scale, shift = gate->shift;

    if (y)
        for (size_t i = 0; i < n; i++)
            out[i] = (x[i] + y[i]) * (scale * vrt_cpu_sigmoid(g[i]) + shift);
    else
        for (size_t i = 0; i < n; i++)
            out[i] = x[i] * (scale * vrt_cpu_sigmoid(g[i]) + shift);
}

static void gate_rows(const struct vrt_cpu_call *call, int d, int y0, int y1)
{
    const struct vrt_op *op = call->op;
    const int w = op->out.shape.w, c = op->out.shape.c, columns = vrt_cpu_run_columns(c);
    const size_t step = vrt_cpu_run_bytes(1, c) / sizeof(float);
    float *scratch = call->scratch;

    for (int y = y0; y < y1; y++)
    for (int x = 0; x < w; x += columns) {
        const int n = VRT_MIN(columns, w - x), at[3] = { d, y, x };
        float *out = vrt_cpu_row_target(&op->out, call->out, at, scratch + OUT * step);
        const float *in[3] = { NULL };

        for (int i = G; i <= Y; i++)
            if (vrt_op_in(op, i))
                in[i] = vrt_cpu_row_get(&op->in[i], call->in[i], at, n, scratch + (size_t)i * step);
        gate_run(in, &op->gate, out, (size_t)n * (size_t)c);
        vrt_cpu_row_put(&op->out, call->out, at, n, out);
    }
}

const struct vrt_cpu_kernel vrt_cpu_op_gate = {
    .rows = gate_rows,
    .scratch_bytes = gate_scratch_bytes,
};
