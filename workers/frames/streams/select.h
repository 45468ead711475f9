/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Which streams of an input go on, as was asked for by FFmpeg's stream specifiers. For frames/
 * alone.
 *
 * "v:1,a:m:language:eng,-s" is a list of them: each adds the streams that it matches, or takes them
 * out again where it begins with "-". A list that begins by taking out begins with all streams. One
 * that ends in "?" may match nothing.
 */

#include <libavformat/avformat.h>
#include <stdbool.h>

#include "base/error.h"

/* No specifier chose the stream. */
#define VRT_SELECT_NONE (-1)

/*
 * Sets the `n` values of `ranks`, one for each stream, to the number of the specifier that chose
 * the stream, from 0, or VRT_SELECT_NONE. An empty list chooses all. `name` is the file's, for
 * sentences.
 * Return: 0; -EINVAL, -ENOENT with a sentence: a specifier isn't one, or matches nothing; -ENOMEM.
 */
int vrt_select(AVFormatContext *format, const char *specifiers, const char *name, int *ranks,
               struct vrt_error *error) VRT_MUST_CHECK;

/* Writes what the streams are to `text`, for a sentence: "0 video h264, 1 audio aac (eng)". Return:
 * text. */
const char *vrt_select_list(const AVFormatContext *format, char *text, size_t size);
