/* SPDX-License-Identifier: MIT */

#include "frames/decode/packets.h"

#include <libavutil/mathematics.h>
#include <libavutil/mem.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"

#define CENTURY_S INT64_C(3155760000)

int64_t vrt_packets_time(int64_t time, AVRational time_base)
{
    const int64_t most = VRT_MIN(av_rescale(CENTURY_S, time_base.den, time_base.num),
                                 INT64_C(1) << 61);

    return time >= -most && time <= most ? time : AV_NOPTS_VALUE;
}

int vrt_packets_read(AVFormatContext *format, AVPacket *packet)
{
    int r = av_read_frame(format, packet);

    if (r < 0)
        return r;
    const AVRational base = format->streams[packet->stream_index]->time_base;
    packet->pts = vrt_packets_time(packet->pts, base);
    packet->dts = vrt_packets_time(packet->dts, base);
    if (vrt_packets_time(packet->duration, base) == AV_NOPTS_VALUE)
        packet->duration = 0;
    return 0;
}

/* Streams may appear at any time. Return: 0, AVERROR(ENOMEM). */
static int have_streams(struct vrt_packets *packets, const AVFormatContext *format)
{
    size_t n = format->nb_streams;

    if (n <= packets->n_streams)
        return 0;
    struct vrt_timeline_stream *streams = reallocarray(packets->streams, n, sizeof(*streams));
    if (!streams)
        return AVERROR(ENOMEM);
    packets->streams = streams;
    for (size_t i = packets->n_streams; i < n; i++) {
        enum AVMediaType type = format->streams[i]->codecpar->codec_type;
        streams[i] = (struct vrt_timeline_stream){
            .is_sparse = type != AVMEDIA_TYPE_VIDEO && type != AVMEDIA_TYPE_AUDIO,
        };
    }
    packets->n_streams = n;
    return 0;
}

static void move_by(const AVFormatContext *format, AVPacket *packet, int64_t offset_us)
{
    AVRational to = format->streams[packet->stream_index]->time_base;
    int64_t offset = av_rescale_q(offset_us, AV_TIME_BASE_Q, to);

    if (packet->pts != AV_NOPTS_VALUE)
        packet->pts += offset;
    if (packet->dts != AV_NOPTS_VALUE)
        packet->dts += offset;
}

/* Takes the packet over. Return: 0, AVERROR(ENOMEM). */
static int hold(struct vrt_packets *packets, AVPacket *packet)
{
    AVPacket **slot = &packets->held[(packets->first_held + packets->n_held) %
                                     VRT_PACKETS_HELD_MAX];

    if (!*slot)
        *slot = av_packet_alloc();
    if (!*slot)
        return AVERROR(ENOMEM);
    packets->held_bytes += packet->size;
    packets->n_held++;
    av_packet_move_ref(*slot, packet);
    return 0;
}

/* What is held may go. */
static void release(struct vrt_packets *packets)
{
    packets->released_us = vrt_timeline_settle(&packets->timeline, packets->streams,
                                               packets->n_streams);
    packets->n_released = packets->n_held;
}

static void take_released(struct vrt_packets *packets, const AVFormatContext *format,
                          AVPacket *packet)
{
    av_packet_move_ref(packet, packets->held[packets->first_held]);
    packets->first_held = (packets->first_held + 1) % VRT_PACKETS_HELD_MAX;
    packets->n_held--;
    packets->n_released--;
    packets->held_bytes -= packet->size;
    move_by(format, packet, packets->released_us);
}

/* Shows the packet to the timeline. Return: as vrt_timeline_show(). */
static int show(struct vrt_packets *packets, const AVFormatContext *format, const AVPacket *packet,
                int64_t *ret_offset_us)
{
    struct vrt_timeline_stream *stream = &packets->streams[packet->stream_index];
    AVRational from = format->streams[packet->stream_index]->time_base;
    int64_t time = packet->dts != AV_NOPTS_VALUE ? packet->dts : packet->pts;

    if (time == AV_NOPTS_VALUE) {
        *ret_offset_us = stream->offset_us;
        return stream->has_jumped ? VRT_TIMELINE_HELD : 0;
    }
    return vrt_timeline_show(&packets->timeline, stream, av_rescale_q(time, from, AV_TIME_BASE_Q),
                             av_rescale_q(packet->duration, from, AV_TIME_BASE_Q), ret_offset_us);
}

/* The demuxer's next packet, or the one that was put aside. */
static int read_packet(struct vrt_packets *packets, AVFormatContext *format, AVPacket *packet)
{
    if (packets->again && packets->again->data) {
        av_packet_move_ref(packet, packets->again);
        return 0;
    }
    int r = vrt_packets_read(format, packet);
    return r < 0 ? r : have_streams(packets, format);
}

/* Keeps the packet until the timeline is settled, which it is where nothing is to be waited for.
 * `r` is of show(). Return: 0, AVERROR(ENOMEM). */
static int put_aside(struct vrt_packets *packets, int r, AVPacket *packet)
{
    bool is_again = r == VRT_TIMELINE_AGAIN;

    if (is_again && !packets->again)
        packets->again = av_packet_alloc();
    if (is_again && !packets->again)
        return AVERROR(ENOMEM);
    if (is_again)
        av_packet_move_ref(packets->again, packet);
    else if (hold(packets, packet) < 0)
        return AVERROR(ENOMEM);
    if (is_again || packets->n_held == VRT_PACKETS_HELD_MAX ||
        packets->held_bytes > VRT_PACKETS_HELD_BYTES_MAX ||
        vrt_timeline_is_complete(&packets->timeline, packets->streams, packets->n_streams))
        release(packets);
    return 0;
}

int vrt_packets_next(struct vrt_packets *packets, AVFormatContext *format, AVPacket *packet)
{
    for (;;) {
        int64_t offset_us = 0;
        if (packets->n_released) {
            take_released(packets, format, packet);
            return 0;
        }
        int r = read_packet(packets, format, packet);
        if (r == AVERROR_EOF && packets->n_held) {
            release(packets);
            continue;
        }
        if (r < 0 || packet->size == 0)
            return r;
        r = show(packets, format, packet, &offset_us);
        if (r == 0) {
            move_by(format, packet, offset_us);
            return 0;
        }
        r = put_aside(packets, r, packet);
        if (r < 0)
            return r;
    }
}

void vrt_packets_done(struct vrt_packets *packets)
{
    for (size_t i = 0; i < VRT_PACKETS_HELD_MAX; i++)
        av_packet_free(&packets->held[i]);
    av_packet_free(&packets->again);
    free(packets->streams);
    packets->streams = NULL;
}
