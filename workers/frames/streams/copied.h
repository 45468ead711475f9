/* SPDX-License-Identifier: MIT */
#pragma once

/* A stream that goes on packet by packet, as a container takes it. For frames/ alone. */

#include <libavformat/avformat.h>
#include <stdbool.h>

/* Makes `out`, of `muxer`'s, as `in` is, but for what the container says in words of its own.
 * Return: 0; -ENOMEM. */
int vrt_copied_set(AVStream *out, const AVStream *in, const AVOutputFormat *muxer);

/*
 * Whether `muxer` takes such a stream: found out by a file's head that has it alone, in memory.
 * What muxers say that they hold some of them refuse then, and with it the whole file: FFmpeg's of
 * MOV refuses FLAC, Opus and TrueHD. Without memory for it: true.
 */
bool vrt_copied_fits(const AVStream *in, const AVOutputFormat *muxer);
