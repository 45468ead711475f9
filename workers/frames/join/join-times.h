/* SPDX-License-Identifier: MIT */
#pragma once

/* When the packets of streams that are copied are decoded and shown: what was right stays so. */

#include <libavformat/avformat.h>

#include "frames/join/join-streams.h"

/*
 * Gives the stream's next packet the output's times, `offset_us` taken off, and the output's index.
 * `muxer_flags` are the output format's.
 */
void vrt_join_retime(struct vrt_join_stream *stream, AVPacket *packet, int64_t offset_us,
                     int muxer_flags);
