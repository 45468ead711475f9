/* SPDX-License-Identifier: MIT */

/* rgb_to_yuv, one plane: an item makes one sample; "backend/op/colour.h" has the formulas. */

#include "backend/xpu/kernels/view.clh"

__kernel void rgb_to_yuv(struct vrt_xpu_plane e, __global char *plane, const __global char *rgb)
{
    const int w = (int)get_global_id(0), h = (int)get_global_id(1), d = (int)get_global_id(2);
    float sum[3] = { 0, 0, 0 };

    if (w >= e.plane.w)
        return;
    for (int i = 0; i < e.down.n; i++) {
        const int y = clamp((h << e.down.log2_r) + e.down.first + i, 0, e.rgb.h - 1);
        for (int k = 0; k < e.across.n; k++) {
            const int x = clamp((w << e.across.log2_r) + e.across.first + k, 0, e.rgb.w - 1);
            const float weight = e.down.weights[i] * e.across.weights[k];
            const long at = view_at(&e.rgb, d, y, x);
            for (int c = 0; c < 3; c++)
                sum[c] += load(rgb, e.rgb.dtype, at + c) * weight;
        }
    }
    const float x = sum[0] * e.line[0] + sum[1] * e.line[1] + sum[2] * e.line[2] + e.line[3];
    store(plane, e.plane.dtype, view_at(&e.plane, d, h, w),
          x >= e.max ? e.max : x > 0 ? rint(x) : 0);
}
