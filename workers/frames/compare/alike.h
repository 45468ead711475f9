/* SPDX-License-Identifier: MIT */
#pragma once

/* Whether frame n of one video can be compared with frame n of another. Pure. */

#include <stdbool.h>

#include "base/error.h"
#include "frames/format.h"

struct vrt_compare_side {
    const char *name;                   /* for sentences, printable */
    int width, height;
    struct vrt_rational fps;            /* average; 0/1: unknown */
    bool variable_rate;
};

/* `crop`: pixels at each edge that don't count. Return: 0; -EINVAL with a sentence. */
int vrt_compare_check_alike(const struct vrt_compare_side sides[2], int crop,
                            struct vrt_error *error) VRT_MUST_CHECK;
