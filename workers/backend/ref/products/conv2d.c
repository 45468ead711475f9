/* SPDX-License-Identifier: MIT */

#include "backend/ref/ops.h"
#include "backend/ref/run.h"

size_t vrt_ref_conv2d_workspace_bytes(const struct vrt_op *op)
{
    return (size_t)op->out.shape.c * sizeof(double);
}

/* Adds x * weight, for all outputs of one place; weight [K,K,I,O], sums [O]. */
static void add_taps(const struct vrt_ref_run *run, const int at[4], double *sums)
{
    const struct vrt_shape in = run->op->in[0].shape;           /* D,H,W,I */
    const int k = run->op->conv2d.kernel, n_out = run->op->out.shape.c;
    const float *weight = vrt_ref_param(run->replica, run->op->conv2d.weight);

    for (int ky = 0; ky < k; ky++)
    for (int kx = 0; kx < k; kx++) {
        const int y = at[1] + ky - k / 2, x = at[2] + kx - k / 2;
        if (y < 0 || y >= in.h || x < 0 || x >= in.w)
            continue;
        for (int i = 0; i < in.c; i++) {
            const double value = vrt_ref_get(&run->in[0], at[0], y, x, i);
            const float *row = &weight[((int64_t)(ky * k + kx) * in.c + i) * n_out];
            for (int o = 0; o < n_out; o++)
                sums[o] += value * (double)row[o];
        }
    }
}

static double activate(const struct vrt_op_conv2d *conv, const float *slopes, int o, double x)
{
    switch (conv->activation) {
    case VRT_ACTIVATION_RELU: return x < 0 ? 0 : x;
    case VRT_ACTIVATION_LEAKY_RELU: return x < 0 ? (double)conv->slope * x : x;
    case VRT_ACTIVATION_PRELU: return x < 0 ? (double)slopes[o] * x : x;
    default: return x;
    }
}

void vrt_ref_conv2d(const struct vrt_ref_run *run)
{
    const struct vrt_op_conv2d *conv = &run->op->conv2d;
    const struct vrt_shape shape = run->op->out.shape;          /* D,H,W,O */
    const struct vrt_shape places = { shape.d, shape.h, shape.w, 1 };
    const float *bias = vrt_ref_param(run->replica, conv->bias);
    const float *slopes = NULL;
    double *sums = run->workspace;

    if (conv->activation == VRT_ACTIVATION_PRELU)
        slopes = vrt_ref_param(run->replica, conv->slopes);
    for (int at[4] = { 0 }; at[0] < places.d; vrt_ref_step(at, places)) {
        for (int o = 0; o < shape.c; o++)
            sums[o] = bias ? (double)bias[o] : 0;
        add_taps(run, at, sums);
        for (int o = 0; o < shape.c; o++) {
            double x = activate(conv, slopes, o, sums[o]) * (double)conv->scale;
            if (run->in[1].tensor)
                x += vrt_ref_get(&run->in[1], at[0], at[1], at[2], o);
            vrt_ref_put(&run->out[0], (int[4]){ at[0], at[1], at[2], o }, x);
        }
    }
}
