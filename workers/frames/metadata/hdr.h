/* SPDX-License-Identifier: MIT */
#pragma once

/* HDR's metadata as FFmpeg has them, and as we do. For frames/ alone. */

#include <libavformat/avformat.h>

#include "frames/format.h"

/*
 * What the container says of the video, and of what it doesn't, what its frame does: as of the
 * aspect ratio, who has corrected the one is believed. Numbers that can't be are taken for unknown.
 */
void vrt_hdr_read(const AVStream *stream, const AVFrame *frame, struct vrt_hdr *ret_hdr);

/* Has the stream say what is known, in the container's way. Return: 0; -ENOMEM. */
int vrt_hdr_write(const struct vrt_hdr *hdr, AVStream *stream);
