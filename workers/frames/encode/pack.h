/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Planes of ours as encoders want them that don't take them: component by component, in one plane,
 * in whatever byte order, or as floats from 0 to 1. For frames/ alone.
 */

#include <libavutil/frame.h>

/*
 * A copy of `frame` in `pixfmt`, which has the same components in the same depth, in whatever
 * places, or those of 16 bits as floats of 32. Alpha comes from `alpha` (gray, of the same size and
 * depth); NULL: from the frame, and where that has none everything is opaque.
 * Return: 0; -EINVAL: the formats don't have the same components; -ENOMEM.
 */
int vrt_pack(const AVFrame *frame, const AVFrame *alpha, enum AVPixelFormat pixfmt,
             AVFrame **ret_packed);

/* Puts such a copy in the place of *frame, which is freed. Return: as above, and on failure *frame
 * stays. */
int vrt_pack_replace(AVFrame **frame, const AVFrame *alpha, enum AVPixelFormat pixfmt);
