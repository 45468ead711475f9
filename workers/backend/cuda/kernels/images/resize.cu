/* SPDX-License-Identifier: MIT */

/* resize: nearest, bilinear with corners on corners or edges on edges, bicubic. */

#include "backend/cuda/kernels/packet.cuh"
#include "backend/op/position.h"

using namespace vrt;

/* Between which two sources of a row (or column) an output lies, and how near the second. */
struct between {
    int first, second;
    float weight;
};

static __device__ __forceinline__ between find(vrt_resize_mode mode, int i, int m, int n)
{
    const float position = vrt_position_resized(mode, i, m, n);
    const int first = (int)position;

    return { first, min(first + 1, n - 1), position - (float)first };
}

/* `rows` and `columns` divide by how many the output has; no side is so long that its product with
 * another overflows (supports.c). */
VRT_COVER_KERNEL nearest(vrt_cuda_cover cover, view in, view out, vrt_divisor rows,
                         vrt_divisor columns)
{
    run r;

    if (!run_find(cover, out.c, &r))
        return;
    const int64_t at = view_at(in, r.d, vrt_divide(r.h * in.h, &rows),
                               vrt_divide(r.w * in.w, &columns)) + r.c;
    const packet x = packet_get(elements_of(in), at, r.n);
    packet_copy(x, in.dtype, elements_of(out), run_at(out, r), r.n);
}

VRT_COVER_KERNEL bilinear(vrt_cuda_cover cover, view in, view out, vrt_resize_mode mode)
{
    packet corners[4];
    int64_t at[4];
    run r;

    if (!run_find(cover, out.c, &r))
        return;
    const between y = find(mode, r.h, out.h, in.h), x = find(mode, r.w, out.w, in.w);
#pragma unroll
    for (int k = 0; k < 4; k++)
        at[k] = view_at(in, r.d, k / 2 ? y.second : y.first, k % 2 ? x.second : x.first) + r.c;
    packets_get(elements_of(in), at, r.n, corners);
    float values[8];
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const float weight = (k / 2 ? y.weight : 1 - y.weight) *
                             (k % 2 ? x.weight : 1 - x.weight);
        float corner[8];

        packet_open(corners[k], in.dtype, corner);
#pragma unroll
        for (int i = 0; i < 8; i++)
            values[i] = corner[i] * weight + (k ? values[i] : 0);
    }
    packet_store(values, elements_of(out), run_at(out, r), r.n);
}

VRT_COVER_KERNEL bicubic(vrt_cuda_cover cover, view in, view out)
{
    packet row[4];
    int64_t at[4];
    run r;

    if (!run_find(cover, out.c, &r))
        return;
    const vrt_cubic y = vrt_position_cubic(r.h, out.h, in.h);
    const vrt_cubic x = vrt_position_cubic(r.w, out.w, in.w);
    float values[8] = { 0 };
#pragma unroll
    for (int j = 0; j < 4; j++) {
#pragma unroll
        for (int i = 0; i < 4; i++)
            at[i] = view_at(in, r.d, max(min(y.first + j, in.h - 1), 0),
                            max(min(x.first + i, in.w - 1), 0)) + r.c;
        packets_get(elements_of(in), at, r.n, row);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const float weight = y.weights[j] * x.weights[i];
            float sample[8];

            packet_open(row[i], in.dtype, sample);
#pragma unroll
            for (int k = 0; k < 8; k++)
                values[k] += sample[k] * weight;
        }
    }
    packet_store(values, elements_of(out), run_at(out, r), r.n);
}

int vrt_cuda_resize(const vrt_cuda_call *call)
{
    const vrt_tensor *out = vrt_op_out(call->op, 0);
    const vrt_resize_mode mode = call->op->resize.mode;
    const vrt_cuda_cover cover = cover_of(out->shape);
    const view from = view_of_in(call, 0), to = view_of(call, out);

    if (mode == VRT_RESIZE_BICUBIC)
        return cover_launch(bicubic, call, cover, from, to);
    if (mode != VRT_RESIZE_NEAREST)
        return cover_launch(bilinear, call, cover, from, to, mode);
    return cover_launch(nearest, call, cover, from, to, vrt_divisor_of(out->shape.h),
                        vrt_divisor_of(out->shape.w));
}
