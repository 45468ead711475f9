/* SPDX-License-Identifier: MIT */

/* affine: x times f[c], plus f[4 + c]. */

#include "backend/xpu/kernels/view.clh"

__kernel void affine(struct vrt_xpu_elements e, __global char *out, const __global char *x)
{
    struct place p;

    place_of(&e.out, &p);
    if (p.exists)
        store_at(&e.out, out, &p, load_at(&e.in[0], x, &p) * e.f[p.c] + e.f[4 + p.c]);
}
