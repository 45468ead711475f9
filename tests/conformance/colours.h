/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Colour, written another way than in the reference device: the forward matrix is inverted, and
 * chroma's weights come from one hat function over all samples.
 */

#include "tests/conformance/conformance.h"

#define CONF_COLOUR_CASES 648

struct conf_colour {
    struct vrt_op_colour op;
    struct vrt_shape rgb;           /* [D,H,W,3] */
    enum vrt_dtype dtype;           /* of the RGB side */
    enum conf_view rgb_view, plane_view;
};

/* Case `i`. */
struct conf_colour conf_colour_case(int i);

/* How many planes it has. */
int conf_colour_planes(const struct conf_colour *colour);

/* Plane `i` as a spec. */
struct conf_spec conf_colour_plane(const struct conf_colour *colour, int i);

/* rgb [D,H,W,3] of samples planes[i] [D,h,w,1]. */
void conf_colour_to_rgb(const struct conf_colour *colour, float *const *planes, double *rgb);

/* Samples, rounded and clamped, of rgb [D,H,W,3]. */
void conf_colour_to_planes(const struct conf_colour *colour, const float *rgb,
                           double *const *planes);
