/* SPDX-License-Identifier: MIT */
#pragma once

/* Metadata on its way from the input to the output: what is true of both. For the joiner alone. */

#include <libavutil/dict.h>
#include <stdbool.h>

#include "frames/encode/container.h"

/*
 * Adds to *tags what of `from` still holds: not what describes the input as a file, its encoder
 * or, for a stream that is `reencoded`, its size and statistics. Return: 0; -ENOMEM.
 */
int vrt_tags_copy(AVDictionary **tags, const AVDictionary *from, bool reencoded);

/*
 * Whether FFmpeg's MP4 and MOV files have no place of their own for one of the `tags`, so that
 * they must be written by name.
 */
bool vrt_tags_need_names(const AVDictionary *tags);
