/* SPDX-License-Identifier: MIT */
#pragma once

/* Makes the file of one picture, for the joiner alone. */

#include "frames/join/joiner.h"

/* As vrt_joiner_run(), where the container is a picture's. */
int vrt_join_still(const struct vrt_joiner_params *params, struct vrt_joiner_result *ret_result,
                   struct vrt_error *error) VRT_MUST_CHECK;
