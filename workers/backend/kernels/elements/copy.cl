/* SPDX-License-Identifier: MIT */

/* copy, and concat for each of its inputs: x, in the output's type. */

#include "backend/kernels/view.h"

KERNEL(copy)(ARGS(struct vrt_kernel_elements, e), OUTPUT(1, out), INPUT(2, x) WORK_ITEM)
{
    struct place p;

    PLACE_OF(&e.out, &p);
    if (p.exists)
        store_at(&e.out, out, &p, load_at(&e.in[0], x, &p));
}
