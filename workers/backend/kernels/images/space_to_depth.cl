/* SPDX-License-Identifier: MIT */

/* space_to_depth: i[0] x i[0] places become channels, in the order that `mode` says. */

#include "backend/kernels/view.h"

KERNEL(space_to_depth)(ARGS(struct vrt_kernel_elements, e), OUTPUT(1, out),
                       INPUT(2, x) WORK_ITEM)
{
    struct place p;
    const int r = e.i[0], n = e.in[0].c;
    const bool blocks = e.mode == VRT_SHUFFLE_BLOCKS;

    PLACE_OF(&e.out, &p);
    if (!p.exists)
        return;
    const int c = blocks ? p.c % n : p.c / (r * r);
    const int i = blocks ? p.c / n % r : p.c / r % r, j = blocks ? p.c / n / r : p.c % r;
    store_at(&e.out, out, &p,
             load(x, e.in[0].dtype, view_at(&e.in[0], p.d, p.h * r + i, p.w * r + j) + c));
}
