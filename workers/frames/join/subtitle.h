/* SPDX-License-Identifier: MIT */
#pragma once

/* Text subtitles from one codec to another, one event at a time. For the joiner alone. */

#include <libavformat/avformat.h>

#include "base/cleanup.h"
#include "base/error.h"

struct vrt_subtitle;

/* Whether subtitles of `id` are text, so that vrt_subtitle_open() may convert them. */
bool vrt_subtitle_is_text(enum AVCodecID id);

/*
 * A conversion of the subtitles of `in` to `target`, whose parameters are left in `par`.
 * Return: 0; -ENOSYS: this FFmpeg lacks the decoder or the encoder; -ENOMEM.
 */
int vrt_subtitle_open(const AVStream *in, enum AVCodecID target, AVCodecParameters *par,
                      struct vrt_subtitle **ret_subtitle);

/*
 * Converts the event in `packet` in place, times kept.
 * Return: 1; 0: there is nothing to show, an empty or unreadable event is dropped; -ENOMEM.
 */
int vrt_subtitle_convert(struct vrt_subtitle *subtitle, AVPacket *packet);

/* Frees it. Return: NULL. */
struct vrt_subtitle *vrt_subtitle_close(struct vrt_subtitle *subtitle);

VRT_DEFINE_CLEANUP(struct vrt_subtitle, vrt_subtitle_close)
