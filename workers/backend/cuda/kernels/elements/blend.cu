/* SPDX-License-Identifier: MIT */

/*
 * blend: acc + x * (rows * columns), or x divided by that product
 *
 * acc and x may be the output's own place: each thread reads its packet of them before it writes.
 */

#include "backend/cuda/kernels/elements/merge.h"
#include "backend/cuda/kernels/packet.cuh"

using namespace vrt;

struct operands {
    view x, rows, columns, acc, out;
};

/* `channels` divides by how many a place has: columns that were merged are told apart by it. */
VRT_COVER_KERNEL blend(vrt_cuda_cover cover, operands o, vrt_divisor channels, bool divides)
{
    float x[8], acc[8] = {}, weights[8];
    run r;

    if (!run_find(cover, o.out.c, &r))
        return;
    const packet given = packet_get(elements_of(o.x), run_at(o.x, r), r.n);
    if (o.acc.c)
        packet_load(elements_of(o.acc), run_at(o.acc, r), r.n, acc);

    const float *columns = (const float *)view_data(o.columns);
    const float row = ((const float *)view_data(o.rows))[r.h * o.rows.stride_h];
    int w = vrt_divide(r.c, &channels);
    int c = vrt_remainder(r.c, w, &channels);
    w += r.w;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        weights[i] = i < r.n ? row * columns[w * o.columns.stride_w] : 1;
        if (++c == (int)channels.divisor) {
            c = 0;
            w++;
        }
    }
    packet_open(given, o.x.dtype, x);
#pragma unroll
    for (int i = 0; i < 8; i++)
        acc[i] += divides ? x[i] / weights[i] : x[i] * weights[i];
    packet_store(acc, elements_of(o.out), run_at(o.out, r), r.n);
}

int vrt_cuda_blend(const vrt_cuda_call *call)
{
    const vrt_tensor *last = vrt_op_in(call->op, 3);
    vrt_tensor x = *vrt_op_in(call->op, 0), out = *vrt_op_out(call->op, 0);
    vrt_tensor acc = last ? *last : vrt_tensor();
    vrt_tensor *all[] = { &x, &out, &acc };
    const int c = out.shape.c;
    operands o = {};

    vrt_cuda_merge(all, last ? 3 : 2, VRT_CUDA_MERGE_COLUMNS);
    o.x = view_of(call, &x);
    o.rows = view_of_in(call, 1);
    o.columns = view_of_in(call, 2);
    o.acc = view_of(call, last ? &acc : NULL);
    o.out = view_of(call, &out);
    return cover_launch(blend, call, cover_of(out.shape), o, vrt_divisor_of(c),
                        call->op->blend.divides);
}
