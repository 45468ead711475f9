/* SPDX-License-Identifier: MIT */

/* concat: the channels of several tensors side by side */

#include <string.h>

#include "backend/cpu/isa/kernels.h"
#include "backend/cpu/isa/rows.h"

static size_t concat_scratch_bytes(const struct vrt_op *op)
{
    return vrt_cpu_run_bytes(1, op->out.shape.c);
}

/* One input of the same type: n pixels of `bytes` each, from pixels and to pixels so far apart. */
static void copy_pixels(const char *src, size_t src_step, char *dst, size_t dst_step,
                        size_t bytes, int n)
{
    for (int i = 0; i < n; i++)
        memcpy(dst + (size_t)i * dst_step, src + (size_t)i * src_step, bytes);
}

/* One row of one input into its channels, [first, first + C) of the output. */
static void concat_row(const struct vrt_cpu_call *call, int i, int first, int d, int y)
{
    const struct vrt_tensor *in = &call->op->in[i];
    struct vrt_tensor out = vrt_tensor_channels(&call->op->out, first, in->shape.c);
    void *base = (char *)call->out + (size_t)first * vrt_dtype_size(out.dtype);
    const int w = in->shape.w, columns = vrt_cpu_run_columns(in->shape.c);
    const size_t bytes = vrt_dtype_size(in->dtype);

    if (in->dtype == out.dtype) {
        copy_pixels(vrt_cpu_at(in, call->in[i], d, y, 0), (size_t)in->stride_w * bytes,
                    vrt_cpu_at(&out, base, d, y, 0), (size_t)out.stride_w * bytes,
                    (size_t)in->shape.c * bytes, w);
        return;
    }
    for (int x = 0; x < w; x += columns) {
        const int n = VRT_MIN(columns, w - x), at[3] = { d, y, x };

        vrt_cpu_row_put(&out, base, at, n,
                        vrt_cpu_row_get(in, call->in[i], at, n, call->scratch));
    }
}

static void concat_rows(const struct vrt_cpu_call *call, int d, int y0, int y1)
{
    for (int y = y0; y < y1; y++) {
        int first = 0;

        for (int i = 0; i < call->op->n_in; i++) {
            concat_row(call, i, first, d, y);
            first += call->op->in[i].shape.c;
        }
    }
}

const struct vrt_cpu_kernel vrt_cpu_op_concat = {
    .rows = concat_rows,
    .scratch_bytes = concat_scratch_bytes,
};
