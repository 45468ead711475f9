/* SPDX-License-Identifier: MIT */

/* copy: the same values, of another type perhaps */

#include <string.h>

#include "backend/cpu/isa/kernels.h"
#include "backend/cpu/isa/rows.h"

static size_t copy_scratch_bytes(const struct vrt_op *op)
{
    return vrt_cpu_run_bytes(1, op->out.shape.c);
}

static void copy_rows(const struct vrt_cpu_call *call, int d, int y0, int y1)
{
    const struct vrt_tensor *in = &call->op->in[0], *out = &call->op->out;
    const int w = out->shape.w, c = out->shape.c, columns = vrt_cpu_run_columns(c);
    const bool plain = in->dtype == out->dtype && in->stride_w == c && out->stride_w == c;

    for (int y = y0; y < y1; y++) {
        if (plain) {
            memcpy(vrt_cpu_at(out, call->out, d, y, 0), vrt_cpu_at(in, call->in[0], d, y, 0),
                   (size_t)w * (size_t)c * vrt_dtype_size(in->dtype));
            continue;
        }
        for (int x = 0; x < w; x += columns) {
            const int n = VRT_MIN(columns, w - x), at[3] = { d, y, x };

            vrt_cpu_row_put(out, call->out, at, n,
                            vrt_cpu_row_get(in, call->in[0], at, n, call->scratch));
        }
    }
}

const struct vrt_cpu_kernel vrt_cpu_op_copy = {
    .rows = copy_rows,
    .scratch_bytes = copy_scratch_bytes,
};
