/* SPDX-License-Identifier: MIT */
#pragma once

/* A stream of an input as people are told of it. For frames/ alone. */

#include <libavformat/avformat.h>

#include "base/streams.h"

/* What the stream is, and what becomes of it. Texts are as the file has them, printable, cut. */
void vrt_stream_info_fill(const AVStream *in, enum vrt_stream_fate fate,
                          struct vrt_stream_info *ret_info);
