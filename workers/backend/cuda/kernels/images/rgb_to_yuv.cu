/* SPDX-License-Identifier: MIT */

/*
 * rgb_to_yuv: RGB to planes of samples ("backend/op/colour.h" has the formulas)
 *
 * A thread makes a place of chroma and those of luma that it stands for. Chroma is the matrix of
 * the weighted mean of RGB, which is the weighted mean of the matrix.
 */

#include "backend/cuda/kernels/packet.cuh"

extern "C" {
#include "backend/op/colour.h"
}

using namespace vrt;

struct planes {
    view out[3];
    int n;                          /* planes */
    int log2_x, log2_y;             /* the chroma shifts */
    bool subsamples;                /* whether planes 1 and 2 are chroma, and so filtered */
    float max;                      /* the largest sample */
    vrt_colour_line lines[3];
    vrt_colour_filter down, across;
};

static __device__ __forceinline__ float3 pixel(const view &in, const elements &from, int64_t at)
{
    return make_float3(load(from.data, in.dtype, at), load(from.data, in.dtype, at + 1),
                       load(from.data, in.dtype, at + 2));
}

/* Writes what line i makes of the pixel to place (d,h,w) of plane i: to nearest, clamped, and 0 for
 * what is no number. */
static __device__ __forceinline__ void put(const planes &p, int i, const vrt_cuda_item &at,
                                           const float3 &rgb)
{
    const vrt_colour_line &l = p.lines[i];
    const float x = rgb.x * l.r + rgb.y * l.g + rgb.z * l.b + l.offset;
    const float sample = x >= p.max ? p.max : x > 0 ? rintf(x) : 0;
    const view &out = p.out[i];
    const int64_t to = view_at(out, at.d, at.h, at.w);

    if (out.dtype == VRT_DTYPE_U8)
        ((uint8_t *)view_data(out))[to] = (uint8_t)sample;
    else
        ((uint16_t *)view_data(out))[to] = (uint16_t)sample;
}

/* The weighted mean about chroma's place, the picture's edge repeated. */
static __device__ __forceinline__ float3 mean(const planes &p, const view &in,
                                              const vrt_cuda_item &at)
{
    const elements from = elements_of(in);
    float3 sum = make_float3(0, 0, 0);

    for (int i = 0; i < p.down.n; i++) {
        const int y = min(max((at.h << p.log2_y) + p.down.first + i, 0), in.h - 1);
        for (int k = 0; k < p.across.n; k++) {
            const int x = min(max((at.w << p.log2_x) + p.across.first + k, 0), in.w - 1);
            const float weight = p.down.weights[i] * p.across.weights[k];
            const float3 rgb = pixel(in, from, view_at(in, at.d, y, x));

            sum.x += rgb.x * weight;
            sum.y += rgb.y * weight;
            sum.z += rgb.z * weight;
        }
    }
    return sum;
}

VRT_COVER_KERNEL rgb_to_yuv(vrt_cuda_cover cover, view in, planes p)
{
    const vrt_cuda_item at = vrt_cuda_cover_find(&cover, (int)blockIdx.x, (int)threadIdx.x);
    const elements from = elements_of(in);
    const int bottom = min((at.h + 1) << p.log2_y, in.h);
    const int right = min((at.w + 1) << p.log2_x, in.w);
    vrt_cuda_item luma = at;

    if (!at.exists)
        return;
    for (luma.h = at.h << p.log2_y; luma.h < bottom; luma.h++)
        for (luma.w = at.w << p.log2_x; luma.w < right; luma.w++) {
            const float3 rgb = pixel(in, from, view_at(in, luma.d, luma.h, luma.w));

            put(p, 0, luma, rgb);
            for (int i = 1; i < p.n && !p.subsamples; i++)
                put(p, i, luma, rgb);
        }
    if (!p.subsamples)
        return;
    const float3 rgb = mean(p, in, at);
    put(p, 1, at, rgb);
    put(p, 2, at, rgb);
}

int vrt_cuda_rgb_to_yuv(const vrt_cuda_call *call)
{
    const vrt_op_colour *op = &call->op->colour;
    const vrt_colour colour = vrt_colour_of(op);
    planes p = {};

    p.n = vrt_op_n_out(call->op);
    for (int i = 0; i < p.n; i++) {
        p.out[i] = view_of(call, vrt_op_out(call->op, i));
        p.lines[i] = vrt_colour_line_of(op, i);
    }
    p.log2_x = op->shift_x;
    p.log2_y = op->shift_y;
    p.subsamples = op->shift_x || op->shift_y;
    p.max = (float)colour.max;
    p.down = vrt_colour_filter_of(1 << op->shift_y, colour.cosited_y);
    p.across = vrt_colour_filter_of(1 << op->shift_x, colour.cosited_x);
    /* The last plane is the smallest, or all are of one size: its places are the threads'. */
    return cover_launch(rgb_to_yuv, call,
                        vrt_cuda_cover_of(vrt_op_out(call->op, p.n - 1)->shape, 1),
                        view_of_in(call, 0), p);
}
