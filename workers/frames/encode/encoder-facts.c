/* SPDX-License-Identifier: MIT */

/*
 * What is known of encoders without one: their names, their presets, and how large a frame
 * becomes, by experience: 40 frames each of three natural videos (a bird, a
 * phone's film of a street, MPEG-2 of a city), at 960 pixels a row, as they were and enlarged to
 * that. Each needs between 0.3 and 2.5 times the estimate. libx264, bits per pixel:
 *
 *     crf 12: 0.33 to 0.83    crf 18: 0.11 to 0.34    crf 24: 0.04 to 0.12
 *
 * libx265 at crf 20: 0.04 to 0.27; FFV1: 1.0 to 2.9 bits per sample of 8 bits, and 1.1 more for
 * two bits of depth more.
 */

#include "frames/encode/encoder.h"

#include <math.h>
#include <string.h>

#include "base/macro.h"

/* A quality lower by so much makes it half as large. */
#define QUALITY_HALVES 4.65

static const char *const presets[] = {
    "ultrafast", "superfast", "veryfast", "faster", "fast",
    "medium", "slow", "slower", "veryslow", "placebo",
};

static const struct {
    const char *title;              /* for people */
    int quality;                    /* where nobody chooses one; 0: there is none to choose */
} codecs[VRT_CODEC_COUNT] = {
    [VRT_CODEC_H264] = { "H.264", 17 },
    [VRT_CODEC_HEVC] = { "HEVC", 19 },
    [VRT_CODEC_FFV1] = { "FFV1", 0 },
};

static const struct {
    double bits;                    /* per pixel at `quality`; lossless: per sample of 8 bits */
    int quality;
    double bits_per_depth;          /* lossless: more, for each bit of a sample */
} sizes[VRT_CODEC_COUNT] = {
    [VRT_CODEC_H264] = { 0.19, 18, 0 },
    [VRT_CODEC_HEVC] = { 0.113, 20, 0 },
    [VRT_CODEC_FFV1] = { 1.58, 0, 0.56 },
};

const char *vrt_codec_title(enum vrt_codec codec)
{
    vrt_assert((unsigned int)codec < VRT_CODEC_COUNT);
    return codecs[codec].title;
}

int vrt_codec_quality(enum vrt_codec codec)
{
    vrt_assert((unsigned int)codec < VRT_CODEC_COUNT);
    return codecs[codec].quality;
}

bool vrt_encoder_has_preset(const char *preset)
{
    for (size_t i = 0; i < VRT_ARRAY_SIZE(presets); i++)
        if (strcmp(presets[i], preset) == 0)
            return true;
    return false;
}

double vrt_encoder_frame_bytes(const struct vrt_encoder_params *params)
{
    const struct vrt_frame_format *format = &params->format;
    double pixels = (double)format->width * format->height;
    double samples = (double)vrt_frame_format_size_bytes(format) /
                     vrt_frame_format_sample_bytes(format);
    double bits = sizes[params->codec].bits;
    int quality = params->quality;

    if (sizes[params->codec].bits_per_depth > 0)
        return samples * (bits + sizes[params->codec].bits_per_depth * (format->depth - 8)) / 8;
    if (quality == VRT_UNKNOWN)
        quality = vrt_codec_quality(params->codec);
    return pixels * bits * exp2((sizes[params->codec].quality - quality) / QUALITY_HALVES) / 8;
}
