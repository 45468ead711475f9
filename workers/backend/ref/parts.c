/* SPDX-License-Identifier: MIT */

#include "backend/ref/parts.h"

void vrt_ref_read(const struct vrt_ref_view *view, const int at[3], double *x)
{
    for (int c = 0; c < view->tensor->shape.c; c++)
        x[c] = vrt_ref_get(view, at[0], at[1], at[2], c);
}

void vrt_ref_write(const struct vrt_ref_view *view, const int at[3], const double *x,
                   const struct vrt_ref_view *residual)
{
    for (int c = 0; c < view->tensor->shape.c; c++) {
        double sum = x[c];
        if (residual->tensor)
            sum += vrt_ref_get(residual, at[0], at[1], at[2], c);
        vrt_ref_put(view, (int[4]){ at[0], at[1], at[2], c }, sum);
    }
}

void vrt_ref_norm(const struct vrt_ref_run *run, const struct vrt_op_norm *norm, double *x, int c)
{
    const float *weight = vrt_ref_param(run->replica, norm->weight);
    const float *bias = vrt_ref_param(run->replica, norm->bias);
    double mean = 0, variance = 0;

    if (!weight)
        return;
    for (int k = 0; k < c; k++)
        mean += x[k] / c;
    for (int k = 0; k < c; k++)
        variance += (x[k] - mean) * (x[k] - mean) / c;
    const double scale = 1 / sqrt(variance + (double)VRT_NORM_EPSILON);
    for (int k = 0; k < c; k++)
        x[k] = (x[k] - mean) * scale * (double)weight[k] + (double)bias[k];
}

double vrt_ref_rounded(double x, enum vrt_dtype dtype)
{
    if (dtype == VRT_DTYPE_F16)
        return (double)vrt_f32_from_f16(vrt_f16_from_f32((float)x));
    return dtype == VRT_DTYPE_BF16 ? (double)vrt_f32_from_bf16(vrt_bf16_from_f32((float)x)) : x;
}

void vrt_ref_multiply(const struct vrt_ref_run *run, const struct vrt_ref_layer *layer,
                      const double *x, double *out)
{
    const float *weight = vrt_ref_param(run->replica, layer->weight);
    const float *bias = vrt_ref_param(run->replica, layer->bias);
    const enum vrt_dtype dtype = vrt_ref_param_dtype(run->replica, layer->weight);

    for (int o = 0; o < layer->n_out; o++)
        out[o] = bias ? (double)bias[o] : 0;
    for (int i = 0; i < layer->n_in; i++)
        vrt_ref_add_row(vrt_ref_rounded(x[i], dtype), &weight[(int64_t)i * layer->n_out], out,
                        layer->n_out);
}

void vrt_ref_interpolate(const struct vrt_ref_view *view, const double at[3], int first, int n,
                         double *out)
{
    const struct vrt_shape shape = view->tensor->shape;
    /* Further outside everything is zero, too; and what is no number is outside. */
    const double y = fmin(fmax(at[1], -2), shape.h + 1), x = fmin(fmax(at[2], -2), shape.w + 1);
    const int top = (int)floor(y), left = (int)floor(x);

    for (int c = 0; c < n; c++)
        out[c] = 0;
    for (int corner = 0; corner < 4; corner++) {
        const int row = top + corner / 2, column = left + corner % 2;
        const double weight = (1 - fabs(y - row)) * (1 - fabs(x - column));
        if (row < 0 || row >= shape.h || column < 0 || column >= shape.w)
            continue;
        for (int c = 0; c < n; c++)
            out[c] += weight * vrt_ref_get(view, (int)at[0], row, column, first + c);
    }
}
