/* SPDX-License-Identifier: MIT */

/* concat: channels of several tensors, one after the other. */

#include "backend/cuda/kernels/packet.cuh"

using namespace vrt;

/* Each input, and the channels of the output that it becomes. */
struct parts {
    vrt_cuda_cover covers[VRT_OP_MAX_IN];
    view in[VRT_OP_MAX_IN], out[VRT_OP_MAX_IN];
};

/* The blocks of row y of the grid copy input y. */
VRT_COVER_KERNEL concat(parts p)
{
    const int i = (int)blockIdx.y;
    run r;

    if ((int)blockIdx.x >= p.covers[i].n_blocks || !run_find(p.covers[i], p.in[i].c, &r))
        return;
    const packet x = packet_get(elements_of(p.in[i]), run_at(p.in[i], r), r.n);
    packet_copy(x, p.in[i].dtype, elements_of(p.out[i]), run_at(p.out[i], r), r.n);
}

int vrt_cuda_concat(const vrt_cuda_call *call)
{
    const vrt_op *op = call->op;
    parts p = {};
    int first = 0, n_blocks = 0;

    for (int i = 0; i < op->n_in; i++) {
        const vrt_tensor *in = vrt_op_in(op, i);
        const vrt_tensor out = vrt_tensor_channels(vrt_op_out(op, 0), first, in->shape.c);

        p.covers[i] = cover_of(in->shape);
        p.in[i] = view_of(call, in);
        p.out[i] = view_of(call, &out);
        first += in->shape.c;
        n_blocks = VRT_MAX(n_blocks, p.covers[i].n_blocks);
    }
    return vrt_launch(concat, dim3((unsigned)n_blocks, (unsigned)op->n_in),
                      dim3(VRT_CUDA_COVER_THREADS), 0, call->stream, p);
}
