/* SPDX-License-Identifier: MIT */

/* avgpool2: the mean of each block of 2 x 2 */

#include "backend/cpu/isa/kernels.h"
#include "backend/cpu/isa/rows.h"

static size_t avgpool2_scratch_bytes(const struct vrt_op *op)
{
    return 2 * vrt_cpu_run_bytes(2, op->out.shape.c) + vrt_cpu_run_bytes(1, op->out.shape.c);
}

/* above, below [n,2,c], out [n,c] */
static inline void pool(const float *restrict above, const float *restrict below,
                        float *restrict out, int n, int c)
{
    for (int i = 0; i < n; i++)
    for (int k = 0; k < c; k++) {
        const int at = i * 2 * c + k;

        out[i * c + k] = (above[at] + above[at + c] + below[at] + below[at + c]) * 0.25f;
    }
}

static void avgpool2_rows(const struct vrt_cpu_call *call, int d, int y0, int y1)
{
    const struct vrt_tensor *in = &call->op->in[0], *out = &call->op->out;
    const int w = out->shape.w, c = out->shape.c, columns = vrt_cpu_run_columns(c);
    const size_t step = vrt_cpu_run_bytes(2, c) / sizeof(float);
    float *scratch = call->scratch;

    for (int y = y0; y < y1; y++)
    for (int x = 0; x < w; x += columns) {
        const int n = VRT_MIN(columns, w - x), at[3] = { d, y, x };
        const int first[3] = { d, 2 * y, 2 * x }, second[3] = { d, 2 * y + 1, 2 * x };
        const float *above = vrt_cpu_row_get(in, call->in[0], first, 2 * n, scratch);
        const float *below = vrt_cpu_row_get(in, call->in[0], second, 2 * n, scratch + step);
        float *target = vrt_cpu_row_target(out, call->out, at, scratch + 2 * step);

        if (c == 3)
            pool(above, below, target, n, 3);
        else
            pool(above, below, target, n, c);
        vrt_cpu_row_put(out, call->out, at, n, target);
    }
}

const struct vrt_cpu_kernel vrt_cpu_op_avgpool2 = {
    .rows = avgpool2_rows,
    .scratch_bytes = avgpool2_scratch_bytes,
};
