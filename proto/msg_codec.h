/* SPDX-License-Identifier: MIT */
#pragma once

/* GET /v1/codecs: what results can be written as by the daemon's FFmpeg */

#include "api.h"
#include "fields.h"

/* Texts of a codec, at most. */
#define VRT_API_CODEC_TEXTS_MAX 64

/* What encodes or decodes a codec by hardware, as it was tried with a few frames. */
struct vrt_codec_hardware {
    int how;                                    /* "hwaccel", enum vrt_hwaccel, of what encodes;
                                                 * "hwdec", enum vrt_hwdec, of what decodes */
    char encoder[VRT_API_WORD_BYTES];           /* FFmpeg's; of what decodes nothing */
    bool works;
    char reason[VRT_API_TEXT_BYTES];            /* why it doesn't; "": it does */
};

struct vrt_codec_report {
    char name[VRT_API_WORD_BYTES];              /* of a job's request */
    char title[VRT_API_WORD_BYTES];             /* for people */
    bool available;                             /* FFmpeg has an encoder for it, */
    char problem[VRT_API_TEXT_BYTES];           /* which doesn't start, why; "": it does */
    char (*encoders)[VRT_API_WORD_BYTES];       /* FFmpeg's that it has, the best first */
    size_t n_encoders;
    char (*containers)[VRT_API_WORD_BYTES];     /* that hold it: endings without their dot */
    size_t n_containers;
    char (*pixel_formats)[VRT_API_WORD_BYTES];  /* that the encoders take, FFmpeg's names */
    size_t n_pixel_formats;
    char quality[VRT_API_WORD_BYTES];           /* what its numbers are called; "": it has none */
    int64_t quality_best, quality_worst, quality_default;   /* VRT_UNKNOWN: likewise */
    bool has_presets, has_bitrate;
    struct vrt_codec_hardware *hardware;        /* that there is for it, the first choice first */
    size_t n_hardware;
    struct vrt_codec_hardware *hardware_decoders;   /* likewise */
    size_t n_hardware_decoders;
};

extern const struct vrt_field vrt_codec_fields[];
