/* SPDX-License-Identifier: MIT */

/* FFmpeg 5.1 to 7.0. */

#include "frames/av.h"

const enum AVPixelFormat *vrt_av_encoder_pixfmts(const AVCodec *encoder)
{
    return encoder->pix_fmts;
}
