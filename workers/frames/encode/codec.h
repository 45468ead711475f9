/* SPDX-License-Identifier: MIT */
#pragma once

/* From the codecs of base/codecs.h to FFmpeg's encoders. For frames/ alone. */

#include <libavcodec/avcodec.h>

#include "frames/encode/encoder-kinds.h"
#include "frames/encode/encoder.h"

/* FFmpeg's number of `codec`. */
enum AVCodecID vrt_codec_id(enum vrt_codec codec);

/* What encodes frames of `format`, of FFmpeg's encoders that this build has. */
struct vrt_codec_choice {
    const struct vrt_encoder_kind *kind;    /* static; NULL: there is none */
    const AVCodec *encoder;                 /* FFmpeg's own */
    enum AVPixelFormat pixfmt;              /* planes of ours, or what pack.h makes of them where it
                                             * has no planar one of that depth */
};

/* The encoder of `codec` by that hardware, if it takes frames of `format`. */
struct vrt_codec_choice vrt_codec_choose_hardware(enum vrt_hwaccel hwaccel, enum vrt_codec codec,
                                                  const struct vrt_frame_format *format);

/* The best encoder of `codec` that takes frames of `format`. */
struct vrt_codec_choice vrt_codec_choose(enum vrt_codec codec,
                                         const struct vrt_frame_format *format);
