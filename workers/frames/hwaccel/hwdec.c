/* SPDX-License-Identifier: MIT */

/*
 * Of a stream that hardware doesn't take FFmpeg's decoders ask on, and would decode it by software:
 * that is answered by no format at all, so that it fails, and whoever reads begins anew by software
 * with all its threads.
 *
 * Film grain of H.264 and HEVC is put on by software, behind the decoder, and nobody would behind
 * hardware's; AV1's is put on by hardware, but how is left to it. Neither would be the same.
 */

#include "frames/hwaccel/hwdec.h"

#include <errno.h>
#include <libavutil/hwcontext.h>
#include <libavutil/pixdesc.h>

#include "frames/av.h"
#include "frames/hwaccel/hwaccel.h"
#include "frames/hwaccel/surface.h"

static enum AVHWDeviceType device_type(void)
{
    return ((const AVHWDeviceContext *)(const void *)vrt_hwaccel_device()->data)->type;
}

/* What `codec` decodes to in the device's memory; NONE: it doesn't. */
static enum AVPixelFormat surface_of(const AVCodec *codec)
{
    const AVCodecHWConfig *config;

    for (int i = 0; (config = avcodec_get_hw_config(codec, i)); i++)
        if (config->methods & AV_CODEC_HW_CONFIG_METHOD_HW_DEVICE_CTX &&
            config->device_type == device_type())
            return config->pix_fmt;
    return AV_PIX_FMT_NONE;
}

static int refuse(enum vrt_hwdec hwdec, const char *why, struct vrt_error *error)
{
    char shown[160];

    return vrt_refuse(error, vrt_raise(-ENODEV), "input.codec", "%s doesn't work here: %s",
                      vrt_hwdec_names[hwdec], vrt_printable(why, shown, sizeof(shown)));
}

int vrt_hwdec_find(enum vrt_hwdec hwdec, enum AVCodecID id, const AVCodec **ret_codec,
                   struct vrt_error *error)
{
    const char *why = vrt_hwaccel_problem(vrt_hwdec_hwaccel(hwdec), VRT_HWACCEL_DECODES);
    const AVCodec *codec;
    void *state = NULL;

    if (why)
        return refuse(hwdec, why, error);
    if (id == AV_CODEC_ID_AV1 && !vrt_av_hwdec_tells_all_of_av1)
        return vrt_refuse(error, vrt_raise(-ENODEV), "input.codec", "of AV1 this FFmpeg loses "
                          "captions and HDR where hardware decodes; FFmpeg 7 keeps them");
    while ((codec = av_codec_iterate(&state)))
        /* Wrappers are decoders of the driver's, with an order and times of their own. */
        if (codec->id == id && av_codec_is_decoder(codec) && !codec->wrapper_name &&
            surface_of(codec) != AV_PIX_FMT_NONE) {
            *ret_codec = codec;
            return 0;
        }
    return vrt_refuse(error, vrt_raise(-ENODEV), "input.codec", "this FFmpeg decodes no %s by %s",
                      avcodec_get_name(id), vrt_hwdec_names[hwdec]);
}

/* AVCodecContext.get_format. */
static enum AVPixelFormat get_format(AVCodecContext *decoder, const enum AVPixelFormat *formats)
{
    const enum AVPixelFormat surface = surface_of(decoder->codec);

    while (*formats != AV_PIX_FMT_NONE && *formats != surface)
        formats++;
    return *formats;
}

int vrt_hwdec_attach(AVCodecContext *decoder)
{
    decoder->hw_device_ctx = av_buffer_ref(vrt_hwaccel_device());
    decoder->get_format = get_format;
    decoder->thread_count = 1;
    return decoder->hw_device_ctx ? 0 : vrt_raise(-ENOMEM);
}

int vrt_hwdec_refuse(enum vrt_hwdec hwdec, struct vrt_error *error)
{
    const char *said = vrt_av_last_error();
    char shown[160];

    return vrt_refuse(error, vrt_raise(-ENODEV), "input.codec", "%s doesn't decode this: %s",
                      vrt_hwdec_names[hwdec],
                      said[0] ? vrt_printable(said, shown, sizeof(shown)) : "it doesn't say why");
}

/* Copies `frame` from the device, what is shown of it. Return: 0; a negative AVERROR. */
static int download(const AVFrame *frame, AVFrame *surface)
{
    int r = av_hwframe_transfer_data(surface, frame, 0);

    if (r < 0)
        return r;
    /* In the device's memory FFmpeg left out what is cropped right and below alone. */
    surface->crop_left = frame->crop_left;
    surface->crop_top = frame->crop_top;
    surface->crop_right = frame->crop_right;
    surface->crop_bottom = frame->crop_bottom;
    return av_frame_apply_cropping(surface, AV_FRAME_CROP_UNALIGNED);
}

/* Return: 0; a negative AVERROR. */
static int copy_props(const AVFrame *frame, AVFrame *planar)
{
    const int r = av_frame_copy_props(planar, frame);

    planar->crop_left = planar->crop_right = planar->crop_top = planar->crop_bottom = 0;
    return r;
}

int vrt_hwdec_fetch(enum vrt_hwdec hwdec, AVCodecContext *decoder, vrt_hwdec_get_frame *get_frame,
                    AVFrame *frame, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_av_frame_freep) AVFrame *surface = av_frame_alloc();
    VRT_CLEANUP(vrt_av_frame_freep) AVFrame *planar = av_frame_alloc();

    if (!surface || !planar)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the input");
    if (decoder->properties & FF_CODEC_PROPERTY_FILM_GRAIN)
        return vrt_refuse(error, vrt_raise(-ENODEV), "input.codec", "the video has film grain, "
                          "which %s leaves out or makes otherwise than software",
                          vrt_hwdec_names[hwdec]);
    if (download(frame, surface) < 0)
        return vrt_hwdec_refuse(hwdec, error);
    planar->format = decoder->sw_pix_fmt;
    planar->width = surface->width;
    planar->height = surface->height;
    int r = get_frame(decoder, planar);
    if (r == 0 && vrt_surface_copy(surface, planar) < 0)
        return vrt_refuse(error, vrt_raise(-ENODEV), "input.codec", "%s decodes this to %s, of "
                          "which no %s can be made exactly", vrt_hwdec_names[hwdec],
                          av_get_pix_fmt_name(surface->format),
                          av_get_pix_fmt_name(planar->format));
    if (r < 0 || copy_props(frame, planar) < 0)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the input");
    av_frame_unref(frame);
    av_frame_move_ref(frame, planar);
    return 0;
}
