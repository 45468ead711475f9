/* SPDX-License-Identifier: MIT */

/*
 * The segments have whole pictures, without loss. Of them an animation is made at the end, by one
 * thread, so that the same pictures become the same bytes: of a GIF the best 256 colours of all
 * are found first (FFmpeg's palettegen), to which the pictures are reduced the second time
 * (paletteuse), as FFmpeg's manual has it.
 */

#include "frames/join/join-animation.h"

#include <errno.h>
#include <libavfilter/avfilter.h>
#include <libavfilter/buffersink.h>
#include <libavfilter/buffersrc.h>
#include <libavutil/opt.h>
#include <stdio.h>
#include <stdlib.h>

#include "frames/av.h"
#include "frames/encode/codec.h"
#include "frames/encode/sink.h"
#include "frames/join/join-loops.h"
#include "frames/join/join-streams.h"
#include "frames/join/join-video.h"

/* A GIF counts hundredths of a second, and players take less than two for ten. */
#define GIF_TICKS 100
#define GIF_TICKS_MIN 2

struct animation {
    const struct vrt_joiner_params *params;
    const struct vrt_codec_facts *facts;
    struct vrt_join_video *video;
    AVCodecContext *decoder, *encoder;
    AVFilterGraph *graph;
    AVFilterContext *pictures, *palette, *filtered;     /* NULL: not in this graph */
    AVFrame *colors;                    /* of a GIF */
    AVFrame *frame;
    AVPacket *packet;
    struct vrt_sink *sink;
    AVFormatContext *output;
    AVRational tick;                    /* of the file */
    int64_t last_pts;                   /* in ticks */
    int64_t n_encoded, n_moved;
    int64_t late_ticks;                 /* of the last one, by which it was moved */
};

static void animation_done(struct animation *animation)
{
    avformat_free_context(animation->output);
    animation->sink = vrt_sink_close(animation->sink);
    avfilter_graph_free(&animation->graph);
    avcodec_free_context(&animation->decoder);
    avcodec_free_context(&animation->encoder);
    av_frame_free(&animation->colors);
    av_frame_free(&animation->frame);
    av_packet_free(&animation->packet);
    animation->video = vrt_join_video_close(animation->video);
}

/* What FFmpeg returned where nothing but memory can fail. Return: -errno. */
static int refuse(const struct animation *animation, int r, struct vrt_error *error)
{
    const int errno_of = vrt_av_errno(r);

    if (animation->sink && animation->sink->write_error)
        return vrt_fold(vrt_sink_check(animation->sink, r, error));
    if (r == AVERROR(ENOMEM))
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the output");
    return vrt_refuse(error, vrt_raise(errno_of), "output.container",
                      "FFmpeg can't write .%s of the restored pictures (%s): name the output "
                      ".mkv", vrt_container_name(animation->params->container),
                      vrt_av_last_error());
}

static bool is_gif(const struct animation *animation)
{
    return animation->params->container == VRT_CONTAINER_GIF;
}

/* From the first picture on. */
static int begin(struct animation *animation, struct vrt_error *error)
{
    animation->video = vrt_join_video_close(animation->video);
    avcodec_free_context(&animation->decoder);
    int r = vrt_join_video_open(&animation->params->segments, &animation->video, error);
    if (r < 0)
        return vrt_fold(r);
    const AVCodec *codec = avcodec_find_decoder(vrt_codec_id(animation->video->head.codec));
    animation->decoder = codec ? avcodec_alloc_context3(codec) : NULL;
    if (!animation->decoder)
        return refuse(animation, codec ? AVERROR(ENOMEM) : AVERROR_DECODER_NOT_FOUND, error);
    animation->decoder->thread_count = 1;
    r = avcodec_open2(animation->decoder, codec, NULL);
    return r < 0 ? refuse(animation, r, error) : 0;
}

/* Leaves the next picture in `frame`, shown at its pts. Return: 0; VRT_SEGMENT_END; -errno. */
static int next_picture(struct animation *animation, struct vrt_error *error)
{
    AVPacket *packet = animation->packet;
    AVFrame *frame = animation->frame;

    av_frame_unref(frame);
    int r = vrt_join_video_next(animation->video, packet, error);
    if (r != 0)
        return r < 0 ? vrt_fold(r) : r;
    const int64_t pts = packet->pts;
    r = avcodec_send_packet(animation->decoder, packet);
    av_packet_unref(packet);
    if (r >= 0)
        r = avcodec_receive_frame(animation->decoder, frame);
    if (r == AVERROR(ENOMEM))
        return refuse(animation, r, error);
    if (r < 0)
        return vrt_refuse(error, vrt_raise(-EBADMSG), "segment.damaged", "a picture in segment %d "
                          "of the restored video can't be decoded: retry the job",
                          animation->video->next_segment);
    frame->pts = pts - animation->video->first_pts[0];
    frame->pict_type = AV_PICTURE_TYPE_NONE;
    /* Gray is, too, and isn't to be taken for the other range when it becomes RGB. */
    frame->color_range = AVCOL_RANGE_JPEG;
    return 0;
}

/* Filters for pictures like `frame`: `chain` goes between them and the sink. */
static int build(struct animation *animation, const char *chain, struct vrt_error *error)
{
    const AVRational tick = vrt_rational_av(animation->video->head.time_base);
    const AVFrame *frame = animation->frame, *colors = animation->colors;
    AVFilterInOut *in = NULL, *out = NULL;
    char text[512], palette[128] = "";

    if (colors)
        snprintf(palette, sizeof(palette), "buffer@palette=video_size=%dx%d:pix_fmt=%d:time_base="
                 "%d/%d[palette];", colors->width, colors->height, colors->format, tick.num,
                 tick.den);
    snprintf(text, sizeof(text), "%sbuffer@pictures=video_size=%dx%d:pix_fmt=%d:time_base=%d/%d"
             "[pictures];[pictures]%s,buffersink@filtered", palette, frame->width, frame->height,
             frame->format, tick.num, tick.den, chain);
    avfilter_graph_free(&animation->graph);
    AVFilterGraph *graph = animation->graph = avfilter_graph_alloc();
    if (!graph)
        return refuse(animation, AVERROR(ENOMEM), error);
    graph->nb_threads = 1;
    int r = avfilter_graph_parse2(graph, text, &in, &out);
    avfilter_inout_free(&in);
    avfilter_inout_free(&out);
    if (r >= 0)
        r = avfilter_graph_config(graph, NULL);
    if (r < 0)
        return refuse(animation, r, error);
    animation->pictures = avfilter_graph_get_filter(graph, "buffer@pictures");
    animation->palette = avfilter_graph_get_filter(graph, "buffer@palette");
    animation->filtered = avfilter_graph_get_filter(graph, "buffersink@filtered");
    return 0;
}

/* Sees all pictures. Return: 0; -errno with a sentence. */
static int find_colors(struct animation *animation, struct vrt_error *error)
{
    AVFrame *colors = av_frame_alloc();
    int r = begin(animation, error);

    if (!colors)
        return refuse(animation, AVERROR(ENOMEM), error);
    while (r == 0 && (r = next_picture(animation, error)) == 0) {
        if (!animation->pictures)
            r = build(animation, "palettegen", error);
        /* Until it is pushed on, each picture of the film would be kept. */
        if (r == 0)
            r = av_buffersrc_add_frame_flags(animation->pictures, animation->frame,
                                             AV_BUFFERSRC_FLAG_PUSH);
    }
    if (r == VRT_SEGMENT_END)
        r = av_buffersrc_add_frame(animation->pictures, NULL);
    if (r >= 0)
        r = av_buffersink_get_frame(animation->filtered, colors);
    animation->colors = colors;
    animation->pictures = NULL;
    return r < 0 && !error->message[0] ? refuse(animation, r, error) : r;
}

/* An encoder for pictures of `format`, and the file's head. */
static int open_output(struct animation *animation, int format, struct vrt_error *error)
{
    const struct vrt_joiner_params *params = animation->params;
    const struct vrt_segment_head *head = &animation->video->head;
    const AVCodec *codec = avcodec_find_encoder_by_name(animation->facts->joined_by);
    const struct vrt_encoder_kind *kind = vrt_encoder_kind_find(animation->facts->joined_by);
    const struct vrt_encoder_params encoding = { .format = head->format };
    AVCodecContext *encoder = animation->encoder = codec ? avcodec_alloc_context3(codec) : NULL;
    AVDictionary *options = NULL;
    const int plays = VRT_MAX(vrt_join_plays(params->input_fd), 0);

    if (!encoder)
        return refuse(animation, codec ? AVERROR(ENOMEM) : AVERROR_ENCODER_NOT_FOUND, error);
    encoder->width = head->format.width;
    encoder->height = head->format.height;
    encoder->pix_fmt = format;
    encoder->time_base = animation->tick;
    encoder->sample_aspect_ratio = vrt_rational_av(head->format.sample_aspect);
    encoder->color_primaries = (enum AVColorPrimaries)head->format.primaries;
    encoder->color_trc = (enum AVColorTransferCharacteristic)head->format.transfer;
    encoder->thread_count = 1;
    encoder->flags |= AV_CODEC_FLAG_BITEXACT;
    struct vrt_encoder_told told = { .codec = encoder };
    if (kind)
        kind->set_options(&encoding, 0, &told);
    int r = told.r < 0 ? told.r : avcodec_open2(encoder, codec, &told.options);
    av_dict_free(&told.options);
    if (r >= 0)
        r = avformat_alloc_output_context2(&animation->output, vrt_join_muxer(params->container),
                                           NULL, NULL);
    AVStream *stream = r >= 0 ? avformat_new_stream(animation->output, NULL) : NULL;
    if (r >= 0)
        r = stream ? avcodec_parameters_from_context(stream->codecpar, encoder) : AVERROR(ENOMEM);
    if (r < 0)
        return refuse(animation, r, error);
    stream->time_base = animation->tick;
    animation->output->pb = animation->sink->io;
    animation->output->flags |= AVFMT_FLAG_BITEXACT;
    /* GIF's counts what comes after the first time: -1 is once. */
    r = is_gif(animation) ? av_dict_set_int(&options, "loop", plays == 1 ? -1 :
                                            VRT_MIN(VRT_MAX(plays - 1, 0), UINT16_MAX), 0)
                          : av_dict_set_int(&options, "plays", VRT_MIN(plays, UINT16_MAX), 0);
    if (r >= 0)
        r = avformat_write_header(animation->output, &options);
    av_dict_free(&options);
    return r < 0 ? refuse(animation, r, error) : 0;
}

/* Encodes a picture (NULL: that was the last one), and writes what comes of it. Return: 0; an
 * AVERROR. */
static int encode(struct animation *animation, const AVFrame *frame)
{
    AVPacket *packet = animation->packet;
    int r = avcodec_send_frame(animation->encoder, frame);

    while (r >= 0 && (r = avcodec_receive_packet(animation->encoder, packet)) >= 0) {
        packet->stream_index = 0;
        av_packet_rescale_ts(packet, animation->tick, animation->output->streams[0]->time_base);
        r = av_write_frame(animation->output, packet);
        av_packet_unref(packet);
    }
    return r == AVERROR(EAGAIN) || r == AVERROR_EOF ? 0 : r;
}

/* A picture as the file has it, times in `time_base`. */
static int add(struct animation *animation, AVFrame *frame, AVRational time_base,
               struct vrt_error *error)
{
    int r = animation->output ? 0 : open_output(animation, frame->format, error);

    if (r < 0)
        return vrt_fold(r);
    frame->pts = av_rescale_q(frame->pts, time_base, animation->tick);
    const int64_t earliest = animation->n_encoded ?
                             animation->last_pts + (is_gif(animation) ? GIF_TICKS_MIN : 1) : 0;
    animation->late_ticks = VRT_MAX(earliest - frame->pts, 0);
    animation->n_moved += animation->late_ticks > 0;
    animation->last_pts = frame->pts = VRT_MAX(frame->pts, earliest);
    animation->n_encoded++;
    r = encode(animation, frame);
    av_frame_unref(frame);
    return r < 0 ? refuse(animation, r, error) : 0;
}

/* Adds what the filters have ready. */
static int drain(struct animation *animation, struct vrt_error *error)
{
    int r;

    while ((r = av_buffersink_get_frame(animation->filtered, animation->frame)) >= 0) {
        r = add(animation, animation->frame, av_buffersink_get_time_base(animation->filtered),
                error);
        if (r < 0)
            return vrt_fold(r);
    }
    return r == AVERROR(EAGAIN) || r == AVERROR_EOF ? 0 : refuse(animation, r, error);
}

/* The picture in `frame`, in the palette's colours. */
static int add_reduced(struct animation *animation, struct vrt_error *error)
{
    int r = 0;

    if (!animation->pictures) {
        r = build(animation, "[palette]paletteuse", error);
        if (r < 0)
            return vrt_fold(r);
        animation->colors->pts = 0;
        r = av_buffersrc_add_frame(animation->palette, animation->colors);
        if (r >= 0)
            r = av_buffersrc_add_frame(animation->palette, NULL);
    }
    if (r >= 0)
        r = av_buffersrc_add_frame(animation->pictures, animation->frame);
    return r < 0 ? refuse(animation, r, error) : vrt_fold(drain(animation, error));
}

/* Encodes all pictures. Return: 0; -errno with a sentence. */
static int write_pictures(struct animation *animation, struct vrt_error *error)
{
    int r = begin(animation, error);

    while (r == 0 && (r = next_picture(animation, error)) == 0)
        r = animation->colors ? add_reduced(animation, error)
                              : add(animation, animation->frame,
                                    vrt_rational_av(animation->video->head.time_base), error);
    if (r != VRT_SEGMENT_END)
        return vrt_fold(r);
    r = animation->colors ? av_buffersrc_add_frame(animation->pictures, NULL) : 0;
    if (r < 0)
        return refuse(animation, r, error);
    return animation->colors ? vrt_fold(drain(animation, error)) : 0;
}

/* Has the last picture stay for so many ticks: of an APNG numerator and denominator have 16 bits
 * each, of which the muxer sees to those of the others only. Return: 0; an AVERROR. */
static int set_last_delay(struct animation *animation, int64_t ticks)
{
    void *muxer = animation->output->priv_data;
    const int64_t n = VRT_MIN(VRT_MAX(ticks, 1), INT32_MAX);
    AVRational delay;

    if (is_gif(animation))
        return av_opt_set_int(muxer, "final_delay",
                              VRT_MIN(VRT_MAX(n, GIF_TICKS_MIN), UINT16_MAX), 0);
    av_reduce(&delay.num, &delay.den, n * animation->tick.num, animation->tick.den, UINT16_MAX);
    return av_opt_set_q(muxer, "final_delay", delay, 0);
}

/* How long the last picture stays, and what is still buffered. */
static int finish(struct animation *animation, struct vrt_joiner_result *result,
                  struct vrt_error *error)
{
    const struct vrt_join_video *video = animation->video;
    const AVRational time_base = vrt_rational_av(video->head.time_base);
    const int64_t end = av_rescale_q(video->end_pts - video->first_pts[0], time_base,
                                     animation->tick);
    int r = encode(animation, NULL);

    if (r >= 0)
        r = set_last_delay(animation, end - animation->last_pts);
    if (r >= 0)
        r = av_write_trailer(animation->output);
    if (r < 0)
        return refuse(animation, r, error);
    r = vrt_sink_sync(animation->sink, error);
    if (r < 0)
        return vrt_fold(r);
    result->n_frames = animation->n_encoded;
    result->duration_ns = vrt_av_ns(video->end_pts - video->first_pts[0], time_base);
    result->late_ns = vrt_av_ns(animation->late_ticks, animation->tick);
    result->size_bytes = animation->sink->size_bytes;
    if (animation->n_moved)
        vrt_warnings_add(&result->warnings, "%lld frames follow others too soon for .%s, and are "
                         "shown a little later", (long long)animation->n_moved,
                         vrt_container_name(animation->params->container));
    return 0;
}

int vrt_join_animation(const struct vrt_joiner_params *params, struct vrt_joiner_result *ret_result,
                       struct vrt_error *error)
{
    VRT_CLEANUP(animation_done) struct animation animation = {
        .params = params,
        .facts = vrt_codec_facts(vrt_container_own_codec(params->container)),
        .frame = av_frame_alloc(),
        .packet = av_packet_alloc(),
    };
    VRT_CLEANUP(vrt_freep) struct vrt_joiner_result *result = calloc(1, sizeof(*result));

    vrt_av_log_install();
    if (!animation.frame || !animation.packet || !result)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the output");
    int r = vrt_sink_open(params->output_fd, &animation.sink, error);
    if (r < 0)
        return vrt_fold(r);
    r = begin(&animation, error);
    if (r < 0)
        return vrt_fold(r);
    animation.tick = is_gif(&animation) ? (AVRational){ 1, GIF_TICKS }
                                        : vrt_rational_av(animation.video->head.time_base);
    r = is_gif(&animation) ? find_colors(&animation, error) : 0;
    if (r < 0)
        return vrt_fold(r);
    r = write_pictures(&animation, error);
    if (r < 0)
        return vrt_fold(r);
    r = finish(&animation, result, error);
    if (r < 0)
        return vrt_fold(r);
    *ret_result = *result;
    return 0;
}
