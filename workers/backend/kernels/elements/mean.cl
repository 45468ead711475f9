/* SPDX-License-Identifier: MIT */

/* mean: a group adds up one part of all places, each item one channel; mean_total adds the parts
 * up. */

#include "backend/kernels/view.h"

/* partials [groups,C] */
KERNEL(mean)(ARGS(struct vrt_kernel_range, e), INPUT(1, x), OUTPUT(2, partials) WORK_ITEM)
{
    const ARG struct vrt_kernel_view *in = &e.in;
    const int c = GLOBAL_ID(0), group = GLOBAL_ID(1);
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
    ((GLOBAL float *)partials)[(long)group * in->c + c] = sum;
}
