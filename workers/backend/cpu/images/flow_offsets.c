/* SPDX-License-Identifier: MIT */

/* flow_offsets: bounded residues plus the flows, and masks, from a convolution's result */

#include "backend/cpu/isa/exp.h"
#include "backend/cpu/isa/kernels.h"
#include "backend/cpu/isa/rows.h"

static size_t flow_offsets_scratch_bytes(const struct vrt_op *op)
{
    return vrt_cpu_run_bytes(2, op->out.shape.c);
}

/* o, out [n] */
static void residues(const float *restrict o, float max, float *restrict out, int n)
{
    for (int i = 0; i < n; i++)
        out[i] = max * vrt_cpu_tanh(o[i]);
}

/* o, out [n] */
static void masks(const float *restrict o, float *restrict out, int n)
{
    for (int i = 0; i < n; i++)
        out[i] = vrt_cpu_sigmoid(o[i]);
}

/* out [n,2]: y, x; flow [2]: x, y */
static void add_flow(const float *restrict flow, float *restrict out, int n)
{
    const float x = flow[0], y = flow[1];

    for (int i = 0; i < n; i++) {
        out[2 * i] += y;
        out[2 * i + 1] += x;
    }
}

static void flow_offsets_rows(const struct vrt_cpu_call *call, int d, int y0, int y1)
{
    const struct vrt_op *op = call->op;
    const int w = op->out.shape.w, c = op->out.shape.c, columns = vrt_cpu_run_columns(c);
    const int n_flows = op->n_in - 1, n_offsets = 18 * op->flow_offsets.offset_groups;
    const int pairs = n_offsets / 2 / n_flows;
    const size_t step = vrt_cpu_run_bytes(1, c) / sizeof(float);
    float *scratch = call->scratch;

    for (int y = y0; y < y1; y++)
    for (int x = 0; x < w; x += columns) {
        const int n = VRT_MIN(columns, w - x), at[3] = { d, y, x };
        const float *o = vrt_cpu_row_get(&op->in[0], call->in[0], at, n, scratch);
        float *target = vrt_cpu_row_target(&op->out, call->out, at, scratch + step);
        float *out = target;

        for (int i = 0; i < n; i++, o += c, out += c) {
            residues(o, op->flow_offsets.max_residue, out, n_offsets);
            masks(o + n_offsets, out + n_offsets, c - n_offsets);
            for (int k = 0; k < n_flows; k++)
                add_flow((float *)(void *)vrt_cpu_at(&op->in[1 + k], call->in[1 + k], d, y, x + i),
                         out + (size_t)k * 2 * (size_t)pairs, pairs);
        }
        vrt_cpu_row_put(&op->out, call->out, at, n, target);
    }
}

const struct vrt_cpu_kernel vrt_cpu_op_flow_offsets = {
    .rows = flow_offsets_rows,
    .scratch_bytes = flow_offsets_scratch_bytes,
};
