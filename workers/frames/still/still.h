/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The file of a restored picture: as its encoder made it, and with what else the picture's file
 * that it was made of has, transparency, colour profile and EXIF. Its pixels stay as they are
 * stored, and so does what EXIF says of how to turn them. For frames/ alone.
 */

#include <libavcodec/packet.h>

#include "base/buf.h"
#include "base/error.h"
#include "frames/decode/source.h"
#include "frames/encode/container.h"
#include "frames/warnings.h"

struct vrt_still_params {
    const AVPacket *packet;                 /* the picture, encoded */
    enum vrt_container container;           /* its kind */
    const struct vrt_frame_format *format;  /* its own */
    struct vrt_source_params original;      /* the file of the picture that was restored; fd -1:
                                             * it was none */
};

/*
 * Appends the file to `out`, and says what could not be kept.
 * Return: 0; -errno with the sentence in `error`: as the reader's for the original; -ENOMEM.
 */
int vrt_still_make(const struct vrt_still_params *params, struct vrt_buf *out,
                   struct vrt_warnings *warnings, struct vrt_error *error) VRT_MUST_CHECK;
