/* SPDX-License-Identifier: MIT */

/* affine: x times f[c], plus f[4 + c]. */

#include "backend/kernels/view.h"

KERNEL(affine)(ARGS(struct vrt_kernel_elements, e), OUTPUT(1, out), INPUT(2, x) WORK_ITEM)
{
    struct place p;

    PLACE_OF(&e.out, &p);
    if (p.exists)
        store_at(&e.out, out, &p, load_at(&e.in[0], x, &p) * e.f[p.c] + e.f[4 + p.c]);
}
