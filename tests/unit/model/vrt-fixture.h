/* SPDX-License-Identifier: MIT */
#pragma once

/* VRT checkpoints of any size, right or nearly so. */

#include "tests/unit/model/model-fixture.h"
#include "tests/unit/model/vrt-sizes.h"

struct vrt_fixture {
    struct vrt_sizes sizes;
    uint64_t seed;                  /* of the weights; 0: all are zero */
    float flow_gain;                /* as in weight-rule.h */
    bool no_buffers;                /* as a stripped checkpoint */
    const char *left_out;           /* a tensor that is missing; NULL: none */
    const char *misshapen;          /* a tensor whose first dimension is one larger */
    const char *changed;            /* a buffer whose last value is another */
};

/* Adds its tensors. */
void fixture_add_vrt(struct fixture *f, const struct vrt_fixture *vrt);
