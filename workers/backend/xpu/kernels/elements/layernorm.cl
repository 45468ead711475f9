/* SPDX-License-Identifier: MIT */

/* layernorm: LANES items share a place. They write it normed or, where `only_stats` is 1, what norms
 * it: [places,2], its mean and the scale. */

#include "backend/xpu/kernels/view.clh"

#define LANES VRT_XPU_NORM_LANES
#define PLACES VRT_XPU_NORM_PLACES

/* The sum of what the lanes of a place have. */
static float add_up(__local float *shared, float x)
{
    const int t = (int)get_local_id(0), lane = t % LANES;

    shared[t] = x;
    for (int apart = LANES / 2; apart > 0; apart /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < apart)
            shared[t] += shared[t + apart];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const float sum = shared[t - lane];
    barrier(CLK_LOCAL_MEM_FENCE);
    return sum;
}

__kernel __attribute__((reqd_work_group_size(LANES * PLACES, 1, 1)))
void layernorm(struct vrt_xpu_norm e, __global char *out, const __global char *x,
               const __global char *weight, const __global char *bias)
{
    __local float shared[LANES * PLACES];
    const int t = (int)get_local_id(0), lane = t % LANES;
    const int row = (int)get_group_id(0) * PLACES + t / LANES;
    const int d = row / e.x.w / e.x.h, h = row / e.x.w % e.x.h, w = row % e.x.w, n = e.x.c;
    const bool exists = d < e.x.d;
    const long at = view_at(&e.x, d, h, w);
    float sum = 0, squares = 0;

    for (int c = lane; exists && c < n; c += LANES)
        sum += load(x, e.x.dtype, at + c);
    const float mean = add_up(shared, sum) / (float)n;
    for (int c = lane; exists && c < n; c += LANES) {
        const float apart = load(x, e.x.dtype, at + c) - mean;
        squares += apart * apart;
    }
    const float scale = 1 / sqrt(add_up(shared, squares) / (float)n + VRT_NORM_EPSILON);
    if (exists && e.only_stats && lane == 0) {
        ((__global float *)out)[2 * (long)row] = mean;
        ((__global float *)out)[2 * (long)row + 1] = scale;
    }
    for (int c = lane; exists && !e.only_stats && c < n; c += LANES)
        store(out, e.out.dtype, view_at(&e.out, d, h, w) + c,
              (load(x, e.x.dtype, at + c) - mean) * scale * ((const __global float *)weight)[c] +
                  ((const __global float *)bias)[c]);
}
