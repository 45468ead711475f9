/* SPDX-License-Identifier: MIT */

/* depth_to_space: channels to blocks of places, plus an enlarged base. */

#include "backend/cuda/kernels/images/shuffle.cuh"

using namespace vrt;

/* What is added, and by how much it is enlarged. */
struct addend {
    view base;                      /* c is 0: none */
    vrt_divisor h, w;
};

VRT_COVER_KERNEL depth_to_space(vrt_cuda_cover cover, view in, view out, shuffle s, addend a)
{
    const elements to = elements_of(out);
    run r;

    if (!run_find(cover, out.c, &r))
        return;
    const counterpart there = counterpart_of(s, in, r, out.c);
    const packet x = there.step == 1
                         ? packet_get(elements_of(in), there.at, r.n)
                         : packet_gather(elements_of(in), there.at, there.step, r.n);
    if (!a.base.c) {
        packet_copy(x, in.dtype, to, run_at(out, r), r.n);
        return;
    }
    float sums[8], more[8];
    const int64_t at = view_at(a.base, r.d, vrt_divide(r.h, &a.h), vrt_divide(r.w, &a.w)) + r.c;
    packet_load(elements_of(a.base), at, r.n, more);
    packet_open(x, in.dtype, sums);
#pragma unroll
    for (int i = 0; i < 8; i++)
        sums[i] += more[i];
    packet_store(sums, to, run_at(out, r), r.n);
}

/*
 * Blocks of 2x2 from PIXELS, the channels a multiple of 8: a thread reads the 32 channels, side by
 * side, that four packets are made of. Channel e of the block's (i,j) is the (4e + 2i + j)-th.
 */
VRT_COVER_KERNEL pixels_of_2(vrt_cuda_cover cover, view in, view out)
{
    const elements to = elements_of(out);
    float x[4][VRT_CUDA_PACKET], y[VRT_CUDA_PACKET];
    packet four[4];
    int64_t at[4];
    run r;

    if (!run_find(cover, out.c, &r))
        return;
#pragma unroll
    for (int k = 0; k < 4; k++)
        at[k] = view_at(in, r.d, r.h, r.w) + 4 * r.c + k * VRT_CUDA_PACKET;
    packets_get(elements_of(in), at, VRT_CUDA_PACKET, four);
#pragma unroll
    for (int k = 0; k < 4; k++)
        packet_open(four[k], in.dtype, x[k]);
#pragma unroll
    for (int k = 0; k < 4; k++) {
#pragma unroll
        for (int e = 0; e < VRT_CUDA_PACKET; e++)
            y[e] = x[e / 2][e % 2 * 4 + k];
        packet_store(y, to, view_at(out, r.d, 2 * r.h + k / 2, 2 * r.w + k % 2) + r.c,
                     VRT_CUDA_PACKET);
    }
}

int vrt_cuda_depth_to_space(const vrt_cuda_call *call)
{
    const vrt_tensor *base = vrt_op_in(call->op, 1), *out = vrt_op_out(call->op, 0);
    const vrt_op_depth_to_space *op = &call->op->depth_to_space;
    const shuffle s = { vrt_divisor_of(op->r), op->order };
    addend a = {};

    if (op->order == VRT_SHUFFLE_PIXELS && op->r == 2 && out->shape.c % VRT_CUDA_PACKET == 0 &&
        !base) {
        const vrt_shape in = vrt_op_in(call->op, 0)->shape;
        const vrt_shape packets = { in.d, in.h, in.w, out->shape.c };

        return cover_launch(pixels_of_2, call, cover_of(packets), view_of_in(call, 0),
                            view_of(call, out));
    }
    if (base) {
        a.base = view_of(call, base);
        a.h = vrt_divisor_of(out->shape.h / base->shape.h);
        a.w = vrt_divisor_of(out->shape.w / base->shape.w);
    }
    return cover_launch(depth_to_space, call, cover_of(out->shape), view_of_in(call, 0),
                        view_of(call, out), s, a);
}
