/* SPDX-License-Identifier: MIT */
#pragma once

/* What differs between the codecs that we write. For frames/ alone. */

#include <libavcodec/avcodec.h>
#include <libavutil/dict.h>

#include "frames/encode/encoder.h"

struct vrt_codec_traits {
    enum AVCodecID id;
    const char *encoder;            /* FFmpeg's */
    int max_side;                   /* in pixels, that the encoder takes */
    bool yuv_only;                  /* RGB and gray are converted for the sake of the players */
    bool even_only;                 /* sides must be multiples of the chroma's step */
    const char *deeper;             /* what to use where its depth does not suffice */
    /* Adds the encoder's private options. Return: 0; a negative AVERROR. */
    int (*set_options)(const struct vrt_encoder_params *params, int quality,
                       AVDictionary **options);
};

/* The traits of `codec`; static. */
const struct vrt_codec_traits *vrt_codec_traits(enum vrt_codec codec);

/*
 * The pixel format in which FFmpeg's encoder of `codec` takes frames of `format`: planes of ours,
 * or AV_PIX_FMT_BGR0 where it has no planar one of that depth. AV_PIX_FMT_NONE: it takes none.
 */
enum AVPixelFormat vrt_codec_pixfmt(enum vrt_codec codec, const struct vrt_frame_format *format);
