/* SPDX-License-Identifier: MIT */
#pragma once

/* Puts EXIF and a colour profile into the file of a picture that an encoder made without them. For
 * frames/ alone. */

#include <stdint.h>

#include "base/buf.h"
#include "base/codecs.h"

/* Bytes that are others'; size 0: there are none. */
struct vrt_still_part {
    const uint8_t *data;
    size_t size;
};

struct vrt_still_parts {
    struct vrt_still_part picture;      /* the file as FFmpeg's encoder makes it */
    struct vrt_still_part exif;         /* see exif.h */
    struct vrt_still_part icc;          /* a colour profile, as ICC.1 has it */
    int width, height;                  /* of the picture */
};

/*
 * Appends the whole file to `out`. Of EXIF a TIFF file takes the orientation alone.
 * Return: 0; -EMSGSIZE: the format has no room for so much; -EBADMSG: the picture isn't of this
 * format; -ENOMEM.
 */
int vrt_still_embed(enum vrt_container container, const struct vrt_still_parts *parts,
                    struct vrt_buf *out);

/* The same of .tiff, whose first list of entries is written anew, behind all else. */
int vrt_still_embed_tiff(const struct vrt_still_parts *parts, struct vrt_buf *out);
