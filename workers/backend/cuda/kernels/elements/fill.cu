/* SPDX-License-Identifier: MIT */

/* fill: the same number everywhere. */

#include "backend/cuda/kernels/elements/merge.h"
#include "backend/cuda/kernels/packet.cuh"

using namespace vrt;

VRT_COVER_KERNEL fill(vrt_cuda_cover cover, view out, float value)
{
    const float values[8] = { value, value, value, value, value, value, value, value };
    run r;

    if (run_find(cover, out.c, &r))
        packet_store(values, elements_of(out), run_at(out, r), r.n);
}

int vrt_cuda_fill(const vrt_cuda_call *call)
{
    vrt_tensor out = *vrt_op_out(call->op, 0), *all[] = { &out };

    vrt_cuda_merge(all, 1, VRT_CUDA_MERGE_FRAMES);
    return cover_launch(fill, call, cover_of(out.shape), view_of(call, &out),
                        call->op->fill.value);
}
