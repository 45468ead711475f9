/* SPDX-License-Identifier: MIT */

#include "model/carrier/onnx/layout.h"

#include <string.h>

void vrt_layout_add(struct vrt_layout *layout, enum vrt_axis_kind kind, int64_t size, int64_t step)
{
    struct vrt_axis *last = layout->n > 0 ? &layout->axes[layout->n - 1] : NULL;

    if (size == 1)
        return;
    if (last && last->kind == kind && last->step == step * size) {
        last->size *= size;
        last->step = step;
    } else if (layout->n < VRT_LAYOUT_AXES_MAX) {
        layout->axes[layout->n++] = (struct vrt_axis){ kind, size, step };
    }
}

struct vrt_layout vrt_layout_join(const struct vrt_layout *a, const struct vrt_layout *b)
{
    struct vrt_layout joined = { 0 };

    for (int i = 0; i < a->n; i++)
        vrt_layout_add(&joined, a->axes[i].kind, a->axes[i].size, a->axes[i].step);
    for (int i = 0; i < b->n; i++)
        vrt_layout_add(&joined, b->axes[i].kind, b->axes[i].size, b->axes[i].step);
    return joined;
}

bool vrt_layout_fit(struct vrt_layout *layout, const int64_t *dims, int n_dims)
{
    const struct vrt_layout whole = vrt_layout_join(layout, &(struct vrt_layout){ 0 });
    struct vrt_layout made = { 0 };
    struct vrt_axis rest = { 0 };
    int next = 0;

    for (int d = 0; d < n_dims; d++)
        for (int64_t left = dims[d]; left > 1; ) {
            if (rest.size <= 1) {
                if (next == whole.n)
                    return false;
                rest = whole.axes[next++];
            }
            const int64_t taken = rest.size < left ? rest.size : left;
            if (left % taken != 0 || rest.size % taken != 0 || made.n == VRT_LAYOUT_AXES_MAX)
                return false;
            rest.size /= taken;
            made.axes[made.n++] = (struct vrt_axis){ rest.kind, taken, rest.step * rest.size };
            left /= taken;
        }
    if (next < whole.n || rest.size > 1)
        return false;
    *layout = made;
    return true;
}

struct vrt_layout vrt_layout_of(const struct vrt_layout *layout, const int64_t *dims, int d)
{
    struct vrt_layout of = { 0 };
    int next = 0;

    for (int k = 0; k <= d; k++)
        for (int64_t left = dims[k]; left > 1 && next < layout->n; next++) {
            left /= layout->axes[next].size;
            if (k == d)
                of.axes[of.n++] = layout->axes[next];
        }
    return of;
}

bool vrt_layout_same(const struct vrt_layout *a, const struct vrt_layout *b)
{
    const struct vrt_layout none = { 0 };
    const struct vrt_layout of_a = vrt_layout_join(a, &none), of_b = vrt_layout_join(b, &none);

    for (int i = 0; i < of_a.n && i < of_b.n; i++)
        if (of_a.axes[i].kind != of_b.axes[i].kind || of_a.axes[i].size != of_b.axes[i].size ||
            of_a.axes[i].step != of_b.axes[i].step)
            return false;
    return of_a.n == of_b.n;
}
