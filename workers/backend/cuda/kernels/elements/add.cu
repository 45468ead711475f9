/* SPDX-License-Identifier: MIT */

/* add: a * scale + b. */

#include "backend/cuda/kernels/elements/merge.h"
#include "backend/cuda/kernels/packet.cuh"

using namespace vrt;

VRT_COVER_KERNEL add(vrt_cuda_cover cover, view a, view b, view out, float scale)
{
    float x[8], y[8];
    run r;

    if (!run_find(cover, out.c, &r))
        return;
    const packet one = packet_get(elements_of(a), run_at(a, r), r.n);
    const packet other = packet_get(elements_of(b), run_at(b, r), r.n);
    packet_open(one, a.dtype, x);
    packet_open(other, b.dtype, y);
#pragma unroll
    for (int i = 0; i < 8; i++)
        y[i] += x[i] * scale;
    packet_store(y, elements_of(out), run_at(out, r), r.n);
}

int vrt_cuda_add(const vrt_cuda_call *call)
{
    vrt_tensor a = *vrt_op_in(call->op, 0), b = *vrt_op_in(call->op, 1);
    vrt_tensor out = *vrt_op_out(call->op, 0), *all[] = { &a, &b, &out };

    if (vrt_shape_equal(a.shape, out.shape))
        vrt_cuda_merge(all, 3, VRT_CUDA_MERGE_FRAMES);
    else            /* one number a channel: the same place from everywhere */
        a.stride_d = a.stride_h = a.stride_w = 0;
    return cover_launch(add, call, cover_of(out.shape), view_of(call, &a), view_of(call, &b),
                        view_of(call, &out), call->op->add.scale);
}
