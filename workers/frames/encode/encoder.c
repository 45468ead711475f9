/* SPDX-License-Identifier: MIT */

/*
 * One encoder, one segment. Frames go in by number; the numbers come back on the packets, in
 * decoding order, and bring back time stamps and durations, which the encoder never sees.
 */

#include "frames/filter/scaler.h"
#include "frames/encode/encoder.h"

#include <errno.h>
#include <libavutil/mem.h>
#include <libavutil/opt.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "frames/alpha.h"
#include "frames/av.h"
#include "frames/encode/codec.h"
#include "frames/encode/encoder-options.h"
#include "frames/hwaccel/hwaccel.h"
#include "frames/metadata/insert.h"
#include "frames/encode/pack.h"
#include "frames/encode/segment.h"
#include "frames/encode/sink.h"
#include "frames/view.h"

#define VRT_LOG_TOPIC "frames"

#define MAX_THREADS 64             /* more gain nothing */

/* Frames on their way through the encoder; no look-ahead is longer. */
#define WINDOW 1024

struct vrt_encoder {
    const struct vrt_encoder_kind *kind;
    enum vrt_codec is;
    const char *title;
    struct vrt_frame_format format;
    AVCodecContext *codec;
    struct vrt_scaler *scaler;      /* NULL: no frame had another size */
    enum AVPixelFormat pixfmt;      /* of what it is given, before that goes up to a device */
    AVPacket *packet;
    struct vrt_sink *sink;
    struct {
        int64_t pts, duration;
        struct vrt_frame_extra extra;
    } frames[WINDOW];               /* frame k of the segment is frames[k % WINDOW] */
    int64_t n_sent;
    struct vrt_segment_end end;     /* grows with what is written */
};

/* No cure is known for what happens here: FFmpeg's own words go along. */
static int refuse_encoder(const struct vrt_encoder *encoder, int averror, struct vrt_error *error)
{
    if (averror == AVERROR(ENOMEM))
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the encoder");
    return vrt_refuse(error, vrt_raise(vrt_av_errno(averror)), "encode.failed",
                      "the %s encoder failed: FFmpeg says \"%s\"", encoder->title,
                      av_err2str(averror));
}

/* What a user may have chosen badly, before anything is allocated. */
static int check_params(const struct vrt_encoder_params *params, struct vrt_error *error)
{
    const struct vrt_codec_facts *facts = vrt_codec_facts(params->codec);

    if (params->bitrate > 0 && (params->quality != VRT_UNKNOWN || !facts->has_bitrate))
        return vrt_refuse(error, vrt_raise(-EINVAL), "output.quality", facts->has_bitrate
                          ? "%s has a quality or a bitrate, not both: leave one of them out"
                          : "%s has no bitrate to choose: leave it out", facts->title);
    if (params->quality != VRT_UNKNOWN && facts->quality_name &&
        (params->quality < facts->quality_min || params->quality > facts->quality_max))
        return vrt_refuse(error, vrt_raise(-EINVAL), "output.quality",
                          "a quality of %d is out of range: that of %s goes from %d (best) to %d",
                          params->quality, facts->title, facts->quality_min, facts->quality_max);
    if (params->preset && vrt_preset_find(params->preset) < 0)
        return vrt_refuse(error, vrt_raise(-EINVAL), "output.preset",
                          "there is no such preset: they go from ultrafast over medium to "
                          "veryslow and placebo");
    if (params->n_threads < 1 || params->n_threads > MAX_THREADS)
        return vrt_refuse(error, vrt_raise(-EINVAL), "output.codec",
                          "%d encoder threads are out of range: 1 to %d", params->n_threads,
                          MAX_THREADS);
    if (!vrt_frame_format_is_valid(&params->format) || params->time_base.num <= 0 ||
        params->time_base.den <= 0)
        return vrt_refuse(error, vrt_raise(-EINVAL), "output.format",
                          "the frames to be encoded have no valid format or time base");
    return vrt_fold(vrt_codec_check(params->codec, error));
}

static void set_properties(AVCodecContext *codec, const struct vrt_encoder_params *params,
                           enum AVPixelFormat pixfmt)
{
    const struct vrt_frame_format *format = &params->format;

    codec->width = format->width;
    codec->height = format->height;
    codec->pix_fmt = pixfmt;
    /*
     * The encoder counts frames, and the segment knows their times: a time base of 1/12800 in the
     * stream itself is read as 12,800 frames a second by those who look there.
     */
    bool known = params->fps.num > 0 && params->fps.den > 0;
    codec->framerate = known ? vrt_rational_av(params->fps) : (AVRational){ 25, 1 };
    codec->time_base = av_inv_q(codec->framerate);
    codec->sample_aspect_ratio = vrt_rational_av(format->sample_aspect);
    codec->color_range = format->full_range ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG;
    codec->color_primaries = (enum AVColorPrimaries)format->primaries;
    codec->color_trc = (enum AVColorTransferCharacteristic)format->transfer;
    codec->colorspace = (enum AVColorSpace)format->color_space;
    if (format->layout == VRT_LAYOUT_YUV && format->chroma_shift_y)
        codec->chroma_sample_location = (enum AVChromaLocation)format->chroma_location;
    codec->thread_count = params->n_threads;
    /* Containers want the parameter sets once, at their head. */
    codec->flags |= AV_CODEC_FLAG_GLOBAL_HEADER | AV_CODEC_FLAG_BITEXACT;
}

static int refuse_format(const struct vrt_encoder *encoder,
                         const struct vrt_encoder_params *params, int r, struct vrt_error *error)
{
    char text[80];

    if (params->options && params->options[0])
        return vrt_refuse(error, vrt_raise(r), "output.options",
                          "the %s encoder cannot write %s with the options that it was given: "
                          "leave them out, or choose others", encoder->title,
                          vrt_frame_format_describe(&params->format, text, sizeof(text)));
    return vrt_refuse(error, vrt_raise(r), "output.format",
                      "the %s encoder cannot write %s: use another codec or size", encoder->title,
                      vrt_frame_format_describe(&params->format, text, sizeof(text)));
}

static int refuse_options(const struct vrt_codec_choice *choice, const char *options,
                          struct vrt_error *error)
{
    char shown[160];

    return vrt_refuse(error, vrt_raise(-EINVAL), "output.options",
                      "%s doesn't know all that is in %s, or not with these values: look at them "
                      "again", choice->encoder->name, vrt_printable(options, shown, sizeof(shown)));
}

/* A refusal here is about size or depth: the parameters were checked before. */
static int open_codec(const struct vrt_encoder *encoder, const struct vrt_encoder_params *params,
                      const struct vrt_codec_choice *choice, AVCodecContext **ret_codec,
                      struct vrt_error *error)
{
    VRT_CLEANUP(avcodec_free_context) AVCodecContext *codec =
        avcodec_alloc_context3(choice->encoder);
    struct vrt_encoder_told told = { .codec = codec };
    atomic_int n_errors = 0;
    int quality = params->quality == VRT_UNKNOWN ? vrt_codec_facts(params->codec)->quality
                                                 : params->quality;

    if (!codec)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the encoder");
    set_properties(codec, params, choice->pixfmt);
    codec->bit_rate = params->bitrate > 0 ? params->bitrate : codec->bit_rate;
    choice->kind->set_options(params, quality, &told);
    int r = told.r;
    if (r >= 0 && params->hwaccel)
        r = vrt_hwaccel_attach(params->hwaccel, codec);
    if (r >= 0 && vrt_encoder_options_add(params->options, codec, &told.options, error) < 0) {
        av_dict_free(&told.options);
        return vrt_raise(-EINVAL);
    }
    codec->opaque = &n_errors;
    if (r >= 0)
        r = avcodec_open2(codec, choice->encoder, &told.options);
    codec->opaque = NULL;
    av_dict_free(&told.options);
    if (r == AVERROR(ENOMEM))
        return refuse_encoder(encoder, r, error);
    if (r < 0)
        return refuse_format(encoder, params, vrt_av_errno(r), error);
    /* In any case: SVT-AV1 never ends before it was given a frame (vrt_encoder_free()). */
    *ret_codec = VRT_STEAL(codec);
    return n_errors > 0 && params->options && params->options[0] ?
           refuse_options(choice, params->options, error) : 0;
}

/* A black frame, or a green one, whose packet nobody will see. Return: 0; a negative AVERROR. */
static int send_any_frame(AVCodecContext *codec, enum AVPixelFormat pixfmt)
{
    VRT_CLEANUP(vrt_av_frame_freep) AVFrame *frame = av_frame_alloc();

    if (!frame)
        return AVERROR(ENOMEM);
    frame->width = codec->width;
    frame->height = codec->height;
    frame->format = pixfmt;
    frame->pts = 0;
    int r = av_frame_get_buffer(frame, 0);
    for (int i = 0; r >= 0 && i < AV_NUM_DATA_POINTERS && frame->buf[i]; i++)
        memset(frame->buf[i]->data, 0, frame->buf[i]->size);
    if (r >= 0)
        r = vrt_hwaccel_upload(codec, &frame);
    return r < 0 ? r : avcodec_send_frame(codec, frame);
}

/* Gives `codec` the extradata that come with the first packet of `other`, which is like it and is
 * of no use after that. Return: 0; a negative AVERROR. */
static int borrow_extradata(AVCodecContext *codec, AVCodecContext *other, AVPacket *packet)
{
    int r = send_any_frame(other, other->pix_fmt);
    size_t size;

    if (r >= 0)
        r = avcodec_send_frame(other, NULL);
    if (r >= 0)
        r = avcodec_receive_packet(other, packet);
    if (r < 0)
        return r;
    const uint8_t *data = av_packet_get_side_data(packet, AV_PKT_DATA_NEW_EXTRADATA, &size);
    if (data) {
        codec->extradata = av_mallocz(size + AV_INPUT_BUFFER_PADDING_SIZE);
        if (!codec->extradata)
            return AVERROR(ENOMEM);
        memcpy(codec->extradata, data, size);
        codec->extradata_size = (int)size;
    }
    av_packet_unref(packet);
    return 0;
}

/* Finds the level of the highest bitrate, so that segments of lower ones have the same. Return: 0;
 * -errno with a sentence. */
static int find_level(const struct vrt_encoder *encoder, const struct vrt_codec_choice *choice,
                      struct vrt_encoder_params *params, struct vrt_error *error)
{
    VRT_CLEANUP(avcodec_free_context) AVCodecContext *codec = NULL;
    struct vrt_encoder_params highest = *params;

    if (!choice->kind->level_of || params->max_bitrate <= params->bitrate)
        return 0;
    highest.bitrate = params->max_bitrate;
    int r = open_codec(encoder, &highest, choice, &codec, error);
    if (r < 0)
        return vrt_fold(r);
    params->level = choice->kind->level_of(codec->extradata, codec->extradata_size);
    return 0;
}

/* Opens the encoder that suits the frames. Return: 0; -errno with a sentence. */
static int open_choice(struct vrt_encoder *encoder, const struct vrt_encoder_params *asked,
                       struct vrt_error *error)
{
    const struct vrt_codec_choice choice =
        asked->hwaccel ? vrt_codec_choose_hardware(asked->hwaccel, asked->codec, &asked->format)
                       : vrt_codec_choose(asked->codec, &asked->format);
    VRT_CLEANUP(avcodec_free_context) AVCodecContext *other = NULL;
    struct vrt_encoder_params found = *asked;
    const struct vrt_encoder_params *params = &found;

    int r = asked->hwaccel ? vrt_hwaccel_check(asked->hwaccel, error) : 0;
    if (r < 0)
        return vrt_fold(r);
    if (!choice.kind)
        return refuse_format(encoder, params, -ENOTSUP, error);
    encoder->kind = choice.kind;
    encoder->pixfmt = choice.pixfmt;
    r = find_level(encoder, &choice, &found, error);
    if (r < 0)
        return vrt_fold(r);
    r = open_codec(encoder, params, &choice, &encoder->codec, error);
    if (r < 0 || !choice.kind->late_extradata || encoder->codec->extradata_size)
        return vrt_fold(r);
    r = open_codec(encoder, params, &choice, &other, error);
    if (r < 0)
        return vrt_fold(r);
    r = borrow_extradata(encoder->codec, other, encoder->packet);
    return r < 0 ? refuse_encoder(encoder, r, error) : 0;
}

/* FFmpeg's number; some encoders tell it as an option of theirs alone. */
static int profile_of(const AVCodecContext *codec)
{
    int64_t profile;

    if (codec->profile != FF_PROFILE_UNKNOWN || !codec->codec->priv_class ||
        av_opt_get_int(codec->priv_data, "profile", 0, &profile) < 0)
        return codec->profile;
    return (int)profile;
}

static int write_head(struct vrt_encoder *encoder, const struct vrt_encoder_params *params,
                      struct vrt_error *error)
{
    const AVCodecContext *codec = encoder->codec;
    const struct vrt_segment_head head = {
        .codec = params->codec,
        .profile = profile_of(codec),
        .level = codec->level,
        .format = params->format,
        .time_base = params->time_base,
        .fps = params->fps,
    };

    return vrt_fold(vrt_segment_write_head(encoder->sink, &head, codec->extradata,
                                           codec->extradata_size, error));
}

/* An encoder that writes nowhere yet. */
static int prepare(const struct vrt_encoder_params *params, struct vrt_encoder **ret_encoder,
                   struct vrt_error *error)
{
    VRT_CLEANUP(vrt_encoder_freep) struct vrt_encoder *encoder = NULL;

    vrt_av_log_install();
    int r = check_params(params, error);
    if (r < 0)
        return vrt_fold(r);
    encoder = calloc(1, sizeof(*encoder));
    if (!encoder)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the encoder");
    encoder->title = vrt_codec_facts(params->codec)->title;
    encoder->is = params->codec;
    encoder->format = params->format;
    encoder->packet = av_packet_alloc();
    if (!encoder->packet)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the encoder");
    r = open_choice(encoder, params, error);
    if (r < 0)
        return vrt_fold(r);
    *ret_encoder = VRT_STEAL(encoder);
    return 0;
}

int vrt_encoder_try(const struct vrt_encoder_params *params, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_encoder_freep) struct vrt_encoder *encoder = NULL;

    int r = prepare(params, &encoder, error);
    if (r < 0 || !params->hwaccel)
        return vrt_fold(r);
    r = send_any_frame(encoder->codec, encoder->pixfmt);
    if (r >= 0)
        r = avcodec_send_frame(encoder->codec, NULL);
    if (r >= 0)
        r = avcodec_receive_packet(encoder->codec, encoder->packet);
    return r < 0 ? refuse_encoder(encoder, r, error) : 0;
}

int vrt_encoder_new(const struct vrt_encoder_params *params, int fd,
                    struct vrt_encoder **ret_encoder, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_encoder_freep) struct vrt_encoder *encoder = NULL;

    int r = prepare(params, &encoder, error);
    if (r < 0)
        return vrt_fold(r);
    r = vrt_sink_open(fd, &encoder->sink, error);
    if (r < 0)
        return vrt_fold(r);
    r = write_head(encoder, params, error);
    if (r < 0)
        return vrt_fold(r);
    *ret_encoder = VRT_STEAL(encoder);
    return 0;
}

/*
 * An encoder that reorders more than it may, or makes up frames, would spoil every time stamp after
 * it: that is an error here rather than a riddle in the joiner.
 */
static int write_packet(struct vrt_encoder *encoder, struct vrt_error *error)
{
    AVPacket *packet = encoder->packet;
    struct vrt_segment_end *end = &encoder->end;

    int64_t index = packet->pts;
    if (index < 0 || index >= encoder->n_sent || encoder->n_sent - index > WINDOW ||
        end->n_packets - index > VRT_SEGMENT_MAX_DELAY)
        return refuse_encoder(encoder, AVERROR_BUG, error);
    const struct vrt_segment_packet out = {
        .key = packet->flags & AV_PKT_FLAG_KEY,
        .index = index,
        .pts = encoder->frames[index % WINDOW].pts,
        .duration = encoder->frames[index % WINDOW].duration,
    };
    end->delay = VRT_MAX(end->delay, end->n_packets - index);
    end->n_packets++;
    int r = vrt_metadata_insert(encoder->is, packet, &encoder->format.hdr,
                                &encoder->frames[index % WINDOW].extra);
    if (r < 0)
        return refuse_encoder(encoder, r == -ENOMEM ? AVERROR(ENOMEM) : AVERROR_BUG, error);
    return vrt_fold(vrt_segment_write_packet(encoder->sink, &out, packet, error));
}

/* Sends a frame, or the end (NULL), and writes what comes out. */
static int encode(struct vrt_encoder *encoder, const AVFrame *frame, struct vrt_error *error)
{
    int r = avcodec_send_frame(encoder->codec, frame);

    if (r < 0)
        return refuse_encoder(encoder, r, error);
    while ((r = avcodec_receive_packet(encoder->codec, encoder->packet)) >= 0) {
        r = write_packet(encoder, error);
        av_packet_unref(encoder->packet);
        if (r < 0)
            return vrt_fold(r);
    }
    return r == AVERROR(EAGAIN) || r == AVERROR_EOF ? 0 : refuse_encoder(encoder, r, error);
}

static bool has_size(const struct vrt_frame *frame, const struct vrt_frame_format *format)
{
    return frame->format.width == format->width && frame->format.height == format->height;
}

/* Whether it can be sent: of one job all frames have one size, which needn't be the encoder's. */
static bool fits(const struct vrt_encoder *encoder, const struct vrt_frame *frame)
{
    if (encoder->scaler)
        return vrt_scaler_takes(encoder->scaler, &frame->format);
    return vrt_frame_format_scales_to(&frame->format, &encoder->format) &&
           (!encoder->n_sent || has_size(frame, &encoder->format));
}

/* Replaces `view` of the frame by one that is as large as the encoder's are. */
static int scale_frame(struct vrt_encoder *encoder, const struct vrt_frame *frame, AVFrame **view)
{
    AVFrame *scaled;
    int r = encoder->scaler ? 0 : vrt_scaler_new(&frame->format, &encoder->format,
                                                 &encoder->scaler);

    if (r < 0)
        return vrt_fold(r);
    r = vrt_scaler_run(encoder->scaler, *view, &scaled);
    if (r < 0)
        return vrt_fold(r);
    av_frame_free(view);
    *view = scaled;
    return 0;
}

/* The frame as the encoder takes it: planes of ours, or a copy. Return: 0; -errno. */
static int view_frame(struct vrt_encoder *encoder, struct vrt_frame *frame, AVFrame **ret_view)
{
    VRT_CLEANUP(vrt_av_frame_freep) AVFrame *view = NULL, *alpha = NULL;
    int r = vrt_frame_unwrap(frame, &view);

    if (r < 0)
        return vrt_fold(r);
    r = has_size(frame, &encoder->format) ? 0 : scale_frame(encoder, frame, &view);
    if (r < 0)
        return vrt_fold(r);
    const bool has_alpha = frame->alpha && encoder->format.has_alpha;
    r = has_alpha ? vrt_alpha_fit(frame->alpha, &encoder->format, &alpha) : 0;
    if (r < 0)
        return vrt_fold(r);
    const bool is_ours = view->format == (int)encoder->pixfmt;
    r = is_ours ? 0 : vrt_pack_replace(&view, alpha, encoder->pixfmt);
    if (r < 0)
        return vrt_fold(r);
    *ret_view = VRT_STEAL(view);
    return 0;
}

int vrt_encoder_send(struct vrt_encoder *encoder, struct vrt_frame *frame,
                     struct vrt_error *error)
{
    VRT_CLEANUP(vrt_av_frame_freep) AVFrame *view = NULL;
    struct vrt_segment_end *end = &encoder->end;
    int64_t last = encoder->n_sent - 1;

    if (!fits(encoder, frame) ||
        (last >= 0 && frame->pts <= encoder->frames[last % WINDOW].pts))
        return vrt_refuse(error, vrt_raise(-EINVAL), "encode.failed",
                          "frame %lld does not follow the one before it in format or time",
                          (long long)frame->index);
    int r = view_frame(encoder, frame, &view);
    if (r < 0)
        return vrt_refuse_errno(error, vrt_fold(r), "the encoder");
    r = vrt_hwaccel_upload(encoder->codec, &view);
    if (r < 0)
        return refuse_encoder(encoder, r, error);
    view->pts = encoder->n_sent;
    /* Where it is constant, FFmpeg's own encoders look for it here. */
    view->quality = encoder->codec->global_quality;
    encoder->frames[encoder->n_sent % WINDOW].pts = frame->pts;
    encoder->frames[encoder->n_sent % WINDOW].duration = frame->duration;
    encoder->frames[encoder->n_sent % WINDOW].extra = frame->extra;
    if (end->n_first <= VRT_SEGMENT_MAX_DELAY)
        end->first_pts[end->n_first++] = frame->pts;
    end->end_pts = frame->pts + frame->duration;
    encoder->n_sent++;
    return vrt_fold(encode(encoder, view, error));
}

int vrt_encoder_finish(struct vrt_encoder *encoder, int64_t *ret_size_bytes,
                       struct vrt_error *error)
{
    int r = encoder->n_sent ? encode(encoder, NULL, error) : 0;

    if (r < 0)
        return vrt_fold(r);
    if (encoder->end.n_packets != encoder->n_sent)
        return vrt_refuse(error, vrt_raise(-EIO), "encode.failed",
                          "the %s encoder lost frames: %lld went in, %lld came out",
                          encoder->title, (long long)encoder->n_sent,
                          (long long)encoder->end.n_packets);
    r = vrt_segment_write_end(encoder->sink, &encoder->end, error);
    if (r < 0)
        return vrt_fold(r);
    *ret_size_bytes = encoder->sink->size_bytes;
    return 0;
}

struct vrt_encoder *vrt_encoder_free(struct vrt_encoder *encoder)
{
    if (!encoder)
        return NULL;
    if (encoder->codec && encoder->kind->needs_frame && !encoder->n_sent &&
        send_any_frame(encoder->codec, encoder->pixfmt) < 0) {
        vrt_log_debug("an encoder without the frame that it needs goes with its process");
        encoder->codec = NULL;
    }
    avcodec_free_context(&encoder->codec);
    av_packet_free(&encoder->packet);
    encoder->sink = vrt_sink_close(encoder->sink);
    vrt_scaler_free(encoder->scaler);
    free(encoder);
    return NULL;
}

int vrt_encoder_check_segment(const struct vrt_encoder_params *params, int fd,
                              struct vrt_error *error)
{
    VRT_CLEANUP(vrt_segment_reader_closep) struct vrt_segment_reader *reader = NULL;
    VRT_CLEANUP(vrt_encoder_freep) struct vrt_encoder *encoder = NULL;

    int r = vrt_segment_reader_open(fd, 1, &reader, error);
    if (r < 0)
        return vrt_fold(r);
    r = prepare(params, &encoder, error);
    if (r < 0)
        return vrt_fold(r);
    const struct vrt_segment_head *head = &reader->head;
    size_t size = (size_t)encoder->codec->extradata_size;
    if (head->codec == params->codec && head->time_base.num == params->time_base.num &&
        head->time_base.den == params->time_base.den &&
        vrt_frame_format_same_planes(&head->format, &params->format) &&
        head->format.has_alpha == params->format.has_alpha &&
        (size_t)reader->extradata_size == size &&
        (!size || memcmp(reader->extradata, encoder->codec->extradata, size) == 0))
        return 0;
    return vrt_refuse(error, vrt_raise(-EBADMSG), "segment.damaged",
                      "a segment of the restored video was made by another encoder");
}
