/* SPDX-License-Identifier: MIT */

#include "backend/ref/ops.h"
#include "backend/ref/parts.h"
#include "backend/ref/run.h"

size_t vrt_ref_deform_conv2d_workspace_bytes(const struct vrt_op *op)
{
    return (9 * (size_t)op->in[0].shape.c + (size_t)op->out.shape.c) * sizeof(double);
}

/* samples [9,I]: what each tap of a place takes, the masks multiplied in. */
static void sample_taps(const struct vrt_ref_run *run, const int at[3], double *samples)
{
    const int n_in = run->op->in[0].shape.c, n_runs = run->op->deform_conv2d.offset_groups;
    const int n = n_in / n_runs;
    const enum vrt_dtype dtype =
        vrt_ref_param_dtype(run->replica, run->op->deform_conv2d.weight);

    for (int t = 0; t < 9; t++)
    for (int g = 0; g < n_runs; g++) {
        const int pair = 9 * g + t;
        const struct vrt_ref_view *offsets = &run->in[1];
        const float dy = (float)vrt_ref_get(offsets, at[0], at[1], at[2], 2 * pair);
        const float dx = (float)vrt_ref_get(offsets, at[0], at[1], at[2], 2 * pair + 1);
        const double mask = vrt_ref_get(offsets, at[0], at[1], at[2], 18 * n_runs + pair);
        const double from[3] = { at[0], (double)((float)(at[1] + t / 3 - 1) + dy),
                                 (double)((float)(at[2] + t % 3 - 1) + dx) };
        double *sample = &samples[t * n_in + g * n];
        vrt_ref_interpolate(&run->in[0], from, g * n, n, sample);
        for (int c = 0; c < n; c++)
            sample[c] = vrt_ref_rounded(sample[c] * mask, dtype);
    }
}

/* Adds samples [9,I] * weight [9,I/groups,O] to sums [O]. */
static void add_taps(const struct vrt_ref_run *run, const double *samples, double *sums)
{
    const int n_groups = run->op->deform_conv2d.groups, n_out = run->op->out.shape.c;
    const int n_in = run->op->in[0].shape.c;
    const int in_each = n_in / n_groups, out_each = n_out / n_groups;
    const float *weight = vrt_ref_param(run->replica, run->op->deform_conv2d.weight);

    for (int t = 0; t < 9; t++)
    for (int g = 0; g < n_groups; g++)
    for (int i = 0; i < in_each; i++) {
        const float *row = &weight[((int64_t)t * in_each + i) * n_out];
        vrt_ref_add_row(samples[t * n_in + g * in_each + i], row + g * out_each,
                        sums + g * out_each, out_each);
    }
}

void vrt_ref_deform_conv2d(const struct vrt_ref_run *run)
{
    const struct vrt_shape shape = run->op->out.shape;          /* D,H,W,O */
    const struct vrt_shape places = { shape.d, shape.h, shape.w, 1 };
    const struct vrt_ref_view none = { .tensor = NULL };
    const float *bias = vrt_ref_param(run->replica, run->op->deform_conv2d.bias);
    double *samples = run->workspace, *sums = samples + 9 * run->op->in[0].shape.c;

    for (int at[4] = { 0 }; at[0] < places.d; vrt_ref_step(at, places)) {
        for (int o = 0; o < shape.c; o++)
            sums[o] = bias ? (double)bias[o] : 0;
        sample_taps(run, at, samples);
        add_taps(run, samples, sums);
        vrt_ref_write(&run->out[0], at, sums, &none);
    }
}
