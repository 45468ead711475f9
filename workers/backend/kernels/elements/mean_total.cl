/* SPDX-License-Identifier: MIT */

/* The second half of mean: an item adds up one channel's parts. */

#include "backend/kernels/view.h"

/* partials [groups,C] */
KERNEL(mean_total)(ARGS(struct vrt_kernel_range, e), OUTPUT(1, out),
                   INPUT(2, partials) WORK_ITEM)
{
    const int c = GLOBAL_ID(0);
    float sum = 0;

    if (c >= e.in.c)
        return;
    for (int i = 0; i < e.n_groups; i++)
        sum += ((const GLOBAL float *)partials)[(long)i * e.in.c + c];
    store(out, e.out.dtype, view_at(&e.out, 0, 0, 0) + c,
          sum / (float)((long)e.in.d * e.in.h * e.in.w));
}
