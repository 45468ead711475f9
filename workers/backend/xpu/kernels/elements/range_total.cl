/* SPDX-License-Identifier: MIT */

/* The second half of range: an item joins what i[0] groups found in a frame. */

#include "backend/xpu/kernels/view.clh"

/* partials [D,groups,3] */
__kernel void range_total(struct vrt_xpu_range e, __global char *out,
                          const __global char *partials)
{
    const int d = (int)get_global_id(0);
    const __global float *from = (const __global float *)partials + (long)d * e.n_groups * 3;
    const float n = (float)((long)e.in.h * e.in.w * e.in.c);
    float low = INFINITY, high = -INFINITY;
    ulong bad = 0;

    for (int i = 0; i < e.n_groups; i++) {
        low = fmin(low, from[3 * i]);
        high = fmax(high, from[3 * i + 1]);
        bad += as_uint(from[3 * i + 2]);
    }
    const bool any = bad < (ulong)((long)e.in.h * e.in.w * e.in.c);
    const float result[4] = { any ? low : 0, any ? high : 0, (float)bad, n };
    for (int i = 0; i < 4; i++)
        store(out, e.out.dtype, view_at(&e.out, d, 0, 0) + i, result[i]);
}
