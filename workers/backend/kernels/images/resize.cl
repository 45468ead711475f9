/* SPDX-License-Identifier: MIT */

/* resize: samples repeated, or interpolated between four; `mode` says which and where. */

#include "backend/kernels/view.h"

#include "backend/op/position.h"

/* Of one row, between two columns. */
static float across(const ARG struct vrt_kernel_view *in, const GLOBAL char *x, struct place at,
                    float position)
{
    const int first = (int)position;
    const float weight = position - (float)first;

    at.w = first;
    const float a = load_at(in, x, &at);
    at.w = min(first + 1, in->w - 1);
    return (1 - weight) * a + weight * load_at(in, x, &at);
}

/* Of one row, between four columns. */
static float across_cubic(const ARG struct vrt_kernel_view *in, const GLOBAL char *x,
                          struct place at, struct vrt_cubic columns)
{
    float sum = 0;

    for (int i = 0; i < 4; i++) {
        at.w = clamp(columns.first + i, 0, in->w - 1);
        sum += columns.weights[i] * load_at(in, x, &at);
    }
    return sum;
}

KERNEL(resize)(ARGS(struct vrt_kernel_elements, e), OUTPUT(1, out), INPUT(2, x) WORK_ITEM)
{
    struct place p, at;
    const ARG struct vrt_kernel_view *in = &e.in[0];

    PLACE_OF(&e.out, &p);
    if (!p.exists)
        return;
    at = p;
    if (e.mode == VRT_RESIZE_NEAREST) {
        at.h = p.h * in->h / e.out.h;
        at.w = p.w * in->w / e.out.w;
        store_at(&e.out, out, &p, load_at(in, x, &at));
        return;
    }
    if (e.mode == VRT_RESIZE_BICUBIC) {
        const struct vrt_cubic rows = vrt_position_cubic(p.h, e.out.h, in->h);
        const struct vrt_cubic columns = vrt_position_cubic(p.w, e.out.w, in->w);
        float sum = 0;

        for (int j = 0; j < 4; j++) {
            at.h = clamp(rows.first + j, 0, in->h - 1);
            sum += rows.weights[j] * across_cubic(in, x, at, columns);
        }
        store_at(&e.out, out, &p, sum);
        return;
    }
    const enum vrt_resize_mode mode = (enum vrt_resize_mode)e.mode;
    const float row = vrt_position_resized(mode, p.h, e.out.h, in->h);
    const float column = vrt_position_resized(mode, p.w, e.out.w, in->w);
    const float weight = row - (float)(int)row;
    at.h = (int)row;
    const float above = across(in, x, at, column);
    at.h = min(at.h + 1, in->h - 1);
    store_at(&e.out, out, &p, (1 - weight) * above + weight * across(in, x, at, column));
}
