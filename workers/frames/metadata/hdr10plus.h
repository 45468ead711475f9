/* SPDX-License-Identifier: MIT */
#pragma once

/* HDR10+ as it stands in a stream, made of what a decoder found there. For frames/ alone. */

#include <libavutil/hdr_dynamic_metadata.h>

#include "frames/frame.h"

/*
 * Writes the message of SMPTE ST 2094-40, as ITU-T T.35 has it, to `extra`. Return: whether there
 * was one that can be kept: of several windows none is, whose places are those of the input.
 */
bool vrt_hdr10plus_write(const AVDynamicHDRPlus *found, struct vrt_frame_extra *extra);
