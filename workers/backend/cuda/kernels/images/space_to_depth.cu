/* SPDX-License-Identifier: MIT */

/* space_to_depth: blocks of places to channels. */

#include "backend/cuda/kernels/images/shuffle.cuh"

using namespace vrt;

/* A thread reads a packet of the input and finds its places in the output. */
VRT_COVER_KERNEL space_to_depth(vrt_cuda_cover cover, view in, view out, shuffle s)
{
    const elements to = elements_of(out);
    run r;

    if (!run_find(cover, in.c, &r))
        return;
    const counterpart there = counterpart_of(s, out, r, in.c);
    const packet x = packet_convert(packet_get(elements_of(in), run_at(in, r), r.n), in.dtype,
                                    out.dtype);
    if (there.step == 1)
        packet_put(x, to, there.at, r.n);
    else
        packet_scatter(x, to, there.at, there.step, r.n);
}

int vrt_cuda_space_to_depth(const vrt_cuda_call *call)
{
    const vrt_op_space_to_depth *op = &call->op->space_to_depth;
    const shuffle s = { vrt_divisor_of(op->r), op->order };

    return cover_launch(space_to_depth, call, cover_of(vrt_op_in(call->op, 0)->shape),
                        view_of_in(call, 0), view_of(call, vrt_op_out(call->op, 0)), s);
}
