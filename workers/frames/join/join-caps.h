/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * How much of what isn't picture or sound is carried over: far more than any film has, and so much
 * less than keeps a muxer busy for hours. For frames/ alone.
 */

#include <stdbool.h>

#include "frames/join/join-streams.h"

/* Takes what is too much of chapters and tags out of what was read of the input, and names it in
 * `warnings`, once. */
void vrt_join_caps_trim(struct vrt_source *source, struct vrt_warnings *warnings);

/* Counts the attached file, or picture, that the stream may be. Return: whether it is carried over;
 * else it is named. */
bool vrt_join_caps_attaches(const struct vrt_join_stream *stream, int64_t *attached_bytes,
                            struct vrt_warnings *warnings);

/* Counts the line of text, or picture of it. Return: whether it is carried over. */
bool vrt_join_caps_shows(struct vrt_join_stream *stream, const AVPacket *packet);

/* Names what vrt_join_caps_shows() left out. */
void vrt_join_caps_warn(const struct vrt_join_stream *stream, struct vrt_warnings *warnings);
