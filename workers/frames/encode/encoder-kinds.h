/* SPDX-License-Identifier: MIT */
#pragma once

/* The encoders of FFmpeg's that are used, and what each is told. For frames/ alone. */

#include <libavcodec/avcodec.h>
#include <libavutil/dict.h>

#include "frames/encode/encoder.h"

/* Filled by an encoder's kind. */
struct vrt_encoder_told {
    AVCodecContext *codec;          /* the caller's */
    AVDictionary *options;          /* the caller frees it */
    int r;                          /* a negative AVERROR: there was no memory for all of them */
};

struct vrt_encoder_kind {
    const char *name;               /* FFmpeg's */
    int min_side;                   /* in pixels */
    bool even_only;                 /* sides must be multiples of the chroma's step */
    bool needs_frame;               /* it can't be freed before it was sent one */
    bool late_extradata;            /* which comes with its first packet */
    bool takes_surfaces;            /* of a device, and no frames of the host's */
    /* The level in the head, which follows from the bitrate; NULL: none does. */
    int (*level_of)(const uint8_t *head, int size);
    /* Sets the context, and notes the encoder's own options. */
    void (*set_options)(const struct vrt_encoder_params *params, int quality,
                        struct vrt_encoder_told *told);
};

/* The encoder of this name; static. NULL: it isn't one of those. */
const struct vrt_encoder_kind *vrt_encoder_kind_find(const char *name);
