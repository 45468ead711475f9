/* SPDX-License-Identifier: MIT */

#include "frames/join/join-times.h"

#include <libavutil/mathematics.h>
#include <stdlib.h>

#include "base/macro.h"

/* The duration of an audio packet in samples; 0: unknown. */
static int samples_in(const struct vrt_join_stream *stream, const AVPacket *packet)
{
    AVCodecParameters *par = stream->in->codecpar;

    if (par->codec_type != AVMEDIA_TYPE_AUDIO || par->sample_rate <= 0)
        return 0;
    return VRT_MAX(av_get_audio_frame_duration2(par, packet->size), 0);
}

/*
 * The place of an audio packet in samples. Times in milliseconds, say, are but roundings of it:
 * where a packet follows on the last one as far as they can tell, it does so exactly.
 */
static int64_t first_sample(struct vrt_join_stream *stream, int64_t time, int n_samples)
{
    AVRational from = stream->in->time_base, rate = { 1, stream->in->codecpar->sample_rate };
    int64_t tick = av_rescale_q_rnd(1, from, rate, AV_ROUND_UP);
    int64_t sample = av_rescale_q(time, from, rate);

    if (tick > 1 && stream->next_sample != AV_NOPTS_VALUE &&
        llabs(sample - stream->next_sample) <= tick)
        sample = stream->next_sample;
    stream->next_sample = sample + n_samples;
    return sample;
}

/*
 * The decoding time of a video packet whose container keeps none, as Matroska: the k-th packet is
 * decoded when the k-th picture would be shown if each were shown as many frames earlier as the
 * decoder holds back.
 */
static int64_t order_time(struct vrt_join_stream *stream, const AVPacket *packet)
{
    int delay = VRT_MIN(VRT_MAX(stream->in->codecpar->video_delay, 0), VRT_JOIN_DELAY_MAX);
    int64_t *shown = stream->shown;

    for (int i = 0; stream->n_packets == 0 && i < delay; i++)
        shown[i] = packet->pts - (delay - i) * VRT_MAX(packet->duration, 1);
    /* The least was the last packet's. */
    int last = stream->n_packets++ ? 0 : delay;
    for (; last < delay && packet->pts > shown[last + 1]; last++)
        shown[last] = shown[last + 1];
    shown[last] = packet->pts;
    return shown[0];
}

/* What a muxer refuses, for which it has its reasons: times that go back, where it is strict ones
 * that stay, and what is shown before it is decoded. Everything else stays as it was. */
static void mend_order(struct vrt_join_stream *stream, AVPacket *packet, int muxer_flags)
{
    enum AVMediaType type = stream->out->codecpar->codec_type;
    bool may_stay = muxer_flags & AVFMT_TS_NONSTRICT ||
                    type == AVMEDIA_TYPE_SUBTITLE || type == AVMEDIA_TYPE_DATA;

    if (stream->last_dts != AV_NOPTS_VALUE) {
        stream->n_stacked += type == AVMEDIA_TYPE_SUBTITLE && packet->dts == stream->last_dts;
        packet->dts = VRT_MAX(packet->dts, stream->last_dts + !may_stay);
        /* One that lasts for nothing is cut off at the end of an MP4 file. */
        if (type == AVMEDIA_TYPE_AUDIO && packet->duration <= 0)
            packet->duration = packet->dts - stream->last_dts;
    }
    packet->pts = VRT_MAX(packet->pts, packet->dts);
    stream->last_dts = packet->dts;
}

/*
 * What Matroska takes off the times of a track, its codec's delay, which its muxer adds since
 * FFmpeg 6: before, the sound of each copy is earlier by so much.
 */
static int64_t codec_delay(const struct vrt_join_stream *stream, int muxer_flags)
{
    const AVCodecParameters *par = stream->out->codecpar;

    if (LIBAVFORMAT_VERSION_MAJOR >= 60 || !(muxer_flags & AVFMT_TS_NONSTRICT) ||
        par->codec_id != AV_CODEC_ID_OPUS || par->initial_padding <= 0)
        return 0;
    return av_rescale_q(par->initial_padding, (AVRational){ 1, 48000 }, stream->out->time_base);
}

void vrt_join_retime(struct vrt_join_stream *stream, AVPacket *packet, int64_t offset_us,
                     int muxer_flags)
{
    AVRational from = stream->in->time_base, to = stream->out->time_base;
    int64_t offset = av_rescale_q(offset_us, AV_TIME_BASE_Q, from);
    int n_samples = samples_in(stream, packet);

    if (stream->last_dts == AV_NOPTS_VALUE && packet->dts == AV_NOPTS_VALUE)
        stream->lacks_dts = stream->in->codecpar->codec_type == AVMEDIA_TYPE_VIDEO;
    if (stream->lacks_dts && packet->pts != AV_NOPTS_VALUE)
        packet->dts = order_time(stream, packet);
    if (packet->dts == AV_NOPTS_VALUE)
        packet->dts = packet->pts;
    if (packet->pts == AV_NOPTS_VALUE)
        packet->pts = packet->dts;
    if (packet->dts == AV_NOPTS_VALUE) {
        packet->dts = packet->pts = stream->last_dts == AV_NOPTS_VALUE ? 0 : stream->last_dts + 1;
    } else if (n_samples) {
        AVRational rate = { 1, stream->in->codecpar->sample_rate };
        int64_t sample = first_sample(stream, packet->dts - offset, n_samples);
        packet->dts = packet->pts = av_rescale_q(sample, rate, to);
        /* A time base that counts samples also knows where the last packet is cut off. */
        packet->duration = packet->duration > 0 && av_cmp_q(from, rate) <= 0
                               ? av_rescale_q(packet->duration, from, to)
                               : av_rescale_q(n_samples, rate, to);
    } else {
        packet->pts -= offset;
        packet->dts -= offset;
        av_packet_rescale_ts(packet, from, to);
    }
    packet->dts += codec_delay(stream, muxer_flags);
    packet->pts += codec_delay(stream, muxer_flags);
    mend_order(stream, packet, muxer_flags);
    packet->stream_index = stream->out->index;
    packet->pos = -1;
}
