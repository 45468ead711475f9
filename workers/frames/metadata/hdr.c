/* SPDX-License-Identifier: MIT */

/*
 * FFmpeg has rationals, which demuxers of MP4, Matroska and MXF and decoders fill in from whole
 * numbers, floats or binary fractions. HEVC's units are the coarsest of those that are in use, and
 * so exact on the way from and to all but AV1, which rounds.
 */

#include "frames/metadata/hdr.h"

#include <errno.h>
#include <libavutil/mastering_display_metadata.h>
#include <libavutil/mem.h>

#include "base/error.h"
#include "base/macro.h"
#include "frames/av.h"

#define LUMINANCE_ONE 10000

/* `q` in parts of which `one` are 1; -1: it has no value, or a larger one than fits. */
static int parts_of(AVRational q, int one)
{
    if (q.den <= 0 || q.num < 0)
        return -1;
    int64_t parts = av_rescale(q.num, one, q.den);
    return parts <= INT32_MAX ? (int)parts : -1;
}

static void read_point(const AVRational q[2], int ret_point[2])
{
    ret_point[0] = parts_of(q[0], VRT_HDR_ONE);
    ret_point[1] = parts_of(q[1], VRT_HDR_ONE);
}

static void read_display(const AVMasteringDisplayMetadata *display, struct vrt_hdr *hdr)
{
    if (display->has_primaries) {
        read_point(display->display_primaries[0], hdr->display.red);
        read_point(display->display_primaries[1], hdr->display.green);
        read_point(display->display_primaries[2], hdr->display.blue);
        read_point(display->white_point, hdr->display.white);
    }
    if (display->has_luminance) {
        hdr->display.max = parts_of(display->max_luminance, LUMINANCE_ONE);
        hdr->display.min = parts_of(display->min_luminance, LUMINANCE_ONE);
    }
}

/* The frame's data of `type`, NULL where it has none. */
static const void *data_of(const AVFrame *frame, enum AVFrameSideDataType type)
{
    const AVFrameSideData *data = av_frame_get_side_data(frame, type);

    return data ? data->data : NULL;
}

void vrt_hdr_read(const AVStream *stream, const AVFrame *frame, struct vrt_hdr *ret_hdr)
{
    struct vrt_hdr display = { .max_light = 0 }, light = { .max_light = 0 };
    size_t size;
    const void *data = vrt_av_stream_side_data(stream, AV_PKT_DATA_MASTERING_DISPLAY_METADATA,
                                               &size);

    if (!data)
        data = data_of(frame, AV_FRAME_DATA_MASTERING_DISPLAY_METADATA);
    if (data)
        read_display(data, &display);
    data = vrt_av_stream_side_data(stream, AV_PKT_DATA_CONTENT_LIGHT_LEVEL, &size);
    if (!data)
        data = data_of(frame, AV_FRAME_DATA_CONTENT_LIGHT_LEVEL);
    if (data) {
        const AVContentLightMetadata *level = data;
        light.max_light = (int)VRT_MIN(level->MaxCLL, UINT16_MAX);
        light.average_light = (int)VRT_MIN(level->MaxFALL, UINT16_MAX);
    }
    *ret_hdr = vrt_hdr_is_valid(&display) ? display : (struct vrt_hdr){ .max_light = 0 };
    ret_hdr->max_light = light.max_light;
    ret_hdr->average_light = light.average_light;
}

static void write_point(const int point[2], AVRational ret_q[2])
{
    ret_q[0] = (AVRational){ point[0], VRT_HDR_ONE };
    ret_q[1] = (AVRational){ point[1], VRT_HDR_ONE };
}

static int write_display(const struct vrt_hdr *hdr, AVStream *stream)
{
    AVMasteringDisplayMetadata *display = av_mastering_display_metadata_alloc();

    if (!display)
        return vrt_raise(-ENOMEM);
    display->has_primaries = hdr->display.white[1] > 0;
    display->has_luminance = hdr->display.max > 0;
    if (display->has_primaries) {
        write_point(hdr->display.red, display->display_primaries[0]);
        write_point(hdr->display.green, display->display_primaries[1]);
        write_point(hdr->display.blue, display->display_primaries[2]);
        write_point(hdr->display.white, display->white_point);
    }
    if (display->has_luminance) {
        display->max_luminance = (AVRational){ hdr->display.max, LUMINANCE_ONE };
        display->min_luminance = (AVRational){ hdr->display.min, LUMINANCE_ONE };
    }
    int r = vrt_av_stream_add_side_data(stream, AV_PKT_DATA_MASTERING_DISPLAY_METADATA,
                                        (const uint8_t *)display, sizeof(*display));
    av_free(display);
    return vrt_fold(r);
}

int vrt_hdr_write(const struct vrt_hdr *hdr, AVStream *stream)
{
    size_t size;
    int r = vrt_hdr_has_display(hdr) ? write_display(hdr, stream) : 0;

    if (r < 0 || !vrt_hdr_has_light(hdr))
        return vrt_fold(r);
    AVContentLightMetadata *light = av_content_light_metadata_alloc(&size);
    if (!light)
        return vrt_raise(-ENOMEM);
    light->MaxCLL = (unsigned int)hdr->max_light;
    light->MaxFALL = (unsigned int)hdr->average_light;
    r = vrt_av_stream_add_side_data(stream, AV_PKT_DATA_CONTENT_LIGHT_LEVEL,
                                    (const uint8_t *)light, size);
    av_free(light);
    return vrt_fold(r);
}
