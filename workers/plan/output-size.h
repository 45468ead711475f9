/* SPDX-License-Identifier: MIT */
#pragma once

/* How large a result becomes: by the network, or as was asked for, of whatever the network makes.
 * Unit: pixels. Pure. */

#include "base/error.h"
#include "frames/format.h"
#include "frames/warnings.h"

/* Of each side of what is encoded: what encoders and frames can hold. */
#define VRT_OUTPUT_SIDE_MIN 16
#define VRT_OUTPUT_SIDE_MAX 16384

/*
 * Gives `format`, which is the input's, the size of the result, and pixels of another shape where
 * it has another than the picture. `scale`: as of vrt_scale_parse(), "": `times` the input's.
 * Return: 0; -EINVAL with a sentence.
 */
int vrt_output_size_choose(const char *scale, int times, struct vrt_frame_format *format,
                           struct vrt_warnings *warnings, struct vrt_error *error);

/* What devices make for a result of format `out`: that, `times` as large as the input. */
struct vrt_frame_format vrt_output_made(const struct vrt_frame_format *input, int times,
                                        const struct vrt_frame_format *out);
