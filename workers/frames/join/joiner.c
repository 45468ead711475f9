/* SPDX-License-Identifier: MIT */

/*
 * Two sides are merged: the packets of the segments, and those of the input's other streams. All
 * times stay as they are, but for one offset that is the same for every stream.
 */

#include "frames/join/joiner.h"

#include <errno.h>
#include <libavutil/mem.h>
#include <libavutil/mathematics.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "frames/av.h"
#include "frames/join/join-animation.h"
#include "frames/join/join-caps.h"
#include "frames/join/join-part.h"
#include "frames/join/join-still.h"
#include "frames/join/join-streams.h"
#include "frames/join/join-times.h"
#include "frames/join/join-video.h"
#include "frames/encode/sink.h"
#include "frames/decode/source.h"
#include "frames/join/tags.h"

#define VRT_LOG_TOPIC "frames"

/* Ticks a second of what MP4 edit lists count in: finer than any sample. */
#define MOVIE_TIMESCALE 90000

/* By which a transport stream's clock is behind its times: those before 0 need room, too. */
#define TS_DELAY_US 700000

/* Among that many packets every stream that starts at the beginning has shown itself. */
#define START_PACKETS 256

struct joiner {
    const struct vrt_joiner_params *params;
    struct vrt_joiner_result *result;
    struct vrt_source *source;
    struct vrt_join_video *video;
    struct vrt_join_streams plan;
    struct vrt_sink *sink;
    AVFormatContext *output;
    AVPacket *video_packet, *other_packet;  /* each the next of its side, if it has data */
    AVPacket *sound_packet;                 /* likewise, of what is cut to frames */
    bool video_ended, others_ended;
    bool sound_ended;                       /* of what is cut to frames */
    bool touched;                           /* the output isn't what it was */
    int64_t offset_us;                      /* taken off every time stamp of the input */
    struct vrt_join_part part;
};

static void joiner_done(struct joiner *joiner)
{
    avformat_free_context(joiner->output);
    vrt_join_streams_done(&joiner->plan);
    av_packet_free(&joiner->video_packet);
    av_packet_free(&joiner->other_packet);
    av_packet_free(&joiner->sound_packet);
    joiner->sink = vrt_sink_close(joiner->sink);
    joiner->video = vrt_join_video_close(joiner->video);
    joiner->source = vrt_source_close(joiner->source);
}

static int refuse_memory(struct vrt_error *error)
{
    return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the output");
}

/* Names and chapters, and how the container is to be written. */
static int describe_output(struct joiner *joiner, struct vrt_error *error)
{
    const AVFormatContext *input = joiner->source->format;
    AVFormatContext *output = joiner->output;

    if (vrt_tags_copy(&output->metadata, input->metadata, false) < 0)
        return refuse_memory(error);
    output->chapters = av_calloc(input->nb_chapters ? input->nb_chapters : 1,
                                 sizeof(*output->chapters));
    if (!output->chapters)
        return refuse_memory(error);
    /* Each is owned by the output as soon as it is counted. */
    for (unsigned int i = 0; i < input->nb_chapters; i++) {
        const AVChapter *in = input->chapters[i];
        int64_t offset = av_rescale_q(joiner->offset_us, AV_TIME_BASE_Q, in->time_base);
        int64_t end = joiner->part.is_part ? av_rescale_q(joiner->part.end_us, AV_TIME_BASE_Q,
                                                          in->time_base) : in->end;
        if ((in->end <= offset && in->start < offset) || (in->start >= end && in->end > end))
            continue;
        AVChapter *out = output->chapters[output->nb_chapters] = av_mallocz(sizeof(*out));
        if (!out || av_dict_copy(&out->metadata, in->metadata, 0) < 0)
            return refuse_memory(error);
        output->nb_chapters++;
        out->id = in->id;
        out->time_base = in->time_base;
        out->start = VRT_MAX(av_sat_sub64(in->start, offset), 0);
        out->end = av_sat_sub64(VRT_MIN(in->end, end), offset);
    }
    return 0;
}

/* Whether an MP4 file will hold cover art. */
static bool has_cover(const struct vrt_join_streams *plan)
{
    for (int i = 0; i < plan->n; i++)
        if (plan->streams[i].kind == VRT_JOIN_COVER)
            return true;
    return false;
}

/*
 * The muxer's own options. MP4 keeps unusual tags only in another kind of list, which has no place
 * for cover art.
 */
static int set_options(const struct joiner *joiner, AVDictionary **options)
{
    int den = joiner->video->head.time_base.den;
    bool by_name = vrt_tags_need_names(joiner->output->metadata) && !has_cover(&joiner->plan);
    int r;

    if (vrt_container_is_matroska(joiner->params->container))
        return av_dict_set(options, "default_mode", "passthrough", 0);
    if (!vrt_container_is_mov(joiner->params->container))
        return 0;
    r = av_dict_set_int(options, "movie_timescale", MOVIE_TIMESCALE, 0);
    /* Coarser ones, such as 1/25, the muxer makes finer by a whole factor, which is exact too. */
    if (r >= 0 && den >= 600)
        r = av_dict_set_int(options, "video_track_timescale", den, 0);
    if (r >= 0 && by_name)
        r = av_dict_set(options, "movflags", "use_metadata_tags", 0);
    return r;
}

/* Makes the output's context and writes its head. Return: 0; a positive number: the container
 * refuses these streams; -errno with a sentence. */
static int write_head(struct joiner *joiner, struct vrt_error *error)
{
    const AVOutputFormat *muxer = vrt_join_muxer(joiner->params->container);
    AVDictionary *options = NULL;

    avformat_free_context(joiner->output);
    joiner->output = NULL;
    joiner->sink = vrt_sink_close(joiner->sink);
    joiner->touched = true;
    int r = vrt_sink_open(joiner->params->output_fd, &joiner->sink, error);
    if (r < 0)
        return vrt_fold(r);
    if (!muxer || avformat_alloc_output_context2(&joiner->output, muxer, NULL, NULL) < 0)
        return refuse_memory(error);
    AVFormatContext *output = joiner->output;
    output->pb = joiner->sink->io;
    output->flags |= AVFMT_FLAG_BITEXACT;
    output->strict_std_compliance = FF_COMPLIANCE_EXPERIMENTAL;
    /* The times are final when they get here. */
    output->avoid_negative_ts = 0;
    if (joiner->params->container == VRT_CONTAINER_TS)
        output->max_delay = TS_DELAY_US;
    if (vrt_join_streams_create(&joiner->plan, output, joiner->video) < 0)
        return refuse_memory(error);
    r = describe_output(joiner, error);
    if (r < 0)
        return vrt_fold(r);
    r = set_options(joiner, &options);
    if (r >= 0)
        r = avformat_write_header(output, &options);
    av_dict_free(&options);
    if (r >= 0)
        return vrt_fold(vrt_sink_check(joiner->sink, 0, error));
    if (joiner->sink->write_error || r == AVERROR(ENOMEM))
        return vrt_fold(vrt_sink_check(joiner->sink, r, error));
    return 1;
}

/* A container may refuse what it seemed to hold: then with less, rather than not at all. */
static int start_output(struct joiner *joiner, struct vrt_error *error)
{
    for (int care = joiner->params->is_bare ? VRT_JOIN_PICTURE : VRT_JOIN_EVERYTHING;
         care < VRT_JOIN_CARE_COUNT; care++) {
        int r = vrt_join_streams_plan(&joiner->plan, (enum vrt_join_care)care,
                                      &joiner->result->warnings);
        if (r < 0)
            return refuse_memory(error);
        r = write_head(joiner, error);
        if (r <= 0)
            return vrt_fold(r);
    }
    return vrt_refuse(error, vrt_raise(-EINVAL), "output.container",
                      "the restored video cannot be stored in .%s: name the output .mkv",
                      vrt_container_name(joiner->params->container));
}

/* What is taken off times in `time_base`. */
static int64_t offset_in(const struct joiner *joiner, AVRational time_base)
{
    return av_rescale_q(joiner->offset_us, AV_TIME_BASE_Q, time_base);
}

/* The earliest presentation time among the first packets of sound and so on, in microseconds. */
static int find_start(const struct joiner *joiner, int64_t *ret_start_us, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_source_closep) struct vrt_source *source = NULL;
    VRT_CLEANUP(vrt_av_packet_freep) AVPacket *packet = av_packet_alloc();
    const struct vrt_source_params params = {
        .fd = joiner->params->input_fd,
        .name = joiner->params->input_name,
        .cancel = joiner->params->cancel,
        .streams = joiner->params->streams,
    };
    int64_t start = INT64_MAX;

    if (!packet)
        return refuse_memory(error);
    int r = vrt_source_open(&params, &source, error);
    for (int i = 0; i < START_PACKETS && r == 0; i++) {
        r = vrt_source_next(source, packet, error);
        if (r == 0 && packet->stream_index != joiner->plan.video && packet->pts != AV_NOPTS_VALUE) {
            AVRational from = source->format->streams[packet->stream_index]->time_base;
            start = VRT_MIN(start, av_rescale_q(packet->pts, from, AV_TIME_BASE_Q));
        }
        av_packet_unref(packet);
    }
    *ret_start_us = start;
    return r < 0 ? vrt_fold(r) : 0;
}

/*
 * Transport streams and the like begin at any time of the day: their first moment becomes 0, as
 * does that of a part. All other containers mean what they say; but Matroska has no times before
 * 0, where the samples lie that prime an audio decoder: there everything moves by as many whole
 * milliseconds.
 */
static int choose_offset(struct joiner *joiner, struct vrt_error *error)
{
    const AVFormatContext *input = joiner->source->format;
    const struct vrt_join_video *video = joiner->video;
    int64_t start_us = 0;
    AVRational from = vrt_rational_av(video->head.time_base);
    int64_t video_us = av_rescale_q(video->first_pts[0], from, AV_TIME_BASE_Q);

    if (joiner->params->is_part) {
        joiner->offset_us = video_us;
        joiner->part = (struct vrt_join_part){
            .is_part = true,
            .start_us = video_us,
            .end_us = av_rescale_q(video->end_pts, from, AV_TIME_BASE_Q),
        };
        return 0;
    }
    if (input->iformat->flags & AVFMT_TS_DISCONT && input->start_time != AV_NOPTS_VALUE)
        joiner->offset_us = input->start_time;
    if (!vrt_container_is_matroska(joiner->params->container))
        return 0;
    int r = find_start(joiner, &start_us, error);
    if (r < 0)
        return vrt_fold(r);
    int64_t before_us = joiner->offset_us - VRT_MIN(start_us, video_us);
    if (before_us > 0)
        joiner->offset_us -= (before_us + 999) / 1000 * 1000;
    return 0;
}

/* Leaves the input's next packet in `other_packet`, ready to be written. */
static int fetch_other(struct joiner *joiner, struct vrt_error *error)
{
    AVPacket *packet = joiner->other_packet;

    for (;;) {
        int r = vrt_source_next(joiner->source, packet, error);
        if (r == VRT_SOURCE_BROKEN)
            vrt_warnings_add(&joiner->result->warnings, "the input is damaged near its end: "
                             "sound and subtitles beyond the damage are left out");
        if (r > 0)
            joiner->others_ended = true;
        if (r != 0)
            return r < 0 ? vrt_fold(r) : 0;
        struct vrt_join_stream *stream = packet->stream_index < joiner->plan.n
                                             ? &joiner->plan.streams[packet->stream_index] : NULL;
        if (stream && vrt_join_part_is_over(&joiner->part, stream, packet)) {
            joiner->others_ended = true;
            av_packet_unref(packet);
            return 0;
        }
        r = stream ? vrt_join_part_take(&joiner->part, stream, packet) : 0;
        if (r < 0)
            return vrt_refuse_errno(error, vrt_fold(r), "the output");
        if (r > 0) {
            vrt_join_retime(stream, packet, joiner->offset_us, joiner->output->oformat->flags);
            return 0;
        }
        av_packet_unref(packet);
    }
}

/* Leaves the restored video's next packet in `video_packet`, ready to be written. */
static int fetch_video(struct joiner *joiner, struct vrt_error *error)
{
    AVPacket *packet = joiner->video_packet;
    const AVStream *out = joiner->plan.streams[joiner->plan.video].out;
    AVRational from = vrt_rational_av(joiner->video->head.time_base);

    int r = vrt_join_video_next(joiner->video, packet, error);
    if (r == VRT_SEGMENT_END)
        joiner->video_ended = true;
    if (r != 0)
        return r < 0 ? vrt_fold(r) : 0;
    if (vrt_container_is_mov(joiner->params->container))
        packet->duration = vrt_join_video_decoded_for(joiner->video, packet);
    packet->pts -= offset_in(joiner, from);
    packet->dts -= offset_in(joiner, from);
    av_packet_rescale_ts(packet, from, out->time_base);
    packet->stream_index = out->index;
    return 0;
}

/* Writes the packet and empties it. */
static int write_packet(struct joiner *joiner, AVPacket *packet, struct vrt_error *error)
{
    bool is_video = packet == joiner->video_packet;
    struct vrt_join_stream *stream = NULL;

    for (int i = 0; i < joiner->plan.n && !stream; i++)
        if (joiner->plan.streams[i].out &&
            joiner->plan.streams[i].out->index == packet->stream_index)
            stream = &joiner->plan.streams[i];
    vrt_assert(stream);
    /* Not the interleaving kind, which would hold packets back: they come in order. */
    int r = av_write_frame(joiner->output, packet);
    av_packet_unref(packet);
    if (r < 0 && !is_video && !joiner->sink->write_error && r != AVERROR(ENOMEM)) {
        stream->n_dropped++;
        return 0;
    }
    return vrt_fold(vrt_sink_check(joiner->sink, r, error));
}

/* Cover art of MP4, which is a stream of one packet. */
static int write_covers(struct joiner *joiner, struct vrt_error *error)
{
    for (int i = 0; i < joiner->plan.n; i++) {
        struct vrt_join_stream *stream = &joiner->plan.streams[i];
        AVPacket *packet = joiner->other_packet;
        if (stream->kind != VRT_JOIN_COVER)
            continue;
        if (av_packet_ref(packet, &stream->in->attached_pic) < 0)
            return refuse_memory(error);
        packet->pts = packet->dts = packet->duration = 0;
        packet->stream_index = stream->out->index;
        int r = write_packet(joiner, packet, error);
        if (r < 0)
            return vrt_fold(r);
    }
    return 0;
}

/* Reads on until the samples of frame `k` are there, or no more come, or only of much later: they
 * lie side by side in the file, and what isn't there is silence. */
static int gather_sound(struct joiner *joiner, struct vrt_join_stream *wanting, int64_t k,
                        struct vrt_error *error)
{
    AVPacket *packet = joiner->sound_packet;
    int r = 0;

    while (r == 0 && !joiner->sound_ended && !vrt_sound_has(wanting->sound, k)) {
        if (!packet->data)
            r = vrt_source_next(joiner->source, packet, error);
        joiner->sound_ended = r > 0;
        if (r != 0)
            break;
        struct vrt_sound *sound = packet->stream_index < joiner->plan.n ?
                                  joiner->plan.streams[packet->stream_index].sound : NULL;
        if (sound && vrt_sound_is_ahead(sound, packet, k))
            break;
        if (sound && vrt_sound_add(sound, packet) < 0)
            r = refuse_memory(error);
        av_packet_unref(packet);
    }
    return r < 0 ? vrt_fold(r) : 0;
}

/* Counts what lies behind the last frame; of a part that is the rest of the film. */
static int end_sound(struct joiner *joiner, struct vrt_error *error)
{
    struct vrt_join_stream *any = NULL;

    for (int i = 0; i < joiner->plan.n; i++) {
        if (!joiner->plan.streams[i].sound)
            continue;
        any = &joiner->plan.streams[i];
        vrt_sound_end(any->sound);
    }
    return any && !joiner->params->is_part ?
           vrt_fold(gather_sound(joiner, any, INT32_MAX, error)) : 0;
}

/* The sound of the frame that was written last. */
static int write_sound(struct joiner *joiner, struct vrt_error *error)
{
    const int64_t k = joiner->video->n_packets - 1;

    for (int i = 0; i < joiner->plan.n; i++) {
        struct vrt_join_stream *stream = &joiner->plan.streams[i];
        AVPacket *packet = joiner->other_packet;
        if (!stream->sound)
            continue;
        int r = gather_sound(joiner, stream, k, error);
        if (r < 0)
            return vrt_fold(r);
        if (vrt_sound_take(stream->sound, k, packet) < 0)
            return refuse_memory(error);
        packet->stream_index = stream->out->index;
        r = write_packet(joiner, packet, error);
        if (r < 0)
            return vrt_fold(r);
    }
    return 0;
}

/* Which of the two next packets is to be written first; NULL: neither is left. */
static AVPacket *earlier(const struct joiner *joiner)
{
    AVPacket *video = joiner->video_packet, *other = joiner->other_packet;
    AVStream **streams = joiner->output->streams;

    if (joiner->video_ended || joiner->others_ended)
        return !joiner->video_ended ? video : !joiner->others_ended ? other : NULL;
    return av_compare_ts(video->dts, streams[video->stream_index]->time_base, other->dts,
                         streams[other->stream_index]->time_base) <= 0 ? video : other;
}

/*
 * Merges the two sides by decoding time, holding one packet of each: the output is interleaved at
 * least as well as the input, in no memory.
 */
static int write_packets(struct joiner *joiner, struct vrt_error *error)
{
    int r = write_covers(joiner, error);

    joiner->others_ended = !vrt_join_streams_has_others(&joiner->plan);
    while (r == 0) {
        if (!joiner->video_ended && !joiner->video_packet->data)
            r = fetch_video(joiner, error);
        if (r == 0 && !joiner->others_ended && !joiner->other_packet->data)
            r = fetch_other(joiner, error);
        AVPacket *next = r == 0 ? earlier(joiner) : NULL;
        if (!next)
            break;
        const bool is_video = next == joiner->video_packet;
        r = write_packet(joiner, next, error);
        if (r == 0 && is_video)
            r = write_sound(joiner, error);
    }
    return r < 0 ? vrt_fold(r) : vrt_fold(end_sound(joiner, error));
}

/*
 * FFmpeg's Matroska muxer dropped the rotation without a word before version 6.1. Reading the
 * output again tells, whatever the version and the container.
 */
static int check_rotation(const struct joiner *joiner, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_source_closep) struct vrt_source *source = NULL;
    const struct vrt_source_params params = {
        .fd = joiner->params->output_fd,
        .name = "the output",
        .cancel = joiner->params->cancel,
        .streams = VRT_JOIN_RESTORED_SPECIFIER,
    };
    const AVStream *in = joiner->plan.streams[joiner->plan.video].in;
    size_t size;

    if (!vrt_av_stream_side_data(in, AV_PKT_DATA_DISPLAYMATRIX, &size))
        return 0;
    int r = vrt_source_open(&params, &source, error);
    if (r < 0)
        return vrt_fold(r);
    int video = vrt_source_pick_video(source, error);
    if (video < 0)
        return vrt_fold(video);
    if (!vrt_av_stream_side_data(source->format->streams[video], AV_PKT_DATA_DISPLAYMATRIX, &size))
        vrt_warnings_add(&joiner->result->warnings, "the video's rotation cannot be kept in .%s "
                         "by this FFmpeg: name the output .mp4 to keep it",
                         vrt_container_name(joiner->params->container));
    return 0;
}

/* What became of streams' packets that isn't as it was. */
static void warn_of_streams(const struct joiner *joiner)
{
    const char *container = vrt_container_name(joiner->params->container);
    struct vrt_warnings *warnings = &joiner->result->warnings;

    for (int i = 0; i < joiner->plan.n; i++) {
        const struct vrt_join_stream *stream = &joiner->plan.streams[i];
        if (stream->n_dropped)
            vrt_warnings_add(warnings, "%lld packets of stream %d are damaged or do not fit into "
                             ".%s and are left out", (long long)stream->n_dropped, i,
                             container);
        vrt_join_caps_warn(stream, warnings);
        if (stream->sound && !joiner->params->is_part)
            vrt_sound_warn(stream->sound, i, warnings);
        if (stream->n_stacked && vrt_container_is_mov(joiner->params->container))
            vrt_warnings_add(warnings, "%lld lines of subtitle stream %d begin together with "
                             "another, of which .%s shows one: name the output .mkv to "
                             "see all", (long long)stream->n_stacked, i, container);
    }
}

/* The index, what is still buffered, then the disk itself: only after that is it a file. */
static int finish_output(struct joiner *joiner, struct vrt_error *error)
{
    struct vrt_joiner_result *result = joiner->result;
    const struct vrt_join_video *video = joiner->video;

    int r = vrt_sink_check(joiner->sink, av_write_trailer(joiner->output), error);
    if (r < 0)
        return vrt_fold(r);
    r = vrt_sink_sync(joiner->sink, error);
    if (r < 0)
        return vrt_fold(r);
    warn_of_streams(joiner);
    result->n_frames = video->n_frames;
    result->duration_ns = vrt_av_ns(video->end_pts - video->first_pts[0],
                                    vrt_rational_av(video->head.time_base));
    result->size_bytes = joiner->sink->size_bytes;
    return vrt_fold(check_rotation(joiner, error));
}

/* Opens what is read. Return: 0; -errno with a sentence. */
static int open_inputs(struct joiner *joiner, struct vrt_error *error)
{
    const struct vrt_joiner_params *params = joiner->params;
    const struct vrt_source_params source_params = {
        .fd = params->input_fd,
        .name = params->input_name,
        .cancel = params->cancel,
        .streams = params->streams,
    };

    int r = vrt_join_video_open(&params->segments, &joiner->video, error);
    if (r < 0)
        return vrt_fold(r);
    r = vrt_source_open(&source_params, &joiner->source, error);
    if (r < 0)
        return vrt_fold(r);
    r = vrt_source_check_rereadable(joiner->source, error);
    if (r < 0)
        return vrt_fold(r);
    joiner->plan.container = params->container;
    joiner->plan.is_part = params->is_part;
    joiner->plan.hdr = params->hdr;
    joiner->plan.source = joiner->source;
    r = joiner->plan.video = vrt_source_pick_video(joiner->source, error);
    if (r < 0)
        return vrt_fold(r);
    joiner->video_packet = av_packet_alloc();
    joiner->other_packet = av_packet_alloc();
    joiner->sound_packet = av_packet_alloc();
    if (!joiner->video_packet || !joiner->other_packet || !joiner->sound_packet)
        return refuse_memory(error);
    return vrt_fold(choose_offset(joiner, error));
}

int vrt_joiner_run(const struct vrt_joiner_params *params, struct vrt_joiner_result *ret_result,
                   struct vrt_error *error)
{
    VRT_CLEANUP(joiner_done) struct joiner joiner = { .params = params };
    VRT_CLEANUP(vrt_freep) struct vrt_joiner_result *result = calloc(1, sizeof(*result));

    if (vrt_container_is_picture(params->container))
        return vrt_fold(vrt_join_still(params, ret_result, error));
    if (vrt_container_is_animation(params->container))
        return vrt_fold(vrt_join_animation(params, ret_result, error));
    vrt_av_log_install();
    if (!result)
        return refuse_memory(error);
    joiner.result = result;
    int r = open_inputs(&joiner, error);
    if (r == 0)
        r = start_output(&joiner, error);
    if (r == 0)
        r = write_packets(&joiner, error);
    if (r == 0)
        r = finish_output(&joiner, error);
    /* A part of a result is worth nothing, and might be taken for a whole one. */
    if (r < 0 && joiner.touched && ftruncate(params->output_fd, 0) < 0)
        vrt_log_warning("the incomplete output can't be emptied: %s, ignoring", strerror(errno));
    if (r < 0)
        return vrt_fold(r);
    *ret_result = *result;
    ret_result->warnings.n = params->is_bare ? 0 : result->warnings.n;
    return 0;
}
