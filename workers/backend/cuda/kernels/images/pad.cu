/* SPDX-License-Identifier: MIT */

/* pad: a picture with a margin: zeros, its edge, or its mirror image. */

#include "backend/cuda/kernels/packet.cuh"

using namespace vrt;

/* Which source a row (or column) of the output has. */
struct axis {
    int first, n;                   /* where the n sources stand in the output */
    int lead;                       /* added to an output's index: a multiple of the period */
    vrt_divisor period;             /* after which a mirror repeats itself */
    bool repeats;                   /* the mirror has the edge twice */
};

struct margin {
    axis rows, columns;
    vrt_pad_mode mode;
};

static axis axis_of(vrt_pad_mode mode, int first, int n)
{
    axis a = {};
    const bool repeats = mode == VRT_PAD_MIRROR;
    const int period = VRT_MAX(2 * n - (repeats ? 0 : 2), 1);

    a.first = first;
    a.n = n;
    a.lead = (int)(((int64_t)first + period - 1) / period * period);
    a.period = vrt_divisor_of(period);
    a.repeats = repeats;
    return a;
}

/* The source of output i. */
static __device__ __forceinline__ int find(const axis &a, vrt_pad_mode mode, int i)
{
    if (mode != VRT_PAD_REFLECT && mode != VRT_PAD_MIRROR)
        return min(max(i - a.first, 0), a.n - 1);
    const int shifted = i - a.first + a.lead;
    const int k = vrt_remainder(shifted, vrt_divide(shifted, &a.period), &a.period);
    return k < a.n ? k : (int)a.period.divisor - k - (a.repeats ? 1 : 0);
}

VRT_COVER_KERNEL pad(vrt_cuda_cover cover, view in, view out, margin m)
{
    packet x = {};
    run r;

    if (!run_find(cover, out.c, &r))
        return;
    const int h = find(m.rows, m.mode, r.h), w = find(m.columns, m.mode, r.w);
    if (m.mode != VRT_PAD_ZERO || (h == r.h - m.rows.first && w == r.w - m.columns.first))
        x = packet_get(elements_of(in), view_at(in, r.d, h, w) + r.c, r.n);
    packet_copy(x, in.dtype, elements_of(out), run_at(out, r), r.n);
}

int vrt_cuda_pad(const vrt_cuda_call *call)
{
    const vrt_tensor *in = vrt_op_in(call->op, 0), *out = vrt_op_out(call->op, 0);
    const vrt_op_pad *p = &call->op->pad;
    const margin m = { axis_of(p->mode, p->top, in->shape.h),
                       axis_of(p->mode, p->left, in->shape.w), p->mode };

    return cover_launch(pad, call, cover_of(out->shape), view_of(call, in), view_of(call, out), m);
}
