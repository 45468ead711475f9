/* SPDX-License-Identifier: MIT */

/* add: a [D,H,W,C], or [1,1,1,C] where `mode` is 1, times f[0], plus b. */

#include "backend/kernels/view.h"

KERNEL(add)(ARGS(struct vrt_kernel_elements, e), OUTPUT(1, out), INPUT(2, a),
            INPUT(3, b) WORK_ITEM)
{
    struct place p;

    PLACE_OF(&e.out, &p);
    if (!p.exists)
        return;
    const float x = e.mode ? load(a, e.in[0].dtype, view_at(&e.in[0], 0, 0, 0) + p.c) : load_at(&e.in[0], a, &p);
    store_at(&e.out, out, &p, x * e.f[0] + load_at(&e.in[1], b, &p));
}
