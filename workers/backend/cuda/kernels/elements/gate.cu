/* SPDX-License-Identifier: MIT */

/* gate: (x + y) * (scale * sigmoid(g) + shift); y may be absent. */

#include "backend/cuda/kernels/elements/merge.h"
#include "backend/cuda/kernels/packet.cuh"

using namespace vrt;

struct operands {
    view g, x, y, out;
};

VRT_COVER_KERNEL gate(vrt_cuda_cover cover, operands o, vrt_op_gate gate)
{
    float g[8], x[8], y[8] = {};
    run r;

    if (!run_find(cover, o.out.c, &r))
        return;
    const packet one = packet_get(elements_of(o.g), run_at(o.g, r), r.n);
    const packet other = packet_get(elements_of(o.x), run_at(o.x, r), r.n);
    if (o.y.c)
        packet_load(elements_of(o.y), run_at(o.y, r), r.n, y);
    packet_open(one, o.g.dtype, g);
    packet_open(other, o.x.dtype, x);
#pragma unroll
    for (int i = 0; i < 8; i++)
        x[i] = (x[i] + y[i]) * (gate.scale / (1 + expf(-g[i])) + gate.shift);
    packet_store(x, elements_of(o.out), run_at(o.out, r), r.n);
}

int vrt_cuda_gate(const vrt_cuda_call *call)
{
    const vrt_tensor *more = vrt_op_in(call->op, 2);
    vrt_tensor g = *vrt_op_in(call->op, 0), x = *vrt_op_in(call->op, 1);
    vrt_tensor y = more ? *more : vrt_tensor(), out = *vrt_op_out(call->op, 0);
    vrt_tensor *all[] = { &g, &x, &out, &y };
    operands o = {};

    vrt_cuda_merge(all, more ? 4 : 3, VRT_CUDA_MERGE_FRAMES);
    o.g = view_of(call, &g);
    o.x = view_of(call, &x);
    o.y = view_of(call, more ? &y : NULL);
    o.out = view_of(call, &out);
    return cover_launch(gate, call, cover_of(out.shape), o, call->op->gate);
}
