/* SPDX-License-Identifier: MIT */

/*
 * mean: of each channel, over all frames, rows and columns
 *
 * Each row leaves its sums in memory that the threads share, and they are added in the rows' order:
 * the result doesn't depend on who did which.
 */

#include <string.h>

#include "backend/cpu/isa/kernels.h"
#include "backend/cpu/isa/rows.h"

static size_t mean_scratch_bytes(const struct vrt_op *op)
{
    return vrt_cpu_run_bytes(1, op->in[0].shape.c);
}

static size_t mean_shared_bytes(const struct vrt_op *op)
{
    const struct vrt_shape in = op->in[0].shape;

    return sizeof(double) * (size_t)in.d * (size_t)in.h * (size_t)in.c;
}

/* The sums of row y of frame d, [C]. */
static double *sums_of(const struct vrt_cpu_call *call, int d, int y)
{
    const struct vrt_shape in = call->op->in[0].shape;

    return (double *)call->shared + ((size_t)d * (size_t)in.h + (size_t)y) * (size_t)in.c;
}

static void mean_rows(const struct vrt_cpu_call *call, int d, int y0, int y1)
{
    const struct vrt_tensor *in = &call->op->in[0];
    const int w = in->shape.w, c = in->shape.c, columns = vrt_cpu_run_columns(c);

    for (int y = y0; y < y1; y++) {
        double *sums = sums_of(call, d, y);

        memset(sums, 0, sizeof(*sums) * (size_t)c);
        for (int x = 0; x < w; x += columns) {
            const int n = VRT_MIN(columns, w - x), at[3] = { d, y, x };
            const float *v = vrt_cpu_row_get(in, call->in[0], at, n, call->scratch);

            for (int i = 0; i < n; i++, v += c)
                for (int k = 0; k < c; k++)
                    sums[k] += v[k];
        }
    }
}

static void mean_join(const struct vrt_cpu_call *call, int d)
{
    const struct vrt_shape in = call->op->in[0].shape;
    const double n = (double)in.d * in.h * in.w;
    double *all = sums_of(call, 0, 0);
    float *out = (float *)(void *)vrt_cpu_at(&call->op->out, call->out, d, 0, 0);

    for (size_t i = 1; i < (size_t)in.d * (size_t)in.h; i++) {
        const double *sums = all + i * (size_t)in.c;

        for (int k = 0; k < in.c; k++)
            all[k] += sums[k];
    }
    for (int k = 0; k < in.c; k++)
        out[k] = (float)(all[k] / n);
}

const struct vrt_cpu_kernel vrt_cpu_op_mean = {
    .rows = mean_rows,
    .scratch_bytes = mean_scratch_bytes,
    .shared_bytes = mean_shared_bytes,
    .join = mean_join,
    .cuts_input = true,
};
