/* SPDX-License-Identifier: MIT */

#include "frames/hwaccel/hwaccel.h"

#include <dlfcn.h>
#include <errno.h>
#include <libavutil/hwcontext.h>
#include <stdio.h>

#include "frames/av.h"

/* Surfaces of a pool: what a look-ahead and the frames on their way hold. */
#define SURFACES 32

static const struct {
    enum AVHWDeviceType type;
    enum AVPixelFormat surface;     /* that frames must lie in; NONE: none, they are copied */
    const char *libraries[VRT_HWACCEL_USE_COUNT];   /* that FFmpeg opens later; NULL: none */
} facts[VRT_HWACCEL_COUNT] = {
    [VRT_HWACCEL_NVENC] = {
        AV_HWDEVICE_TYPE_CUDA, AV_PIX_FMT_NONE, { "libnvidia-encode.so.1", "libnvcuvid.so.1" },
    },
    [VRT_HWACCEL_VAAPI] = { AV_HWDEVICE_TYPE_VAAPI, AV_PIX_FMT_VAAPI, { NULL } },
    [VRT_HWACCEL_QSV] = { AV_HWDEVICE_TYPE_QSV, AV_PIX_FMT_NONE, { NULL } },
    [VRT_HWACCEL_VIDEOTOOLBOX] = { AV_HWDEVICE_TYPE_VIDEOTOOLBOX, AV_PIX_FMT_NONE, { NULL } },
};

/* The process's. */
static struct {
    enum vrt_hwaccel hwaccel;       /* OFF: none was asked for */
    AVBufferRef *device;            /* NULL: there is none */
    char why[160];
    char lacks[VRT_HWACCEL_USE_COUNT][160];     /* of the libraries, why; "": nothing */
} opened;

static bool is_known(enum AVHWDeviceType wanted)
{
    enum AVHWDeviceType type = AV_HWDEVICE_TYPE_NONE;

    while ((type = av_hwdevice_iterate_types(type)) != AV_HWDEVICE_TYPE_NONE)
        if (type == wanted)
            return true;
    return false;
}

void vrt_hwaccel_prepare(enum vrt_hwaccel hwaccel)
{
    vrt_av_log_install();
    opened.hwaccel = hwaccel;
    if (!is_known(facts[hwaccel].type)) {
        snprintf(opened.why, sizeof(opened.why), "this FFmpeg was built without it");
        return;
    }
    int r = av_hwdevice_ctx_create(&opened.device, facts[hwaccel].type, NULL, NULL, 0);
    if (r < 0) {
        const char *said = vrt_av_last_error();
        snprintf(opened.why, sizeof(opened.why), "%s", said[0] ? said : av_err2str(r));
        return;
    }
    for (int i = 0; i < VRT_HWACCEL_USE_COUNT; i++) {
        const char *library = facts[hwaccel].libraries[i];
        if (library && !dlopen(library, RTLD_NOW | RTLD_GLOBAL))
            snprintf(opened.lacks[i], sizeof(opened.lacks[i]), "%s", dlerror());
    }
}

const char *vrt_hwaccel_problem(enum vrt_hwaccel hwaccel, enum vrt_hwaccel_use use)
{
    if (opened.hwaccel != hwaccel)
        return "it wasn't opened";
    if (!opened.device)
        return opened.why;
    return opened.lacks[use][0] ? opened.lacks[use] : NULL;
}

AVBufferRef *vrt_hwaccel_device(void)
{
    return opened.device;
}

int vrt_hwaccel_check(enum vrt_hwaccel hwaccel, struct vrt_error *error)
{
    const char *problem = vrt_hwaccel_problem(hwaccel, VRT_HWACCEL_ENCODES);
    char shown[sizeof(opened.why)];

    if (!problem)
        return 0;
    return vrt_refuse(error, vrt_raise(-ENODEV), "output.codec", "%s doesn't work here: %s",
                      vrt_hwaccel_names[hwaccel], vrt_printable(problem, shown, sizeof(shown)));
}

int vrt_hwaccel_attach(enum vrt_hwaccel hwaccel, AVCodecContext *codec)
{
    codec->hw_device_ctx = av_buffer_ref(opened.device);
    if (!codec->hw_device_ctx)
        return AVERROR(ENOMEM);
    if (facts[hwaccel].surface == AV_PIX_FMT_NONE)
        return 0;
    codec->hw_frames_ctx = av_hwframe_ctx_alloc(opened.device);
    if (!codec->hw_frames_ctx)
        return AVERROR(ENOMEM);
    AVHWFramesContext *frames = (AVHWFramesContext *)(void *)codec->hw_frames_ctx->data;
    frames->format = facts[hwaccel].surface;
    frames->sw_format = codec->pix_fmt;
    frames->width = codec->width;
    frames->height = codec->height;
    frames->initial_pool_size = SURFACES;
    codec->pix_fmt = facts[hwaccel].surface;
    return av_hwframe_ctx_init(codec->hw_frames_ctx);
}

int vrt_hwaccel_upload(const AVCodecContext *codec, AVFrame **frame)
{
    VRT_CLEANUP(vrt_av_frame_freep) AVFrame *surface = NULL;

    if (!codec->hw_frames_ctx)
        return 0;
    surface = av_frame_alloc();
    if (!surface)
        return AVERROR(ENOMEM);
    int r = av_hwframe_get_buffer(codec->hw_frames_ctx, surface, 0);
    if (r >= 0)
        r = av_hwframe_transfer_data(surface, *frame, 0);
    if (r >= 0)
        r = av_frame_copy_props(surface, *frame);
    if (r < 0)
        return r;
    av_frame_free(frame);
    *frame = VRT_STEAL(surface);
    return 0;
}
