/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The EXIF block of a picture's file, as it stands there: a TIFF structure of its own, which is
 * carried from one format to another without being understood. For frames/ alone.
 *
 * FFmpeg's decoders tell of it in words, if at all, so the files are looked at here: JPEG, PNG and
 * WebP have it as a part of theirs. A TIFF file has it all over; of that the orientation is taken.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* What is longer no camera writes, and no JPEG holds. */
#define VRT_EXIF_BYTES_MAX (65533 - 6)

#define VRT_EXIF_UPRIGHT 1          /* the orientation of a picture that is shown as it is stored */

struct vrt_exif {
    struct vrt_buf block;           /* "II" or "MM" and so on; empty: there is none */
    bool is_part;                   /* more was there: see above, or too long */
};

/*
 * Looks for it in the regular file `fd`. What is broken counts as not there.
 * Return: 0, and `ret_exif` needs vrt_buf_done(&ret_exif->block); -ENOMEM.
 */
int vrt_exif_read(int fd, struct vrt_exif *ret_exif);

/* The orientation that a block of `size` bytes tells, 1 to 8; VRT_EXIF_UPRIGHT where it tells
 * none. */
int vrt_exif_orientation(const uint8_t *block, size_t size);
