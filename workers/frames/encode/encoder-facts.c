/* SPDX-License-Identifier: MIT */

/*
 * How large a frame becomes, by experience: 40 frames each of three natural videos (a bird, a
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

static const struct {
    double bits;                    /* per pixel at `quality`; without one: per sample of 8 bits */
    int quality;
    double bits_per_depth;          /* without a quality: more, for each bit of a sample */
    double halves;                  /* a quality worse by so much makes it half as large */
} sizes[VRT_CODEC_COUNT] = {
    [VRT_CODEC_H264] = { 0.19, 18, 0, 4.65 },
    [VRT_CODEC_HEVC] = { 0.113, 20, 0, 4.65 },
    [VRT_CODEC_FFV1] = { 1.58, 0, 0.56, 0 },
    [VRT_CODEC_AV1] = { 0.11, 24, 0, 7 },
    [VRT_CODEC_VP9] = { 0.13, 24, 0, 7 },
    [VRT_CODEC_PRORES] = { 1.9, 0, 0, 0 },
    [VRT_CODEC_DNXHR] = { 1.9, 0, 0, 0 },
    [VRT_CODEC_MJPEG] = { 2.0, 2, 0, 3 },
    [VRT_CODEC_PNG] = { 4.2, 0, 0.95, 0 },
    [VRT_CODEC_JPEG] = { 2.0, 2, 0, 3 },
    [VRT_CODEC_TIFF] = { 6, 0, 1, 0 },
    [VRT_CODEC_WEBP] = { 1.4, 8, 0, 12 },
    [VRT_CODEC_EXR] = { 4, 0, 1, 0 },
};

double vrt_encoder_frame_bytes(const struct vrt_encoder_params *params)
{
    const struct vrt_frame_format *format = &params->format;
    double pixels = (double)format->width * format->height;
    double samples = (double)vrt_frame_format_size_bytes(format) /
                     vrt_frame_format_sample_bytes(format);
    double bits = sizes[params->codec].bits;
    int quality = params->quality;

    if (!vrt_codec_facts(params->codec)->quality_name)
        return samples * (bits + sizes[params->codec].bits_per_depth * (format->depth - 8)) / 8;
    if (quality == VRT_UNKNOWN)
        quality = vrt_codec_facts(params->codec)->quality;
    return pixels * bits *
           exp2((sizes[params->codec].quality - quality) / sizes[params->codec].halves) / 8;
}
