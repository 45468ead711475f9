/* SPDX-License-Identifier: MIT */
#pragma once

/* What reading I3D and building it share. */

#include "model/fvd/i3d.h"
#include "model/parts/params.h"

#define VRT_I3D_MIXED 9
#define VRT_I3D_FEATURES 1024       /* of the last one */
#define VRT_I3D_IDENTITY 16         /* rows of the identity */

/*
 * Params: of each convolution its weight, then its bias, in the order of computation, those of a
 * mixed layer as below; the identity, by which maxima are made.
 */
struct vrt_i3d {
    struct vrt_params params;
};

/* Layers that put four convolutions of the same clip side by side. */
struct vrt_i3d_mixed {
    const char *name;
    int c_in;
    int channels[6];                /* b0, b1a, b1b, b2a, b2b, b3b */
};

extern const struct vrt_i3d_mixed vrt_i3d_mixed[VRT_I3D_MIXED];
