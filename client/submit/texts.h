/* SPDX-License-Identifier: MIT */
#pragma once

/* Options of vrtctl submit whose values are more than words and numbers. Pure. */

#include <stddef.h>

#include "base/error.h"

/* Takes the text of option `what` if it is one, and there is room for it. Return: 0; -EINVAL with
 * the sentence in `error`. */
int vrt_take_text(const char *text, const char *what, char *buffer, size_t size,
                  struct vrt_error *error);

/* "off", "on" or a threshold; NULL, which leaves *ret_threshold alone: as configured. Return:
 * likewise. */
int vrt_take_scene_cuts(const char *text, double *ret_threshold, struct vrt_error *error);
