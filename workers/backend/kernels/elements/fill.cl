/* SPDX-License-Identifier: MIT */

/* fill: f[0] everywhere. */

#include "backend/kernels/view.h"

KERNEL(fill)(ARGS(struct vrt_kernel_elements, e), OUTPUT(1, out) WORK_ITEM)
{
    struct place p;

    PLACE_OF(&e.out, &p);
    if (p.exists)
        store_at(&e.out, out, &p, e.f[0]);
}
