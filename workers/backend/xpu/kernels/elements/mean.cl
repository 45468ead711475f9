/* SPDX-License-Identifier: MIT */

/* mean: a group adds up one part of all places, each item one channel; mean_total adds the parts
 * up. */

#include "backend/xpu/kernels/view.clh"

/* partials [groups,C] */
__kernel void mean(struct vrt_xpu_range e, const __global char *x, __global char *partials)
{
    const struct vrt_xpu_view *in = &e.in;
    const int c = (int)get_global_id(0), group = (int)get_global_id(1);
    const int n_rows = in->d * in->h;
    float sum = 0;

    if (c >= in->c)
        return;
    for (int row = group; row < n_rows; row += e.n_groups) {
        const long at = view_at(in, row / in->h, row % in->h, 0) + c;
        float of_row = 0;
        for (int w = 0; w < in->w; w++)
            of_row += load(x, in->dtype, at + w * in->stride_w);
        sum += of_row;
    }
    ((__global float *)partials)[(long)group * in->c + c] = sum;
}
