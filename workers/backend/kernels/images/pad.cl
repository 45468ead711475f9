/* SPDX-License-Identifier: MIT */

/* pad: x at row i[0], column i[1]; the rest by `mode`. */

#include "backend/kernels/view.h"

/* `i` mirrored into [0, n) at the edge samples, repeated or not, as often as it takes. */
static int mirrored(int i, int n, bool repeated)
{
    const int period = 2 * n - (repeated ? 0 : 2);
    const int k = period ? ((i % period) + period) % period : 0;

    return k < n ? k : period - k - (repeated ? 1 : 0);
}

static int source(int mode, int i, int n)
{
    return mode == VRT_PAD_REFLECT || mode == VRT_PAD_MIRROR
               ? mirrored(i, n, mode == VRT_PAD_MIRROR) : clamp(i, 0, n - 1);
}

KERNEL(pad)(ARGS(struct vrt_kernel_elements, e), OUTPUT(1, out), INPUT(2, x) WORK_ITEM)
{
    struct place p;
    const ARG struct vrt_kernel_view *in = &e.in[0];
    float value = 0;

    PLACE_OF(&e.out, &p);
    if (!p.exists)
        return;
    const int row = p.h - e.i[0], column = p.w - e.i[1];
    if (e.mode != VRT_PAD_ZERO ||
        (row >= 0 && row < in->h && column >= 0 && column < in->w))
        value = load(x, in->dtype, view_at(in, p.d, source(e.mode, row, in->h),
                                           source(e.mode, column, in->w)) + p.c);
    store_at(&e.out, out, &p, value);
}
