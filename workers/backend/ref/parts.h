/* SPDX-License-Identifier: MIT */
#pragma once

/* What several ops of the reference device are made of: a place's channels as doubles, [C]. */

#include "backend/ref/ops.h"
#include "backend/ref/run.h"

/* x [C] is read from (d,h,w). */
void vrt_ref_read(const struct vrt_ref_view *view, const int at[3], double *x);

/* x [C] is written to (d,h,w), the residual's channels there (if there is one) being added. */
void vrt_ref_write(const struct vrt_ref_view *view, const int at[3], const double *x,
                   const struct vrt_ref_view *residual);

/* x [C], normed in place; left as it is where the op has no norm. */
void vrt_ref_norm(const struct vrt_ref_run *run, const struct vrt_op_norm *norm, double *x, int c);

/* x, rounded to the type. */
double vrt_ref_rounded(double x, enum vrt_dtype dtype);

struct vrt_ref_layer {
    int weight, bias;               /* params [O,I], kept as [I,O], and [O] or -1 */
    int n_in, n_out;
};

/* out [O] = x [I] * weight + bias, x being rounded to the weight's type. */
void vrt_ref_multiply(const struct vrt_ref_run *run, const struct vrt_ref_layer *layer,
                      const double *x, double *out);

/* sums [n] += x * row [n]. */
static inline void vrt_ref_add_row(double x, const float *restrict row, double *restrict sums,
                                   int n)
{
    for (int o = 0; o < n; o++)
        sums[o] += x * (double)row[o];
}

static inline double vrt_ref_gelu(double x)
{
    return x * (1 + erf(x * M_SQRT1_2)) / 2;
}

/* Channels [first, first + n) of frame d at row y, column x, bilinearly, zeros outside, as
 * out [n]. */
void vrt_ref_interpolate(const struct vrt_ref_view *view, const double at[3], int first, int n,
                         double *out);
