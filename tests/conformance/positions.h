/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Positions between pixels, for ops that sample at them
 *
 * All are multiples of 1/16 and not large, so exact in f32 whoever adds them up in which order:
 * none stands so near a whole number that two correct devices could round it apart.
 */

#include "tests/conformance/conformance.h"

enum conf_reach {
    CONF_REACH_NEAR,            /* within two pixels */
    CONF_REACH_FAR,             /* up to far outside of the picture */
    CONF_REACH_WHOLE,           /* whole pixels, near */
    CONF_REACH_WILD,            /* near, but one in eight is huge, infinite or no number */
    CONF_REACH_COUNT,
};

/* A displacement for a picture with a side of `n` pixels. */
float conf_displacement(struct conf *t, enum conf_reach reach, int n);

struct conf_picture {
    const float *x;             /* [D,H,W,C] */
    struct vrt_shape shape;
};

/* Channel c of frame d at row y, column x, bilinearly, zeros outside; what is no number is outside,
 * too. */
double conf_sample(const struct conf_picture *picture, const double at[3], int c);
