/* SPDX-License-Identifier: MIT */

/* blend: acc (where there is one) plus x times the weights of its row and column, or, where `mode`
 * is 1, divided by them. */

#include "backend/kernels/view.h"

KERNEL(blend)(ARGS(struct vrt_kernel_elements, e), OUTPUT(1, out), INPUT(2, x), INPUT(3, rows),
              INPUT(4, columns), INPUT(5, acc) WORK_ITEM)
{
    struct place p;

    PLACE_OF(&e.out, &p);
    if (!p.exists)
        return;
    const float weight = load(rows, e.in[1].dtype, view_at(&e.in[1], 0, p.h, 0)) *
                         load(columns, e.in[2].dtype, view_at(&e.in[2], 0, 0, p.w));
    const float value = load_at(&e.in[0], x, &p), sum = e.in[3].c ? load_at(&e.in[3], acc, &p) : 0;
    store_at(&e.out, out, &p, sum + (e.mode ? value / weight : value * weight));
}
