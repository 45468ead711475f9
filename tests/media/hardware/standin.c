/* SPDX-License-Identifier: MIT */

/*
 * In the place of hardware: libx264, when FFmpeg is asked for h264_nvenc
 *
 * Linked into a vrt-media of the tests' own, whose calls of some functions of FFmpeg's come here
 * (--wrap). What is tested by that is all that is ours: which encoder is chosen, tried, named and
 * gone on with, in which process. NVIDIA's encoder and what it is told are not.
 */

#include <dlfcn.h>
#include <libavcodec/avcodec.h>
#include <libavutil/hwcontext.h>
#include <string.h>

const AVCodec *__real_avcodec_find_encoder_by_name(const char *name);
const AVCodec *__wrap_avcodec_find_encoder_by_name(const char *name);
int __real_av_hwdevice_ctx_create(AVBufferRef **device, enum AVHWDeviceType type,
                                  const char *name, AVDictionary *options, int flags);
int __wrap_av_hwdevice_ctx_create(AVBufferRef **device, enum AVHWDeviceType type,
                                  const char *name, AVDictionary *options, int flags);
int __real_avcodec_open2(AVCodecContext *codec, const AVCodec *encoder, AVDictionary **options);
int __wrap_avcodec_open2(AVCodecContext *codec, const AVCodec *encoder, AVDictionary **options);
void *__real_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags);

const AVCodec *__wrap_avcodec_find_encoder_by_name(const char *name)
{
    return __real_avcodec_find_encoder_by_name(strcmp(name, "h264_nvenc") == 0 ? "libx264" : name);
}

/* A CUDA device there always is, of nothing. */
int __wrap_av_hwdevice_ctx_create(AVBufferRef **device, enum AVHWDeviceType type,
                                  const char *name, AVDictionary *options, int flags)
{
    if (type != AV_HWDEVICE_TYPE_CUDA)
        return __real_av_hwdevice_ctx_create(device, type, name, options, flags);
    *device = av_buffer_allocz(1);
    return *device ? 0 : AVERROR(ENOMEM);
}

void *__wrap_dlopen(const char *name, int flags)
{
    return name && strstr(name, "nvidia-encode") ? __real_dlopen(NULL, flags)
                                                 : __real_dlopen(name, flags);
}

/* NVENC's words are none of libx264's. */
int __wrap_avcodec_open2(AVCodecContext *codec, const AVCodec *encoder, AVDictionary **options)
{
    const AVDictionaryEntry *cq = options ? av_dict_get(*options, "cq", NULL, 0) : NULL;

    if (cq) {
        av_dict_set(options, "crf", cq->value, 0);
        av_dict_set(options, "preset", "ultrafast", 0);
    }
    return __real_avcodec_open2(codec, encoder, options);
}
