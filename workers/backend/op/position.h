/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Where ops sample between places: in f32, by PyTorch's own steps
 *
 * Networks were trained with these positions, whose rounding grows with the size of the picture.
 * Better ones would be no improvement: a flow that comes out a little different decides which
 * pixel is taken, and features of unlike neighbours change with every part of a pixel.
 */

#include <stdbool.h>

#include "backend/op/enums.h"
#include "base/macro.h"

/* Between which of n samples of a row (or column) a bilinear resize to m takes place i from, in
 * [0, n-1]. */
static inline VRT_DEVICE float vrt_position_resized(enum vrt_resize_mode mode, int i, int m,
                                                    int n)
{
    const bool corners = mode == VRT_RESIZE_BILINEAR_CORNERS;
    const float scale = !corners ? (float)n / (float)m :
                        m > 1 ? (float)(n - 1) / (float)(m - 1) : 0;
    const float at = corners ? scale * (float)i : VRT_PRODUCT(scale, (float)i + 0.5f) - 0.5f;

    return VRT_MIN(VRT_MAX(at, 0), (float)(n - 1));
}

/* From which four of n samples in a row (or column) a bicubic resize to m makes one: those from
 * `first` on, where what is outside is the edge. */
struct vrt_cubic {
    int first;
    float weights[4];
};

/* Keys 1981, "Cubic convolution interpolation for digital image processing", with a = -1/2. */
static inline VRT_DEVICE struct vrt_cubic vrt_position_cubic(int i, int m, int n)
{
    const float at = VRT_PRODUCT((float)n / (float)m, (float)i + 0.5f) - 0.5f;
    struct vrt_cubic cubic;

    /* No position is below -1/2. */
    cubic.first = (int)(at + 1) - 2;
    const float t = at - (float)(cubic.first + 1);
    cubic.weights[0] = ((1 - t * 0.5f) * t - 0.5f) * t;
    cubic.weights[1] = (1.5f * t - 2.5f) * t * t + 1;
    cubic.weights[2] = ((2 - 1.5f * t) * t + 0.5f) * t;
    cubic.weights[3] = (t - 1) * 0.5f * t * t;
    return cubic;
}

/* Where a bilinear warp looks that is sent to `at`, in a row (or column) of n: the way from there
 * to [-1,1] and back. */
static inline VRT_DEVICE float vrt_position_warped(float at, int n)
{
    if (n == 1)
        return at;
    const float last = (float)(n - 1), normal = 2 * at / last - 1;
    return (normal + 1) / 2 * last;
}
