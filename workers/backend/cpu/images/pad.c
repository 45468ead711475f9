/* SPDX-License-Identifier: MIT */

/* pad: the input at some place of a larger output, the rest zero, repeated or mirrored */

#include <string.h>

#include "backend/cpu/isa/kernels.h"
#include "backend/cpu/isa/rows.h"

static size_t pad_scratch_bytes(const struct vrt_op *op)
{
    return vrt_cpu_run_bytes(1, op->out.shape.c);
}

/* The input's index for output index i - first, of n; -1: zero. */
static int source_index(enum vrt_pad_mode mode, int i, int n)
{
    if (i >= 0 && i < n)
        return i;
    if (mode == VRT_PAD_ZERO)
        return -1;
    if (mode == VRT_PAD_REPLICATE || n == 1)
        return i < 0 ? 0 : n - 1;

    const int repeated = mode == VRT_PAD_MIRROR ? 1 : 0;
    const int period = 2 * (n - 1 + repeated);
    i = (i % period + period) % period;
    return i < n ? i : period - i - repeated;
}

/* Columns [x, x + n) of an output row from the input's columns from `from` on: all inside. */
static void pad_inside(const struct vrt_cpu_call *call, const int out_at[3], int y, int from,
                       int n)
{
    const struct vrt_tensor *in = &call->op->in[0], *out = &call->op->out;
    const int columns = vrt_cpu_run_columns(in->shape.c);

    for (int i = 0; i < n; i += columns) {
        const int run = VRT_MIN(columns, n - i);
        const int in_at[3] = { out_at[0], y, from + i };
        const int at[3] = { out_at[0], out_at[1], out_at[2] + i };

        vrt_cpu_row_put(out, call->out, at, run,
                        vrt_cpu_row_get(in, call->in[0], in_at, run, call->scratch));
    }
}

/* One column, from the input's column `from`, or zero where y or from is -1. */
static void pad_column(const struct vrt_cpu_call *call, const int out_at[3], int y, int from)
{
    const struct vrt_tensor *out = &call->op->out;

    if (y >= 0 && from >= 0) {
        pad_inside(call, out_at, y, from, 1);
        return;
    }
    memset(vrt_cpu_at(out, call->out, out_at[0], out_at[1], out_at[2]), 0,
           (size_t)out->shape.c * vrt_dtype_size(out->dtype));
}

static void pad_rows(const struct vrt_cpu_call *call, int d, int y0, int y1)
{
    const struct vrt_op_pad *pad = &call->op->pad;
    const struct vrt_shape in = call->op->in[0].shape;
    const int w = call->op->out.shape.w;
    const int first = VRT_MIN(VRT_MAX(pad->left, 0), w);
    const int last = VRT_MAX(VRT_MIN(pad->left + in.w, w), first);

    for (int y = y0; y < y1; y++) {
        const int sy = source_index(pad->mode, y - pad->top, in.h);

        for (int x = 0; x < w; x++) {
            const int at[3] = { d, y, x };

            if (x == first && sy >= 0 && last > first) {
                pad_inside(call, at, sy, first - pad->left, last - first);
                x = last - 1;
                continue;
            }
            pad_column(call, at, sy, source_index(pad->mode, x - pad->left, in.w));
        }
    }
}

const struct vrt_cpu_kernel vrt_cpu_op_pad = {
    .rows = pad_rows,
    .scratch_bytes = pad_scratch_bytes,
};
