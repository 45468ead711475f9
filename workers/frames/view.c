/* SPDX-License-Identifier: MIT */

/*
 * A decoded frame is a view of an AVFrame, which owns its samples. The other way round, an
 * encoder's AVFrame is a view of a frame, and gives its reference back from whatever thread.
 */

#include "frames/view.h"

#include <errno.h>
#include <libavutil/buffer.h>

#include "base/error.h"
#include "frames/av.h"
#include "frames/pixfmt.h"

static void release_decoded(struct vrt_frame *frame)
{
    AVFrame *decoded = frame->owner;

    av_frame_free(&decoded);
}

int vrt_frame_wrap(const AVFrame *decoded, const struct vrt_frame_format *format,
                   struct vrt_frame **ret_frame)
{
    VRT_CLEANUP(vrt_frame_unrefp) struct vrt_frame *frame = vrt_frame_alloc(format);

    vrt_assert(vrt_pixfmt_is_ours(decoded->format));
    if (!frame)
        return vrt_raise(-ENOMEM);
    AVFrame *view = av_frame_clone(decoded);
    if (!view)
        return vrt_raise(-ENOMEM);
    frame->owner = view;
    frame->release = release_decoded;
    for (int i = 0; i < vrt_frame_format_n_planes(format); i++) {
        vrt_assert(decoded->linesize[i] > 0);
        frame->planes[i].data = view->data[i];
        frame->planes[i].stride_bytes = (size_t)decoded->linesize[i];
    }
    *ret_frame = VRT_STEAL(frame);
    return 0;
}

/* The AVBuffer's end: `opaque` is the vrt_frame whose memory it stood for. */
static void release_view(void *opaque, uint8_t *data)
{
    (void)data;
    vrt_frame_unref(opaque);
}

int vrt_frame_unwrap(struct vrt_frame *frame, AVFrame **ret_frame)
{
    VRT_CLEANUP(vrt_av_frame_freep) AVFrame *view = av_frame_alloc();
    const struct vrt_frame_format *format = &frame->format;
    const struct vrt_plane *last = &frame->planes[vrt_frame_format_n_planes(format) - 1];

    if (!view)
        return vrt_raise(-ENOMEM);
    /* One buffer stands for all planes: FFmpeg only asks whether there is one, and releases it. */
    view->buf[0] = av_buffer_create(frame->planes[0].data,
                                    last->stride_bytes * (size_t)last->height,
                                    release_view, frame, AV_BUFFER_FLAG_READONLY);
    if (!view->buf[0])
        return vrt_raise(-ENOMEM);
    vrt_frame_ref(frame);
    for (int i = 0; i < vrt_frame_format_n_planes(format); i++) {
        view->data[i] = frame->planes[i].data;
        view->linesize[i] = (int)frame->planes[i].stride_bytes;
    }
    view->width = format->width;
    view->height = format->height;
    view->format = vrt_pixfmt_of(format);
    view->pts = frame->pts;
    view->sample_aspect_ratio = vrt_rational_av(format->sample_aspect);
    view->color_range = format->full_range ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG;
    view->color_primaries = (enum AVColorPrimaries)format->primaries;
    view->color_trc = (enum AVColorTransferCharacteristic)format->transfer;
    view->colorspace = (enum AVColorSpace)format->color_space;
    view->chroma_location = (enum AVChromaLocation)format->chroma_location;
    *ret_frame = VRT_STEAL(view);
    return 0;
}
