/* SPDX-License-Identifier: MIT */

#include "frames/join/join-part.h"

#include <libavutil/common.h>
#include <libavutil/mathematics.h>

#include "base/macro.h"
#include "frames/join/join-caps.h"
#include "frames/join/subtitle.h"

/* Streams are stored side by side, within a second or so. */
#define APART_US (30 * AV_TIME_BASE)

static int64_t time_of(const struct vrt_join_stream *stream, const AVPacket *packet)
{
    int64_t time = packet->pts != AV_NOPTS_VALUE ? packet->pts : packet->dts;

    return time == AV_NOPTS_VALUE ? time :
           av_rescale_q(time, stream->in->time_base, AV_TIME_BASE_Q);
}

/* Moves the beginning of what is shown until after `start_us` there. Return: whether it is. */
static bool shorten(const struct vrt_join_stream *stream, AVPacket *packet, int64_t start_us)
{
    int64_t start = av_rescale_q(start_us, AV_TIME_BASE_Q, stream->in->time_base);
    int64_t left = av_sat_sub64(av_sat_add64(packet->pts, packet->duration), start);

    if (packet->pts == AV_NOPTS_VALUE || packet->duration <= 0 || left <= 0)
        return false;
    packet->pts = packet->dts = start;
    packet->duration = left;
    return true;
}

bool vrt_join_part_keeps(const struct vrt_join_part *part, struct vrt_join_stream *stream,
                         AVPacket *packet)
{
    enum AVMediaType type = stream->in->codecpar->codec_type;
    int64_t time_us = time_of(stream, packet);

    if (!part->is_part)
        return true;
    if (time_us == AV_NOPTS_VALUE || time_us >= part->end_us)
        return false;
    if (time_us < part->start_us)
        return type == AVMEDIA_TYPE_SUBTITLE && shorten(stream, packet, part->start_us);
    if (type == AVMEDIA_TYPE_VIDEO && !stream->has_key)
        stream->has_key = packet->flags & AV_PKT_FLAG_KEY;
    return type != AVMEDIA_TYPE_VIDEO || stream->has_key;
}

int vrt_join_part_take(const struct vrt_join_part *part, struct vrt_join_stream *stream,
                       AVPacket *packet)
{
    if (!vrt_join_part_keeps(part, stream, packet) || !vrt_join_caps_shows(stream, packet))
        return 0;
    return stream->kind == VRT_JOIN_CONVERTED ? vrt_subtitle_convert(stream->subtitle, packet)
                                              : stream->kind == VRT_JOIN_COPIED;
}

bool vrt_join_part_is_over(const struct vrt_join_part *part, const struct vrt_join_stream *stream,
                           const AVPacket *packet)
{
    int64_t time_us = time_of(stream, packet);

    return part->is_part && time_us != AV_NOPTS_VALUE && time_us - APART_US > part->end_us;
}
