/* SPDX-License-Identifier: MIT */

/* avgpool2: the mean of 2 x 2 places. */

#include "backend/kernels/view.h"

KERNEL(avgpool2)(ARGS(struct vrt_kernel_elements, e), OUTPUT(1, out), INPUT(2, x) WORK_ITEM)
{
    struct place p;
    float sum = 0;

    PLACE_OF(&e.out, &p);
    if (!p.exists)
        return;
    for (int k = 0; k < 4; k++)
        sum += load(x, e.in[0].dtype,
                    view_at(&e.in[0], p.d, 2 * p.h + k / 2, 2 * p.w + k % 2) + p.c);
    store_at(&e.out, out, &p, sum * 0.25f);
}
