/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Where only a part of the input was restored: what of its other streams belongs to that
 *
 * The part's first picture becomes the moment 0. Where all was restored all belongs to it. For the
 * joiner alone.
 */

#include <stdbool.h>
#include <stdint.h>

#include "frames/join/join-streams.h"

/* By the input's clock. Zero-initialised: all of it. */
struct vrt_join_part {
    bool is_part;
    int64_t start_us, end_us;
};

/*
 * Whether the packet, with the input's times, belongs to the part. A line of text that begins
 * before is shortened; another stream of pictures begins with its first key frame.
 */
bool vrt_join_part_keeps(const struct vrt_join_part *part, struct vrt_join_stream *stream,
                         AVPacket *packet);

/*
 * Whether the packet goes into the output: it belongs to the part, and the container shows it. Text
 * is converted where it has to be.
 * Return: 1; 0; -ENOMEM.
 */
int vrt_join_part_take(const struct vrt_join_part *part, struct vrt_join_stream *stream,
                       AVPacket *packet);

/* Whether nothing that belongs to the part can follow the packet: all streams are past its end,
 * as far apart as they may be stored. */
bool vrt_join_part_is_over(const struct vrt_join_part *part, const struct vrt_join_stream *stream,
                           const AVPacket *packet);
