/* SPDX-License-Identifier: MIT */
#pragma once

/* Makes the file of an animation, for the joiner alone. */

#include "frames/join/joiner.h"

/* As vrt_joiner_run(), where the container is an animation's. */
int vrt_join_animation(const struct vrt_joiner_params *params, struct vrt_joiner_result *ret_result,
                       struct vrt_error *error) VRT_MUST_CHECK;
