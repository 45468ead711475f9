/* SPDX-License-Identifier: MIT */
#pragma once

/* Draws two frames side by side, reduced, as a PNG. Pure. Thread: any. */

#include "base/buf.h"
#include "base/macro.h"

struct vrt_frame;

/* The longer side of a half. */
#define VRT_GLIMPSE_SIDE 640

/*
 * Appends the picture to `png`: `before` on the left and `after` on the right, each in the size of
 * `after`, or reduced to VRT_GLIMPSE_SIDE by averaging; what must be enlarged shows its pixels.
 * Colours are those of 8 bits of RGB by each frame's matrix; HDR isn't mapped, and transparency is
 * left out. Return: 0; -ENOMEM; -EIO: zlib failed.
 */
int vrt_glimpse_draw(const struct vrt_frame *before, const struct vrt_frame *after,
                     struct vrt_buf *png) VRT_MUST_CHECK;
