/* SPDX-License-Identifier: MIT */

/*
 * A frame owns its memory or is a view of an AVFrame, which then owns it. The other way round, an
 * encoder's AVFrame is a view of a frame, and gives its reference back from whatever thread.
 */

#include "frames/frame.h"

#include <errno.h>
#include <libavutil/buffer.h>
#include <libavutil/frame.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "frames/av.h"
#include "frames/pixfmt.h"
#include "frames/view.h"

/* One reference, sizes of planes set, no samples yet. NULL: no memory. */
static struct vrt_frame *frame_alloc(const struct vrt_frame_format *format)
{
    struct vrt_frame *frame = calloc(1, sizeof(*frame));

    if (!frame)
        return NULL;
    atomic_init(&frame->n_refs, 1);
    frame->format = *format;
    for (int i = 0; i < vrt_frame_format_n_planes(format); i++)
        vrt_frame_format_plane_size(format, i, &frame->planes[i].width, &frame->planes[i].height);
    return frame;
}

int vrt_frame_new(const struct vrt_frame_format *format, struct vrt_frame **ret_frame)
{
    VRT_CLEANUP(vrt_frame_unrefp) struct vrt_frame *frame = NULL;
    const size_t mask = VRT_FRAME_ALIGN_BYTES - 1;
    size_t offsets[VRT_FRAME_MAX_PLANES], size = 0;

    if (!vrt_frame_format_is_valid(format))
        return vrt_raise(-EINVAL);
    frame = frame_alloc(format);
    if (!frame)
        return vrt_raise(-ENOMEM);

    /* Sides are at most VRT_FRAME_MAX_SIDE: nothing here overflows 64 bits. */
    for (int i = 0; i < vrt_frame_format_n_planes(format); i++) {
        struct vrt_plane *plane = &frame->planes[i];
        size_t row = (size_t)plane->width * (size_t)vrt_frame_format_sample_bytes(format);
        plane->stride_bytes = (row + mask) & ~mask;
        offsets[i] = size;
        size += plane->stride_bytes * (size_t)plane->height;
    }
    /* Encoders load whole vectors past the last sample. */
    frame->memory = aligned_alloc(VRT_FRAME_ALIGN_BYTES, size + VRT_FRAME_ALIGN_BYTES);
    if (!frame->memory)
        return vrt_raise(-ENOMEM);
    for (int i = 0; i < vrt_frame_format_n_planes(format); i++) {
        struct vrt_plane *plane = &frame->planes[i];
        size_t row = (size_t)plane->width * (size_t)vrt_frame_format_sample_bytes(format);
        plane->data = (uint8_t *)frame->memory + offsets[i];
        for (int y = 0; y < plane->height; y++)
            memset(plane->data + (size_t)y * plane->stride_bytes + row, 0,
                   plane->stride_bytes - row);
    }
    memset((uint8_t *)frame->memory + size, 0, VRT_FRAME_ALIGN_BYTES);
    frame->writable = true;
    *ret_frame = VRT_STEAL(frame);
    return 0;
}

int vrt_frame_wrap(const AVFrame *decoded, const struct vrt_frame_format *format,
                   struct vrt_frame **ret_frame)
{
    VRT_CLEANUP(vrt_frame_unrefp) struct vrt_frame *frame = frame_alloc(format);

    vrt_assert(vrt_pixfmt_is_ours(decoded->format));
    if (!frame)
        return vrt_raise(-ENOMEM);
    frame->decoded = av_frame_clone(decoded);
    if (!frame->decoded)
        return vrt_raise(-ENOMEM);
    for (int i = 0; i < vrt_frame_format_n_planes(format); i++) {
        vrt_assert(decoded->linesize[i] > 0);
        frame->planes[i].data = frame->decoded->data[i];
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

struct vrt_frame *vrt_frame_ref(struct vrt_frame *frame)
{
    atomic_fetch_add_explicit(&frame->n_refs, 1, memory_order_relaxed);
    return frame;
}

struct vrt_frame *vrt_frame_unref(struct vrt_frame *frame)
{
    if (!frame || atomic_fetch_sub_explicit(&frame->n_refs, 1, memory_order_acq_rel) != 1)
        return NULL;
    av_frame_free(&frame->decoded);
    free(frame->memory);
    free(frame);
    return NULL;
}
