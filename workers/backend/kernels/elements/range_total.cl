/* SPDX-License-Identifier: MIT */

/* The second half of range: an item joins what i[0] groups found in a frame. */

#include "backend/kernels/view.h"

/* partials [D,groups,3] */
KERNEL(range_total)(ARGS(struct vrt_kernel_range, e), OUTPUT(1, out),
                    INPUT(2, partials) WORK_ITEM)
{
    const int d = GLOBAL_ID(0);
    const GLOBAL float *from = (const GLOBAL float *)partials + (long)d * e.n_groups * 3;
    const float n = (float)((long)e.in.h * e.in.w * e.in.c);
    float low = INFINITY, high = -INFINITY;
    ulong bad = 0;

    for (int i = 0; i < e.n_groups; i++) {
        low = fmin(low, from[3 * i]);
        high = fmax(high, from[3 * i + 1]);
        bad += ((const GLOBAL uint *)from)[3 * i + 2];
    }
    const bool any = bad < (ulong)((long)e.in.h * e.in.w * e.in.c);
    const float result[4] = { any ? low : 0, any ? high : 0, (float)bad, n };
    for (int i = 0; i < 4; i++)
        store(out, e.out.dtype, view_at(&e.out, d, 0, 0) + i, result[i]);
}
