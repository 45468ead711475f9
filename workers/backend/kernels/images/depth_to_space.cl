/* SPDX-License-Identifier: MIT */

/* depth_to_space: channels become i[0] x i[0] places, in the order that `mode` says; the base (if
 * there is one), enlarged by repeating samples, is added. */

#include "backend/kernels/view.h"

KERNEL(depth_to_space)(ARGS(struct vrt_kernel_elements, e), OUTPUT(1, out), INPUT(2, x),
                       INPUT(3, base) WORK_ITEM)
{
    struct place p;
    const ARG struct vrt_kernel_view *small = &e.in[1];
    const int r = e.i[0];

    PLACE_OF(&e.out, &p);
    if (!p.exists)
        return;
    const int i = p.h % r, j = p.w % r;
    const int c = e.mode == VRT_SHUFFLE_PIXELS ? (p.c * r + i) * r + j
                                               : (j * r + i) * e.out.c + p.c;
    float sum = load(x, e.in[0].dtype, view_at(&e.in[0], p.d, p.h / r, p.w / r) + c);
    if (small->c)
        sum += load(base, small->dtype,
                    view_at(small, p.d, p.h / (e.out.h / small->h), p.w / (e.out.w / small->w)) +
                        p.c);
    store_at(&e.out, out, &p, sum);
}
