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

struct vrt_frame_pool {
    struct vrt_frame_format format;
    AVBufferPool *buffers;
};

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

static size_t row_bytes(const struct vrt_frame *frame, int plane)
{
    return (size_t)frame->planes[plane].width *
           (size_t)vrt_frame_format_sample_bytes(&frame->format);
}

/* Sets the strides of planes of the frame's own, and the offsets in its memory. Return: the bytes
 * that takes: sides are at most VRT_FRAME_MAX_SIDE, nothing here overflows 64 bits. */
static size_t lay_out(struct vrt_frame *frame, size_t offsets[VRT_FRAME_MAX_PLANES])
{
    const size_t mask = VRT_FRAME_ALIGN_BYTES - 1;
    size_t size = 0;

    for (int i = 0; i < vrt_frame_format_n_planes(&frame->format); i++) {
        struct vrt_plane *plane = &frame->planes[i];
        plane->stride_bytes = (row_bytes(frame, i) + mask) & ~mask;
        offsets[i] = size;
        size += plane->stride_bytes * (size_t)plane->height;
    }
    /* Encoders load whole vectors past the last sample. */
    return size + VRT_FRAME_ALIGN_BYTES;
}

static void release_memory(void *opaque, uint8_t *data)
{
    (void)opaque;
    free(data);
}

/* An AVBufferPool's way to more memory. */
static AVBufferRef *allocate(void *opaque, size_t size_bytes)
{
    uint8_t *data = aligned_alloc(VRT_FRAME_ALIGN_BYTES, size_bytes);
    AVBufferRef *buffer = data ? av_buffer_create(data, size_bytes, release_memory, NULL, 0) : NULL;

    (void)opaque;
    if (!buffer)
        free(data);
    return buffer;
}

/* A frame with memory of the pool, or of its own where that is NULL. */
static int frame_make(const struct vrt_frame_format *format, AVBufferPool *pool,
                      struct vrt_frame **ret_frame)
{
    VRT_CLEANUP(vrt_frame_unrefp) struct vrt_frame *frame = frame_alloc(format);
    size_t offsets[VRT_FRAME_MAX_PLANES];

    if (!frame)
        return vrt_raise(-ENOMEM);
    const size_t size = lay_out(frame, offsets);
    frame->memory = pool ? av_buffer_pool_get(pool) : allocate(NULL, size);
    if (!frame->memory)
        return vrt_raise(-ENOMEM);
    for (int i = 0; i < vrt_frame_format_n_planes(format); i++) {
        struct vrt_plane *plane = &frame->planes[i];
        const size_t row = row_bytes(frame, i);
        plane->data = frame->memory->data + offsets[i];
        for (int y = 0; y < plane->height; y++)
            memset(plane->data + (size_t)y * plane->stride_bytes + row, 0,
                   plane->stride_bytes - row);
    }
    memset(frame->memory->data + size - VRT_FRAME_ALIGN_BYTES, 0, VRT_FRAME_ALIGN_BYTES);
    frame->writable = true;
    *ret_frame = VRT_STEAL(frame);
    return 0;
}

int vrt_frame_new(const struct vrt_frame_format *format, struct vrt_frame **ret_frame)
{
    if (!vrt_frame_format_is_valid(format))
        return vrt_raise(-EINVAL);
    return vrt_fold(frame_make(format, NULL, ret_frame));
}

int vrt_frame_pool_new(const struct vrt_frame_format *format, struct vrt_frame_pool **ret_pool)
{
    VRT_CLEANUP(vrt_frame_pool_freep) struct vrt_frame_pool *pool = NULL;
    VRT_CLEANUP(vrt_frame_unrefp) struct vrt_frame *model = NULL;
    size_t offsets[VRT_FRAME_MAX_PLANES];

    if (!vrt_frame_format_is_valid(format))
        return vrt_raise(-EINVAL);
    pool = calloc(1, sizeof(*pool));
    model = frame_alloc(format);
    if (!pool || !model)
        return vrt_raise(-ENOMEM);
    pool->format = *format;
    pool->buffers = av_buffer_pool_init2(lay_out(model, offsets), NULL, allocate, NULL);
    if (!pool->buffers)
        return vrt_raise(-ENOMEM);
    *ret_pool = VRT_STEAL(pool);
    return 0;
}

struct vrt_frame_pool *vrt_frame_pool_free(struct vrt_frame_pool *pool)
{
    if (!pool)
        return NULL;
    av_buffer_pool_uninit(&pool->buffers);
    free(pool);
    return NULL;
}

int vrt_frame_pool_get(struct vrt_frame_pool *pool, struct vrt_frame **ret_frame)
{
    return vrt_fold(frame_make(&pool->format, pool->buffers, ret_frame));
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
    av_buffer_unref(&frame->memory);
    free(frame);
    return NULL;
}
