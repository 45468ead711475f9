/* SPDX-License-Identifier: MIT */

/* gate: x, plus y where there is one, times f[0] * sigmoid(g) + f[1]. */

#include "backend/kernels/view.h"

KERNEL(gate)(ARGS(struct vrt_kernel_elements, e), OUTPUT(1, out), INPUT(2, g), INPUT(3, x),
             INPUT(4, y) WORK_ITEM)
{
    struct place p;

    PLACE_OF(&e.out, &p);
    if (!p.exists)
        return;
    const float factor = e.f[0] / (1 + exp(-load_at(&e.in[0], g, &p))) + e.f[1];
    const float more = e.in[2].c ? load_at(&e.in[2], y, &p) : 0;
    store_at(&e.out, out, &p, (load_at(&e.in[1], x, &p) + more) * factor);
}
