/* SPDX-License-Identifier: MIT */

/* warp: each place taken from where its flow points, between four places or beside them. */

#include "backend/cuda/kernels/packet.cuh"
#include "backend/op/position.h"

using namespace vrt;

/* Where the run's channels are at row y, column x; -1 outside. What is no number is outside. */
static __device__ __forceinline__ int64_t find(const view &in, const run &r, float y, float x)
{
    const bool inside = y >= 0 && x >= 0 && y < (float)in.h && x < (float)in.w;

    return inside ? view_at(in, r.d, (int)y, (int)x) + r.c : -1;
}

/* Where place (h,w) looks: y, x. */
static __device__ __forceinline__ float2 target(const view &flow, const run &r)
{
    const float *at = (const float *)view_data(flow) + view_at(flow, r.d, r.h, r.w);

    return make_float2((float)r.h + at[1], (float)r.w + at[0]);
}

/* Packets are the input's: each is written four times. */
VRT_COVER_KERNEL nearest4(vrt_cuda_cover cover, view in, view flow, view out)
{
    const elements to = elements_of(out);
    packet samples[4];
    int64_t sources[4];
    run r;

    if (!run_find(cover, in.c, &r))
        return;
    const float2 at = target(flow, r);
#pragma unroll
    for (int k = 0; k < 4; k++)
        sources[k] = find(in, r, k % 2 ? ceilf(at.x) : floorf(at.x),
                          k / 2 ? ceilf(at.y) : floorf(at.y));
    packets_get(elements_of(in), sources, r.n, samples);
#pragma unroll
    for (int k = 0; k < 4; k++)
        packet_copy(samples[k], in.dtype, to, run_at(out, r) + k * in.c, r.n);
}

/* `at`, moved by the mode to where floors and weights of it are harmless. */
static __device__ __forceinline__ float bounded(float at, int n, bool border)
{
    const float position = vrt_position_warped(at, n);

    return border ? fminf(fmaxf(position, 0), (float)(n - 1))
                  : fminf(fmaxf(position, -2), (float)n + 1);
}

VRT_COVER_KERNEL bilinear(vrt_cuda_cover cover, view in, view flow, view out, bool border)
{
    float sums[8] = {};
    packet corners[4];
    int64_t sources[4];
    run r;

    if (!run_find(cover, out.c, &r))
        return;
    const float2 at = target(flow, r);
    const float y = bounded(at.x, in.h, border), x = bounded(at.y, in.w, border);
    const float top = floorf(y), left = floorf(x), v = y - top, u = x - left;
#pragma unroll
    for (int k = 0; k < 4; k++)
        sources[k] = find(in, r, top + (float)(k / 2), left + (float)(k % 2));
    packets_get(elements_of(in), sources, r.n, corners);
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const float weight = (k / 2 ? v : 1 - v) * (k % 2 ? u : 1 - u);
        float corner[8];

        packet_open(corners[k], in.dtype, corner);
#pragma unroll
        for (int i = 0; i < 8; i++)
            sums[i] += corner[i] * weight;
    }
    packet_store(sums, elements_of(out), run_at(out, r), r.n);
}

int vrt_cuda_warp(const vrt_cuda_call *call)
{
    const vrt_cuda_cover cover = cover_of(vrt_op_in(call->op, 0)->shape);
    const view in = view_of_in(call, 0), flow = view_of_in(call, 1);
    const view out = view_of(call, vrt_op_out(call->op, 0));
    const vrt_warp_mode mode = call->op->warp.mode;

    if (mode == VRT_WARP_NEAREST4)
        return cover_launch(nearest4, call, cover, in, flow, out);
    return cover_launch(bilinear, call, cover, in, flow, out, mode == VRT_WARP_BILINEAR_BORDER);
}
