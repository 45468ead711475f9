/* SPDX-License-Identifier: MIT */

/* rgb_to_yuv, one plane: an item makes one sample; "backend/op/colour.h" has the formulas. */

#include "backend/kernels/view.h"

KERNEL(rgb_to_yuv)(ARGS(struct vrt_kernel_plane, e), OUTPUT(1, plane), INPUT(2, rgb) WORK_ITEM)
{
    const int w = GLOBAL_ID(0), h = GLOBAL_ID(1), d = GLOBAL_ID(2);
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
    store(plane, e.plane.dtype, view_at(&e.plane, d, h, w), whole(x, e.max));
}
