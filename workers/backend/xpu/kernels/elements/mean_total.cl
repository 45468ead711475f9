/* SPDX-License-Identifier: MIT */

/* The second half of mean: an item adds up one channel's parts. */

#include "backend/xpu/kernels/view.clh"

/* partials [groups,C] */
__kernel void mean_total(struct vrt_xpu_range e, __global char *out,
                         const __global char *partials)
{
    const int c = (int)get_global_id(0);
    float sum = 0;

    if (c >= e.in.c)
        return;
    for (int i = 0; i < e.n_groups; i++)
        sum += ((const __global float *)partials)[(long)i * e.in.c + c];
    store(out, e.out.dtype, c, sum / (float)((long)e.in.d * e.in.h * e.in.w));
}
