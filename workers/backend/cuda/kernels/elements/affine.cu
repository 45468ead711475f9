/* SPDX-License-Identifier: MIT */

/* affine: x * scale[c] + shift[c], of pictures: a row is one run, so that packets are full. */

#include "backend/cuda/kernels/elements/merge.h"
#include "backend/cuda/kernels/packet.cuh"

using namespace vrt;

/* `channels` divides by how many a place has: merged rows begin with channel 0. */
VRT_COVER_KERNEL affine(vrt_cuda_cover cover, view in, view out, vrt_divisor channels,
                        vrt_op_affine numbers)
{
    float x[8];
    run r;

    if (!run_find(cover, out.c, &r))
        return;
    packet_load(elements_of(in), run_at(in, r), r.n, x);
    int c = vrt_remainder(r.c, vrt_divide(r.c, &channels), &channels);
#pragma unroll
    for (int i = 0; i < 8; i++) {
        float scale = numbers.scale[0], shift = numbers.shift[0];

#pragma unroll
        for (int k = 1; k < VRT_AFFINE_MAX_CHANNELS; k++) {
            scale = c == k ? numbers.scale[k] : scale;
            shift = c == k ? numbers.shift[k] : shift;
        }
        x[i] = x[i] * scale + shift;
        c = c + 1 == (int)channels.divisor ? 0 : c + 1;
    }
    packet_store(x, elements_of(out), run_at(out, r), r.n);
}

int vrt_cuda_affine(const vrt_cuda_call *call)
{
    vrt_tensor in = *vrt_op_in(call->op, 0), out = *vrt_op_out(call->op, 0);
    vrt_tensor *all[] = { &in, &out };
    const int c = out.shape.c;

    vrt_cuda_merge(all, 2, VRT_CUDA_MERGE_FRAMES);
    return cover_launch(affine, call, cover_of(out.shape), view_of(call, &in),
                        view_of(call, &out), vrt_divisor_of(c), call->op->affine);
}
