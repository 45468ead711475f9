/* SPDX-License-Identifier: MIT */

/* avgpool2: the mean of each 2x2. */

#include "backend/cuda/kernels/packet.cuh"

using namespace vrt;

VRT_COVER_KERNEL avgpool2(vrt_cuda_cover cover, view in, view out)
{
    float sums[8] = {};
    packet four[4];
    int64_t at[4];
    run r;

    if (!run_find(cover, out.c, &r))
        return;
#pragma unroll
    for (int k = 0; k < 4; k++)
        at[k] = view_at(in, r.d, 2 * r.h + k / 2, 2 * r.w + k % 2) + r.c;
    packets_get(elements_of(in), at, r.n, four);
#pragma unroll
    for (int k = 0; k < 4; k++) {
        float x[8];

        packet_open(four[k], in.dtype, x);
#pragma unroll
        for (int i = 0; i < 8; i++)
            sums[i] += x[i];
    }
#pragma unroll
    for (int i = 0; i < 8; i++)
        sums[i] *= 0.25f;
    packet_store(sums, elements_of(out), run_at(out, r), r.n);
}

int vrt_cuda_avgpool2(const vrt_cuda_call *call)
{
    const vrt_tensor *out = vrt_op_out(call->op, 0);

    return cover_launch(avgpool2, call, cover_of(out->shape), view_of_in(call, 0),
                        view_of(call, out));
}
