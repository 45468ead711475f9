/* SPDX-License-Identifier: MIT */
#pragma once

/* What a user tells FFmpeg's encoder in its own words. For frames/ alone. */

#include <libavcodec/avcodec.h>
#include <libavutil/dict.h>

#include "base/error.h"

/*
 * Adds the options of `text`, "key=value key=value", to those for opening `codec`. Those of them
 * that would make other bytes each time, or segments that can't be joined, are refused.
 * Return: 0; -EINVAL: `error` names the option; -ENOMEM.
 */
int vrt_encoder_options_add(const char *text, AVCodecContext *codec, AVDictionary **options,
                            struct vrt_error *error);
