/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The numbers behind yuv_to_rgb and rgb_to_yuv
 *
 * With E'R, E'G, E'B in [0,1], and Kr, Kb of the recommendation (BT.601: 0.299, 0.114; BT.709:
 * 0.2126, 0.0722; BT.2020: 0.2627, 0.0593; Kg = 1 - Kr - Kb):
 *
 *     E'Y = Kr E'R + Kg E'G + Kb E'B
 *     E'Cb = (E'B - E'Y) / (2 (1 - Kb))          E'Cr = (E'R - E'Y) / (2 (1 - Kr))
 *
 * and as samples of n bits (ITU-T H.273, 8.3):
 *
 *     limited range   Y = 2^(n-8) (219 E'Y + 16)         C = 2^(n-8) (224 E'C + 128)
 *     full range      Y = (2^n - 1) E'Y                  C = (2^n - 1) E'C + 2^(n-1)
 *
 * GBR planes are samples of E'G, E'B, E'R, and gray of E'Y, both as Y above. To samples: rounded to
 * nearest, then clamped to [0, 2^n - 1]; not to the nominal range, so that what lies beyond white
 * survives. To RGB: not clamped, for the same reason.
 *
 * Chroma planes stand over the picture so: with r = 2^shift along an axis, sample k is at luma
 * position r k where the site is cosited along it, at r k + (r - 1) / 2 where it is halfway. To
 * RGB, chroma is interpolated linearly along each axis between the two nearest samples, the edge
 * sample repeated. To samples, chroma sample k is a weighted mean, the picture's edge repeated:
 * cosited, of positions r k - (r - 1) .. r k + (r - 1) with weights 1, 2 .. r .. 2, 1 over r r;
 * halfway, of positions r k .. r k + r - 1 with equal weights.
 */

#include <stdbool.h>

#include "backend/op/op.h"

struct vrt_colour {
    double kr, kg, kb;
    double y_scale, y_offset;       /* sample = scale * value + offset */
    double c_scale, c_offset;
    double max;                     /* the largest sample, 2^n - 1 */
    bool cosited_x, cosited_y;
};

/* The numbers for `op`, which has passed vrt_op_check(). */
struct vrt_colour vrt_colour_of(const struct vrt_op_colour *op);

/* The same as coefficients in f32. */

/* R = y + rv v, G = y - gu u - gv v, B = y + bu u, with y = (Y - y_offset) * y_scale and u, v the
 * samples less c_offset. GBR and gray: y alone. */
struct vrt_colour_matrix {
    float y_scale, rv, gu, gv, bu;
    float y_offset, c_offset;
};

/* sample = r R + g G + b B + offset, before it is rounded and clamped */
struct vrt_colour_line {
    float r, g, b, offset;
};

#define VRT_COLOUR_MAX_TAPS 7       /* 2 r - 1, with r up to 4 */

/* The weights of luma positions r k + first, r k + first + 1, ... in chroma sample k. */
struct vrt_colour_filter {
    int first, n;
    float weights[VRT_COLOUR_MAX_TAPS];
};

/* To RGB. */
struct vrt_colour_matrix vrt_colour_matrix_of(const struct vrt_op_colour *op);

/* To plane i. */
struct vrt_colour_line vrt_colour_line_of(const struct vrt_op_colour *op, int i);

/* Along an axis with r luma samples to one of chroma, 1, 2 or 4. */
struct vrt_colour_filter vrt_colour_filter_of(int r, bool cosited);
