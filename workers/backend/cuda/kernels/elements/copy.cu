/* SPDX-License-Identifier: MIT */

/* copy: the same elsewhere, floats as another type, too. */

#include "backend/cuda/kernels/elements/merge.h"
#include "backend/cuda/kernels/packet.cuh"

using namespace vrt;

VRT_COVER_KERNEL copy(vrt_cuda_cover cover, view in, view out)
{
    run r;

    if (!run_find(cover, out.c, &r))
        return;
    const packet x = packet_get(elements_of(in), run_at(in, r), r.n);
    packet_copy(x, in.dtype, elements_of(out), run_at(out, r), r.n);
}

int vrt_cuda_copy(const vrt_cuda_call *call)
{
    vrt_tensor in = *vrt_op_in(call->op, 0), out = *vrt_op_out(call->op, 0);
    vrt_tensor *all[] = { &in, &out };

    vrt_cuda_merge(all, 2, VRT_CUDA_MERGE_FRAMES);
    return cover_launch(copy, call, cover_of(out.shape), view_of(call, &in), view_of(call, &out));
}
