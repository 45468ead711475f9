/* SPDX-License-Identifier: MIT */

/* layernorm: LANES items share a place. They write it normed or, where `only_stats` is 1, what norms
 * it: [places,2], its mean and the scale. */

#include "backend/kernels/view.h"

#define LANES VRT_KERNEL_NORM_LANES
#define PLACES VRT_KERNEL_NORM_PLACES

/* The sum of what the lanes of a place have; t: the item. */
static float add_up(LOCAL float *shared, int t, float x)
{
    const int lane = t % LANES;

    shared[t] = x;
    for (int apart = LANES / 2; apart > 0; apart /= 2) {
        BARRIER();
        if (lane < apart)
            shared[t] += shared[t + apart];
    }
    BARRIER();
    const float sum = shared[t - lane];
    BARRIER();
    return sum;
}

KERNEL_OF(LANES * PLACES, layernorm)(ARGS(struct vrt_kernel_norm, e), OUTPUT(1, out),
                                     INPUT(2, x), INPUT(3, weight), INPUT(4, bias) WORK_ITEM)
{
    LOCAL float shared[LANES * PLACES];
    const int t = LOCAL_ID(0), lane = t % LANES;
    const int row = GROUP_ID(0) * PLACES + t / LANES;
    const int d = row / e.x.w / e.x.h, h = row / e.x.w % e.x.h, w = row % e.x.w, n = e.x.c;
    const bool exists = d < e.x.d;
    const long at = view_at(&e.x, d, h, w);
    float sum = 0, squares = 0;

    for (int c = lane; exists && c < n; c += LANES)
        sum += load(x, e.x.dtype, at + c);
    const float mean = add_up(shared, t, sum) / (float)n;
    for (int c = lane; exists && c < n; c += LANES) {
        const float apart = load(x, e.x.dtype, at + c) - mean;
        squares += apart * apart;
    }
    const float scale = 1 / sqrt(add_up(shared, t, squares) / (float)n + VRT_NORM_EPSILON);
    if (exists && e.only_stats && lane == 0) {
        ((GLOBAL float *)out)[2 * (long)row] = mean;
        ((GLOBAL float *)out)[2 * (long)row + 1] = scale;
    }
    for (int c = lane; exists && !e.only_stats && c < n; c += LANES)
        store(out, e.out.dtype, view_at(&e.out, d, h, w) + c,
              (load(x, e.x.dtype, at + c) - mean) * scale * ((const GLOBAL float *)weight)[c] +
                  ((const GLOBAL float *)bias)[c]);
}
