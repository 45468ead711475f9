/* SPDX-License-Identifier: MIT */

/* FFmpeg 7.1 and later. */

#include "frames/av.h"

const enum AVPixelFormat *vrt_av_encoder_pixfmts(const AVCodec *encoder)
{
    const void *list = NULL;

    if (avcodec_get_supported_config(NULL, encoder, AV_CODEC_CONFIG_PIX_FORMAT, 0, &list, NULL) < 0)
        return NULL;
    return list;
}
