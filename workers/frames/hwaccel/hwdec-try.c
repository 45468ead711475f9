/* SPDX-License-Identifier: MIT */

/* A stream to try a decoder with is encoded here: told is what is installed of both ends. */

#include <errno.h>
#include <libavutil/imgutils.h>
#include <libavutil/pixdesc.h>
#include <string.h>

#include "frames/av.h"
#include "frames/hwaccel/hwdec.h"

/* Large enough for every decoder; frames that refer to one another. */
#define WIDTH 320
#define HEIGHT 240
#define FRAMES 4

/* Packets, or frames: encoders may make one more of a frame that isn't shown. */
struct stream {
    AVPacket *packets[2 * FRAMES];
    AVFrame *frames[2 * FRAMES];
    int n_packets, n_frames;
};

static void stream_done(struct stream *stream)
{
    for (int i = 0; i < 2 * FRAMES; i++) {
        av_packet_free(&stream->packets[i]);
        av_frame_free(&stream->frames[i]);
    }
}

/* A texture that moves. Return: 0; a negative AVERROR. */
static int draw(int number, AVFrame *frame)
{
    frame->width = WIDTH;
    frame->height = HEIGHT;
    frame->format = AV_PIX_FMT_YUV420P;
    frame->pts = number;
    int r = av_frame_get_buffer(frame, 0);
    for (int i = 0; r >= 0 && i < 3; i++)
        for (int y = 0; y < (i ? HEIGHT / 2 : HEIGHT); y++)
            for (int x = 0; x < (i ? WIDTH / 2 : WIDTH); x++)
                frame->data[i][y * frame->linesize[i] + x] =
                    (uint8_t)(16 + ((x + 3 * number) * (y + 5) / (7 + i) + x * i) % 220);
    return r;
}

/* Return: 0; a negative AVERROR. */
static int take_packets(AVCodecContext *encoder, struct stream *stream)
{
    int r = 0;

    while (r >= 0 && stream->n_packets < 2 * FRAMES) {
        AVPacket *packet = stream->packets[stream->n_packets] = av_packet_alloc();
        r = packet ? avcodec_receive_packet(encoder, packet) : AVERROR(ENOMEM);
        if (r >= 0)
            stream->n_packets++;
        else
            av_packet_free(&stream->packets[stream->n_packets]);
    }
    return r == AVERROR(EAGAIN) || r == AVERROR_EOF ? 0 : r;
}

/* Return: 0; a negative AVERROR. */
static int encode(const AVCodec *codec, struct stream *stream)
{
    VRT_CLEANUP(avcodec_free_context) AVCodecContext *encoder = avcodec_alloc_context3(codec);

    if (!encoder)
        return AVERROR(ENOMEM);
    encoder->width = WIDTH;
    encoder->height = HEIGHT;
    encoder->pix_fmt = AV_PIX_FMT_YUV420P;
    encoder->time_base = (AVRational){ 1, 25 };
    encoder->thread_count = 1;
    int r = avcodec_open2(encoder, codec, NULL);
    for (int i = 0; r >= 0 && i <= FRAMES; i++) {
        VRT_CLEANUP(vrt_av_frame_freep) AVFrame *frame = av_frame_alloc();
        r = frame ? draw(i, frame) : AVERROR(ENOMEM);
        if (r >= 0)
            r = avcodec_send_frame(encoder, i < FRAMES ? frame : NULL);
        if (r >= 0)
            r = take_packets(encoder, stream);
    }
    return r;
}

/* As vrt_hwdec_get_frame. */
static int get_frame(AVCodecContext *decoder, AVFrame *frame)
{
    (void)decoder;
    return av_frame_get_buffer(frame, 0);
}

/* Return: 0; a negative AVERROR; -ENODEV with a sentence, of hardware. */
static int take_frames(AVCodecContext *decoder, enum vrt_hwdec hwdec, struct stream *stream,
                       struct vrt_error *error)
{
    int r = 0;

    while (r >= 0 && stream->n_frames < 2 * FRAMES) {
        AVFrame *frame = stream->frames[stream->n_frames] = av_frame_alloc();
        r = frame ? avcodec_receive_frame(decoder, frame) : AVERROR(ENOMEM);
        if (r >= 0 && hwdec)
            r = vrt_hwdec_fetch(hwdec, decoder, get_frame, frame, error);
        if (r >= 0)
            stream->n_frames++;
        else
            av_frame_free(&stream->frames[stream->n_frames]);
    }
    return r == AVERROR(EAGAIN) || r == AVERROR_EOF ? 0 : r;
}

/* Decodes the packets; hwdec OFF: by software. Return: likewise. */
static int decode(const AVCodec *codec, enum vrt_hwdec hwdec, struct stream *stream,
                  struct vrt_error *error)
{
    VRT_CLEANUP(avcodec_free_context) AVCodecContext *decoder = avcodec_alloc_context3(codec);
    int r = decoder ? 0 : AVERROR(ENOMEM);

    if (r == 0 && hwdec)
        r = vrt_hwdec_attach(decoder);
    if (r == 0)
        r = avcodec_open2(decoder, codec, NULL);
    for (int i = 0; r >= 0 && i <= stream->n_packets; i++) {
        r = avcodec_send_packet(decoder, i < stream->n_packets ? stream->packets[i] : NULL);
        if (r >= 0)
            r = take_frames(decoder, hwdec, stream, error);
    }
    return r;
}

static bool is_same(const AVFrame *a, const AVFrame *b)
{
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(a->format);
    int bytes[4];

    if (a->format != b->format || a->width != b->width || a->height != b->height ||
        av_image_fill_linesizes(bytes, a->format, a->width) < 0)
        return false;
    for (int i = 0; i < av_pix_fmt_count_planes(a->format); i++) {
        const int height = AV_CEIL_RSHIFT(a->height, i ? desc->log2_chroma_h : 0);
        for (int y = 0; y < height; y++)
            if (memcmp(a->data[i] + (ptrdiff_t)y * a->linesize[i],
                       b->data[i] + (ptrdiff_t)y * b->linesize[i], (size_t)bytes[i]) != 0)
                return false;
    }
    return true;
}

/* FFmpeg's software for it, the best that is here. */
static const AVCodec *find_encoder(const struct vrt_codec_facts *facts)
{
    const AVCodec *codec = NULL;

    for (int i = 0; i < VRT_CODEC_ENCODERS_MAX && facts->encoders[i] && !codec; i++)
        codec = avcodec_find_encoder_by_name(facts->encoders[i]);
    return codec;
}

int vrt_hwdec_try(enum vrt_hwdec hwdec, enum vrt_codec codec, struct vrt_error *error)
{
    const struct vrt_codec_facts *facts = vrt_codec_facts(codec);
    const AVCodec *encoder = find_encoder(facts), *decoder = NULL;
    const AVCodecDescriptor *descriptor = avcodec_descriptor_get_by_name(facts->ffmpeg);
    VRT_CLEANUP(stream_done) struct stream sent = { .n_packets = 0 };
    VRT_CLEANUP(stream_done) struct stream software = { .n_packets = 0 };
    struct vrt_error why = { .id = NULL };

    int r = vrt_hwdec_find(hwdec, descriptor ? descriptor->id : AV_CODEC_ID_NONE, &decoder, error);
    if (r < 0)
        return vrt_fold(r);
    const AVCodec *other = avcodec_find_decoder(descriptor->id);
    if (!encoder || !other || encode(encoder, &sent) < 0 || sent.n_packets == 0)
        return vrt_refuse(error, vrt_raise(-ENODEV), "input.codec", "%s can't be tried without an "
                          "encoder of %s: a job will", vrt_hwdec_names[hwdec], facts->title);
    for (int i = 0; i < sent.n_packets; i++)
        software.packets[i] = av_packet_clone(sent.packets[i]);
    software.n_packets = sent.n_packets;
    r = decode(other, VRT_HWDEC_OFF, &software, NULL);
    if (r >= 0)
        r = decode(decoder, hwdec, &sent, &why);
    if (r < 0 && why.message[0])
        *error = why;
    else if (r < 0)
        return vrt_fold(vrt_hwdec_refuse(hwdec, error));
    if (r < 0)
        return vrt_raise(-ENODEV);
    bool are_same = sent.n_frames == software.n_frames && sent.n_frames == FRAMES;
    for (int i = 0; are_same && i < FRAMES; i++)
        are_same = is_same(sent.frames[i], software.frames[i]);
    return are_same ? 0 : vrt_refuse(error, vrt_raise(-ENODEV), "input.codec", "%s decodes %s to "
                                     "other samples than software", vrt_hwdec_names[hwdec],
                                     facts->title);
}
