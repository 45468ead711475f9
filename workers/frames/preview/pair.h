/* SPDX-License-Identifier: MIT */
#pragma once

/* Two frames side by side in one PNG, for eyes: the first is enlarged to the size of the second. */

#include "base/error.h"
#include "frames/frame.h"

/* A side of either half; larger frames are reduced. */
#define VRT_PAIR_SIDE_MAX 4096

struct vrt_pair_size {
    int width, height;              /* of the whole picture, pixels */
};

/*
 * Writes the picture to `fd`, from its beginning; what was in it goes. Colours are those of 8 bits
 * of RGB by each frame's matrix; HDR isn't mapped. Thread: any.
 * Return: 0; -ENOTSUP, -ENOSPC, -ENOMEM, -errno with the sentence in `error`.
 */
int vrt_pair_write(int fd, struct vrt_frame *before, struct vrt_frame *after,
                   struct vrt_pair_size *ret_size, struct vrt_error *error) VRT_MUST_CHECK;
