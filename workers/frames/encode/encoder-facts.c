/* SPDX-License-Identifier: MIT */

/*
 * How large a frame becomes, by experience: 40 frames each of three natural videos (a bird, a
 * phone's film of a street, MPEG-2 of a city), at 960 pixels a row, as they were and enlarged to
 * that. Each needs between 0.3 and 3.2 times the estimate. libx264, bits per pixel:
 *
 *     crf 12: 0.33 to 0.83    crf 18: 0.11 to 0.34    crf 24: 0.04 to 0.12
 *
 * libx265 at crf 20: 0.04 to 0.27; FFV1: 1.0 to 2.9 bits per sample of 8 bits, and 1.1 more for
 * two bits of depth more. Of 24 frames each at 960 pixels a row: SVT-AV1 at crf 22: 0.03 to 0.37,
 * libvpx at crf 22: 0.07 to 0.65, a third of that at crf 36; MJPEG at qscale 2: 0.5 to 2.4, half of
 * that at 8; per sample ProRes 1.8 to 2.4, DNxHR 1.8 in 4:2:2 and 2.4 in 4:4:4, whatever is shown.
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
    [VRT_CODEC_AV1] = { 0.12, 22, 0, 9 },
    [VRT_CODEC_VP9] = { 0.21, 22, 0, 9 },
    [VRT_CODEC_PRORES] = { 2.1, 0, 0, 0 },
    [VRT_CODEC_DNXHR] = { 1.9, 0, 0, 0 },
    [VRT_CODEC_MJPEG] = { 2.0, 2, 0, 3 },
    [VRT_CODEC_PNG] = { 4.2, 0, 0.95, 0 },
    [VRT_CODEC_JPEG] = { 2.0, 2, 0, 3 },
    [VRT_CODEC_TIFF] = { 6, 0, 1, 0 },
    [VRT_CODEC_WEBP] = { 1.4, 8, 0, 12 },
    [VRT_CODEC_EXR] = { 4, 0, 1, 0 },
    [VRT_CODEC_GIF] = { 4.2, 0, 0.95, 0 },
    [VRT_CODEC_APNG] = { 4.2, 0, 0.95, 0 },
};

double vrt_encoder_frame_bytes(const struct vrt_encoder_params *params)
{
    const struct vrt_frame_format *format = &params->format;
    double pixels = (double)format->width * format->height;
    double samples = (double)vrt_frame_format_size_bytes(format) /
                     vrt_frame_format_sample_bytes(format);
    double bits = sizes[params->codec].bits;
    int quality = params->quality;

    if (params->bitrate > 0 && params->fps.num > 0)
        return (double)params->bitrate / 8 * params->fps.den / params->fps.num;
    if (!vrt_codec_facts(params->codec)->quality_name)
        return samples * (bits + sizes[params->codec].bits_per_depth * (format->depth - 8)) / 8;
    if (quality == VRT_UNKNOWN)
        quality = vrt_codec_facts(params->codec)->quality;
    return pixels * bits *
           exp2((sizes[params->codec].quality - quality) / sizes[params->codec].halves) / 8;
}
