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

/* Where a bilinear warp looks that is sent to `at`, in a row (or column) of n: the way from there
 * to [-1,1] and back. */
static inline VRT_DEVICE float vrt_position_warped(float at, int n)
{
    if (n == 1)
        return at;
    const float last = (float)(n - 1), normal = 2 * at / last - 1;
    return (normal + 1) / 2 * last;
}
