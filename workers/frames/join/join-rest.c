/* SPDX-License-Identifier: MIT */

/* What is copied mostly has a rate that hardly changes, so that a part of it tells. */

#include "frames/join/join-rest.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "frames/av.h"

#define READ_BYTES_MAX ((int64_t)256 << 20)

/* What is read of the beginning. */
struct beginning {
    int64_t size_bytes, n_packets;
    int64_t first_us, last_us;      /* of packets, ends included */
    bool is_all;
};

static void note_packet(const struct vrt_join_stream *stream, const AVPacket *packet,
                        struct beginning *beginning)
{
    const int64_t time = packet->pts != AV_NOPTS_VALUE ? packet->pts : packet->dts;
    const AVRational base = stream->in->time_base;

    beginning->size_bytes += packet->size;
    beginning->n_packets++;
    if (time == AV_NOPTS_VALUE)
        return;
    beginning->first_us = VRT_MIN(beginning->first_us, av_rescale_q(time, base, AV_TIME_BASE_Q));
    beginning->last_us = VRT_MAX(beginning->last_us,
                                 av_rescale_q(av_sat_add64(time, packet->duration), base,
                                              AV_TIME_BASE_Q));
}

/* Streams of packets are read; others are whole in their heads, which *ret_files_bytes has.
 * Return: whether there is a stream to be read. */
static bool select_streams(const struct vrt_join_streams *plan, int64_t *ret_files_bytes)
{
    int64_t files_bytes = 0;
    bool has_packets = false;

    for (int i = 0; i < plan->n; i++) {
        const struct vrt_join_stream *stream = &plan->streams[i];
        const AVCodecParameters *par = stream->in->codecpar;
        const bool is_file = stream->kind == VRT_JOIN_COVER || stream->kind == VRT_JOIN_ATTACHED ||
                             par->codec_type == AVMEDIA_TYPE_ATTACHMENT;
        const bool is_read = !is_file && (stream->kind == VRT_JOIN_COPIED ||
                                          stream->kind == VRT_JOIN_CONVERTED ||
                                          stream->kind == VRT_JOIN_CUT);
        if (is_file && stream->kind != VRT_JOIN_LEFT_OUT)
            files_bytes += stream->in->attached_pic.size + par->extradata_size;
        vrt_source_select(plan->source, (unsigned int)i, is_read);
        has_packets |= is_read;
    }
    *ret_files_bytes = files_bytes;
    return has_packets;
}

static int read_beginning(const struct vrt_join_streams *plan, struct beginning *beginning,
                          struct vrt_error *error)
{
    VRT_CLEANUP(vrt_av_packet_freep) AVPacket *packet = av_packet_alloc();
    const int64_t end_bytes = plan->source->offset_bytes + READ_BYTES_MAX;
    int r = packet ? 0 : vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the input");

    *beginning = (struct beginning){ .first_us = INT64_MAX, .last_us = INT64_MIN };
    while (r == 0 && plan->source->offset_bytes < end_bytes) {
        r = vrt_source_next(plan->source, packet, error);
        if (r != 0)
            break;
        if (packet->stream_index < plan->n)
            note_packet(&plan->streams[packet->stream_index], packet, beginning);
        av_packet_unref(packet);
    }
    beginning->is_all = r > 0;
    /* So much of a slow disk must do. */
    return r > 0 || r == -ETIMEDOUT ? 0 : vrt_fold(r);
}

/* A file may claim any times. */
static int64_t whole(double number)
{
    return llrint(VRT_MIN(number, (double)(INT64_MAX / 1024)));
}

int vrt_join_rest_estimate(const struct vrt_join_streams *plan, int64_t span_ns,
                           struct vrt_joiner_rest *ret_rest, struct vrt_error *error)
{
    struct beginning beginning;
    int64_t files_bytes;

    *ret_rest = (struct vrt_joiner_rest){ 0 };
    if (select_streams(plan, &files_bytes)) {
        int r = read_beginning(plan, &beginning, error);
        if (r < 0)
            return vrt_fold(r);
        const double span_us = (double)span_ns / 1000;
        const double seen_us = (double)beginning.last_us - (double)beginning.first_us;
        double times = seen_us > 0 ? span_us / seen_us : 1;
        if (beginning.is_all)
            times = VRT_MIN(times, 1);
        ret_rest->size_bytes = whole((double)beginning.size_bytes * times);
        ret_rest->n_packets = whole((double)beginning.n_packets * times);
    }
    ret_rest->size_bytes += files_bytes;
    return 0;
}
