/* SPDX-License-Identifier: MIT */

/* fill: the same value everywhere */

#include "backend/cpu/isa/kernels.h"
#include "backend/cpu/isa/rows.h"

static size_t fill_scratch_bytes(const struct vrt_op *op)
{
    return vrt_cpu_run_bytes(1, op->out.shape.c);
}

static void fill_rows(const struct vrt_cpu_call *call, int d, int y0, int y1)
{
    const struct vrt_tensor *out = &call->op->out;
    const int w = out->shape.w, columns = VRT_MIN(vrt_cpu_run_columns(out->shape.c), w);
    float *values = call->scratch;

    for (int i = 0; i < columns * out->shape.c; i++)
        values[i] = call->op->fill.value;
    for (int y = y0; y < y1; y++)
    for (int x = 0; x < w; x += columns)
        vrt_cpu_row_put(out, call->out, (int[3]){ d, y, x }, VRT_MIN(columns, w - x), values);
}

const struct vrt_cpu_kernel vrt_cpu_op_fill = {
    .rows = fill_rows,
    .scratch_bytes = fill_scratch_bytes,
};
