/* SPDX-License-Identifier: MIT */

/* yuv_to_rgb: an item makes one pixel; "backend/op/colour.h" has the formulas. */

#include "backend/kernels/view.h"

/* Between which two samples of chroma a luma position lies, and how near the second. */
struct between {
    int first, second;
    float weight;
};

static void find(int i, int log2_r, bool cosited, int n, PRIVATE struct between *ret_between)
{
    /* In units of half a luma sample, 2 r of which make one of chroma. */
    const int units = 2 << log2_r, at = 2 * i - (cosited ? 0 : units / 2 - 1);
    const int first = at >> (log2_r + 1);

    ret_between->first = clamp(first, 0, n - 1);
    ret_between->second = clamp(first + 1, 0, n - 1);
    ret_between->weight = (float)(at - first * units) / (float)units;
}

static float across(const ARG struct vrt_kernel_view *v, const GLOBAL char *plane, int d, int y,
                    const PRIVATE struct between *x)
{
    const float a = load(plane, v->dtype, view_at(v, d, y, x->first));
    const float b = load(plane, v->dtype, view_at(v, d, y, x->second));

    return a + (b - a) * x->weight;
}

static float chroma(const ARG struct vrt_kernel_view *v, const GLOBAL char *plane, int d,
                    const PRIVATE struct between *y, const PRIVATE struct between *x)
{
    const float a = across(v, plane, d, y->first, x), b = across(v, plane, d, y->second, x);

    return a + (b - a) * y->weight;
}

KERNEL(yuv_to_rgb)(ARGS(struct vrt_kernel_colour, e), OUTPUT(1, out), INPUT(2, plane0),
                   INPUT(3, plane1), INPUT(4, plane2) WORK_ITEM)
{
    const int w = GLOBAL_ID(0), h = GLOBAL_ID(1), d = GLOBAL_ID(2);
    float rgb[3];

    if (w >= e.rgb.w)
        return;
    const float first = (load(plane0, e.planes[0].dtype, view_at(&e.planes[0], d, h, w)) -
                         e.y_offset) * e.y_scale;
    if (e.layout == VRT_PLANES_GBR) {
        rgb[1] = first;
        rgb[2] = (load(plane1, e.planes[1].dtype, view_at(&e.planes[1], d, h, w)) -
                  e.y_offset) * e.y_scale;
        rgb[0] = (load(plane2, e.planes[2].dtype, view_at(&e.planes[2], d, h, w)) -
                  e.y_offset) * e.y_scale;
    } else if (e.layout == VRT_PLANES_YUV) {
        struct between x, y;
        find(h, e.shift_y, e.cosited_y, e.planes[1].h, &y);
        find(w, e.shift_x, e.cosited_x, e.planes[1].w, &x);
        const float u = chroma(&e.planes[1], plane1, d, &y, &x) - e.c_offset;
        const float v = chroma(&e.planes[2], plane2, d, &y, &x) - e.c_offset;
        rgb[0] = first + e.matrix[0] * v;
        rgb[1] = first - e.matrix[1] * u - e.matrix[2] * v;
        rgb[2] = first + e.matrix[3] * u;
    } else {
        rgb[0] = rgb[1] = rgb[2] = first;
    }
    for (int c = 0; c < 3; c++)
        store(out, e.rgb.dtype, view_at(&e.rgb, d, h, w) + c, rgb[c]);
}
