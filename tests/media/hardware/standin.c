/* SPDX-License-Identifier: MIT */

/*
 * In the place of hardware: libx264, when FFmpeg is asked for h264_nvenc; its own decoders, when
 * they are to have NVIDIA's decode, as surfaces of NV12, P010 and P016 in no card's memory
 *
 * Linked into a vrt-media of the tests' own, whose calls of some functions of FFmpeg's come here
 * (--wrap). What is tested by that is all that is ours: which encoder and decoder is chosen, tried,
 * named and gone on with, in which process, what surfaces become, and what happens where they fail.
 * NVIDIA's encoder and decoder, what they are told and how FFmpeg calls them are not.
 *
 * The file $VRT_STANDIN_PLAN has a word of what is to go wrong, and with which frame of a process.
 */

#include <dlfcn.h>
#include <libavcodec/avcodec.h>
#include <libavutil/hwcontext.h>
#include <libavutil/pixdesc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const AVCodec *__real_avcodec_find_encoder_by_name(const char *name);
const AVCodec *__wrap_avcodec_find_encoder_by_name(const char *name);
int __real_av_hwdevice_ctx_create(AVBufferRef **device, enum AVHWDeviceType type,
                                  const char *name, AVDictionary *options, int flags);
int __wrap_av_hwdevice_ctx_create(AVBufferRef **device, enum AVHWDeviceType type,
                                  const char *name, AVDictionary *options, int flags);
int __real_avcodec_open2(AVCodecContext *codec, const AVCodec *encoder, AVDictionary **options);
int __wrap_avcodec_open2(AVCodecContext *codec, const AVCodec *encoder, AVDictionary **options);
int __real_avcodec_receive_frame(AVCodecContext *codec, AVFrame *frame);
int __wrap_avcodec_receive_frame(AVCodecContext *codec, AVFrame *frame);
int __wrap_av_hwframe_transfer_data(AVFrame *to, const AVFrame *from, int flags);
void *__real_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags);

const AVCodec *__wrap_avcodec_find_encoder_by_name(const char *name)
{
    return __real_avcodec_find_encoder_by_name(strcmp(name, "h264_nvenc") == 0 ? "libx264" : name);
}

/* What is to go wrong, with frame `at`; "": nothing. */
static struct {
    char what[16];
    int at;
} plan;

/* The decoder that is taken for one of hardware, and how many frames those gave out. */
static const AVCodecContext *hardware;
static enum AVPixelFormat decoded;
static int n_frames;

/* Where files can still be opened. */
static void read_plan(void)
{
    const char *path = getenv("VRT_STANDIN_PLAN");
    FILE *file = path ? fopen(path, "r") : NULL;

    if (file && fscanf(file, "%15s %d", plan.what, &plan.at) < 1)
        plan.what[0] = '\0';
    if (file)
        fclose(file);
}

static bool goes_wrong(const char *what)
{
    return strcmp(plan.what, what) == 0 && n_frames == plan.at;
}

/* A CUDA device there always is, of nothing. */
int __wrap_av_hwdevice_ctx_create(AVBufferRef **device, enum AVHWDeviceType type,
                                  const char *name, AVDictionary *options, int flags)
{
    if (type != AV_HWDEVICE_TYPE_CUDA)
        return __real_av_hwdevice_ctx_create(device, type, name, options, flags);
    read_plan();
    *device = av_buffer_allocz(sizeof(AVHWDeviceContext));
    if (!*device)
        return AVERROR(ENOMEM);
    ((AVHWDeviceContext *)(void *)(*device)->data)->type = type;
    return 0;
}

void *__wrap_dlopen(const char *name, int flags)
{
    const bool is_driver = name && (strstr(name, "nvidia-encode") || strstr(name, "nvcuvid"));

    return __real_dlopen(is_driver ? NULL : name, flags);
}

/* As FFmpeg's decoders ask it: of what there is the device's, and where that is refused nothing. */
static void check_get_format(AVCodecContext *decoder)
{
    static const enum AVPixelFormat formats[] = { AV_PIX_FMT_VAAPI, AV_PIX_FMT_CUDA,
                                                  AV_PIX_FMT_YUV420P, AV_PIX_FMT_NONE };

    if (decoder->get_format(decoder, formats) != AV_PIX_FMT_CUDA ||
        decoder->get_format(decoder, formats + 2) != AV_PIX_FMT_NONE || decoder->thread_count != 1)
        abort();
}

int __wrap_avcodec_receive_frame(AVCodecContext *codec, AVFrame *frame)
{
    if (codec == hardware && goes_wrong("fail")) {
        av_log(codec, AV_LOG_ERROR, "the stand-in has fallen off the bus\n");
        return AVERROR_EXTERNAL;
    }
    if (codec == hardware && goes_wrong("crash"))
        abort();
    int r = __real_avcodec_receive_frame(codec, frame);
    if (r < 0 || codec != hardware)
        return r;
    if (strcmp(plan.what, "grain") == 0)
        codec->properties |= FF_CODEC_PROPERTY_FILM_GRAIN;
    decoded = frame->format;
    frame->format = AV_PIX_FMT_CUDA;
    return 0;
}

/* A surface of as many bits as the card has for it, samples at the top. */
int __wrap_av_hwframe_transfer_data(AVFrame *to, const AVFrame *from, int flags)
{
    const AVPixFmtDescriptor *planar = av_pix_fmt_desc_get(decoded);
    const int depth = planar->comp[0].depth;
    uint16_t line[4096];

    (void)flags;
    to->format = depth == 8 ? AV_PIX_FMT_NV12 : depth == 10 ? AV_PIX_FMT_P010 : AV_PIX_FMT_P016;
    to->width = from->width;
    to->height = from->height;
    int r = av_frame_get_buffer(to, 0);
    if (r < 0)
        return r;
    const AVPixFmtDescriptor *surface = av_pix_fmt_desc_get(to->format);
    for (int i = 0; to->buf[i]; i++)
        memset(to->buf[i]->data, 0, to->buf[i]->size);
    for (int c = 0; c < 3; c++) {
        const int width = AV_CEIL_RSHIFT(to->width, c ? planar->log2_chroma_w : 0);
        for (int y = 0; y < AV_CEIL_RSHIFT(to->height, c ? planar->log2_chroma_h : 0); y++) {
            av_read_image_line(line, (const uint8_t **)(uintptr_t)from->data, from->linesize,
                               planar, 0, y, c, width, 0);
            for (int x = 0; x < width; x++)
                line[x] = (uint16_t)(line[x] << (surface->comp[c].depth - depth));
            if (goes_wrong("differ") && c == 2 && y == 3)
                line[5] ^= (uint16_t)(1 << (surface->comp[c].depth - depth));
            av_write_image_line(line, to->data, to->linesize, surface, 0, y, c, width);
        }
    }
    n_frames++;
    return 0;
}

/* NVENC's words are none of libx264's. */
int __wrap_avcodec_open2(AVCodecContext *codec, const AVCodec *encoder, AVDictionary **options)
{
    /* Another one may lie where one of hardware did. */
    if (codec == hardware)
        hardware = NULL;
    if (encoder && av_codec_is_decoder(encoder) && codec->hw_device_ctx) {
        check_get_format(codec);
        av_buffer_unref(&codec->hw_device_ctx);
        codec->get_format = avcodec_default_get_format;
        hardware = codec;
    }
    const AVDictionaryEntry *cq = options ? av_dict_get(*options, "cq", NULL, 0) : NULL;

    if (cq) {
        av_dict_set(options, "crf", cq->value, 0);
        av_dict_set(options, "preset", "ultrafast", 0);
    }
    return __real_avcodec_open2(codec, encoder, options);
}
