/* SPDX-License-Identifier: MIT */

/*
 * yuv_to_rgb: planes of samples to RGB ("backend/op/colour.h" has the formulas)
 *
 * A thread makes some pixels of a row: what it writes fills whole accesses. Samples are read one by
 * one, most of them from the cache: neighbours need the same chroma.
 */

#include "backend/cuda/kernels/packet.cuh"

extern "C" {
#include "backend/op/colour.h"
}

using namespace vrt;

#define PIXELS 4                    /* of a thread */

struct planes {
    view in[3];
    vrt_plane_layout layout;
    int log2_x, log2_y;             /* the chroma shifts */
    bool cosited_x, cosited_y;
};

/* Between which two samples of chroma a luma position lies, and how near the second. */
struct between {
    int first, second;
    float weight;
};

static __device__ __forceinline__ between find(int i, int log2, bool cosited, int n)
{
    /* In units of half a luma sample, 2 r of which make one of chroma. */
    const int units = 2 << log2, at = 2 * i - (cosited ? 0 : units / 2 - 1);
    const int first = at >> (log2 + 1);

    return { min(max(first, 0), n - 1), min(max(first + 1, 0), n - 1),
             (float)(at - first * units) / (float)units };
}

static __device__ __forceinline__ float sample(const elements &plane, int64_t at)
{
    return plane.dtype == VRT_DTYPE_U8 ? (float)((const uint8_t *)plane.data)[at]
                                       : (float)((const uint16_t *)plane.data)[at];
}

/* Of frame d, row y: between two columns. */
static __device__ __forceinline__ float across(const view &plane, int d, int y, const between &x)
{
    const elements from = elements_of(plane);
    const float a = sample(from, view_at(plane, d, y, x.first));

    if (x.weight == 0)
        return a;
    return a + (sample(from, view_at(plane, d, y, x.second)) - a) * x.weight;
}

static __device__ __forceinline__ float chroma(const view &plane, int d, const between &y,
                                               const between &x)
{
    const float a = across(plane, d, y.first, x);

    return y.weight == 0 ? a : a + (across(plane, d, y.second, x) - a) * y.weight;
}

/* rgb [3] of place (d,h,w). */
static __device__ __forceinline__ void pixel(const planes &p, const vrt_colour_matrix &m,
                                             const vrt_cuda_item &at, int w, float *rgb)
{
    float values[3];

#pragma unroll
    for (int i = 0; i < 3; i++)
        if (i == 0 || p.layout == VRT_PLANES_GBR)
            values[i] = (sample(elements_of(p.in[i]), view_at(p.in[i], at.d, at.h, w)) -
                         m.y_offset) * m.y_scale;
    if (p.layout == VRT_PLANES_GBR) {
        rgb[0] = values[2];
        rgb[1] = values[0];
        rgb[2] = values[1];
    } else if (p.layout == VRT_PLANES_YUV) {
        const between y = find(at.h, p.log2_y, p.cosited_y, p.in[1].h);
        const between x = find(w, p.log2_x, p.cosited_x, p.in[1].w);
        const float u = chroma(p.in[1], at.d, y, x) - m.c_offset;
        const float v = chroma(p.in[2], at.d, y, x) - m.c_offset;

        rgb[0] = values[0] + m.rv * v;
        rgb[1] = values[0] - m.gu * u - m.gv * v;
        rgb[2] = values[0] + m.bu * u;
    } else {
        rgb[0] = rgb[1] = rgb[2] = values[0];
    }
}

VRT_COVER_KERNEL yuv_to_rgb(vrt_cuda_cover cover, planes p, view out, vrt_colour_matrix matrix)
{
    const vrt_cuda_item at = vrt_cuda_cover_find(&cover, (int)blockIdx.x, (int)threadIdx.x);
    const elements to = elements_of(out);
    float rgb[3 * PIXELS + 4] = {}; /* two packets, the second half full */

    if (!at.exists)
        return;
    const int n = min(PIXELS, out.w - at.w * PIXELS);
    const int64_t first = view_at(out, at.d, at.h, at.w * PIXELS);
#pragma unroll
    for (int i = 0; i < PIXELS; i++)
        if (i < n)
            pixel(p, matrix, at, at.w * PIXELS + i, rgb + 3 * i);
    if (out.stride_w == 3) {
        packet_store(rgb, to, first, min(3 * n, VRT_CUDA_PACKET));
        packet_store(rgb + VRT_CUDA_PACKET, to, first + VRT_CUDA_PACKET, 3 * n - VRT_CUDA_PACKET);
        return;
    }
#pragma unroll
    for (int i = 0; i < 3 * PIXELS; i++)
        if (i < 3 * n)
            store(to.data, to.dtype, first + i / 3 * out.stride_w + i % 3, rgb[i]);
}

int vrt_cuda_yuv_to_rgb(const vrt_cuda_call *call)
{
    const vrt_op_colour *op = &call->op->colour;
    const vrt_colour colour = vrt_colour_of(op);
    const vrt_tensor *out = vrt_op_out(call->op, 0);
    const vrt_shape groups = { out->shape.d, out->shape.h, (out->shape.w + PIXELS - 1) / PIXELS,
                               1 };
    planes p = {};

    for (int i = 0; i < call->op->n_in; i++)
        p.in[i] = view_of_in(call, i);
    p.layout = op->layout;
    p.log2_x = op->shift_x;
    p.log2_y = op->shift_y;
    p.cosited_x = colour.cosited_x;
    p.cosited_y = colour.cosited_y;
    return cover_launch(yuv_to_rgb, call, vrt_cuda_cover_of(groups, 1), p, view_of(call, out),
                        vrt_colour_matrix_of(op));
}
