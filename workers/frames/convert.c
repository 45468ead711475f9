/* SPDX-License-Identifier: MIT */

/*
 * Nearly every video decodes to planes of ours already, and costs nothing here. The rest goes
 * through libswscale, told that both sides have the same range and matrix: so it moves samples
 * between layouts and byte orders, and computes nothing.
 */

#include "frames/convert.h"

#include <errno.h>
#include <libavutil/imgutils.h>
#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>
#include <stdlib.h>

#include "base/error.h"
#include "frames/av.h"
#include "frames/pixfmt.h"
#include "frames/view.h"

struct vrt_converter {
    struct SwsContext *scaler;      /* NULL until a frame needs it */
};

int vrt_converter_new(struct vrt_converter **ret_converter)
{
    struct vrt_converter *converter = calloc(1, sizeof(*converter));

    if (!converter)
        return vrt_raise(-ENOMEM);
    *ret_converter = converter;
    return 0;
}

struct vrt_converter *vrt_converter_free(struct vrt_converter *converter)
{
    if (!converter)
        return NULL;
    sws_freeContext(converter->scaler);
    free(converter);
    return NULL;
}

/* Pictures stored from the bottom up (BMP, some raw AVI): rows of ours go down. */
static bool has_negative_stride(const AVFrame *frame)
{
    for (int i = 0; i < VRT_FRAME_MAX_PLANES; i++)
        if (frame->linesize[i] < 0)
            return true;
    return false;
}

/*
 * Both sides get the same range and matrix: values move between layouts, they don't change.
 */
static int open_scaler(struct vrt_converter *converter, const AVFrame *frame,
                       enum AVPixelFormat target, bool full_range)
{
    const int flags = SWS_POINT | SWS_ACCURATE_RND | SWS_BITEXACT | SWS_FULL_CHR_H_INT |
                      SWS_FULL_CHR_H_INP;
    const int *table = sws_getCoefficients(SWS_CS_ITU709);

    converter->scaler = sws_getCachedContext(converter->scaler, frame->width, frame->height,
                                             frame->format, frame->width, frame->height, target,
                                             flags, NULL, NULL, NULL);
    if (!converter->scaler)
        return vrt_raise(-ENOTSUP);
    /* Fails for pairs that have no matrix to set, for which it isn't needed. */
    (void)sws_setColorspaceDetails(converter->scaler, table, full_range, table, full_range, 0,
                                   1 << 16, 1 << 16);
    return 0;
}

/* Frames stored from the bottom up, and those in need of another layout. */
static int convert_copy(struct vrt_converter *converter, const AVFrame *frame,
                        const struct vrt_frame_format *format, struct vrt_frame **ret_frame)
{
    VRT_CLEANUP(vrt_frame_unrefp) struct vrt_frame *copy = NULL;
    uint8_t *data[4] = { NULL };
    int strides[4] = { 0 };

    int r = vrt_frame_new(format, &copy);
    if (r < 0)
        return vrt_fold(r);
    for (int i = 0; i < vrt_frame_format_n_planes(format); i++) {
        data[i] = copy->planes[i].data;
        strides[i] = (int)copy->planes[i].stride_bytes;
    }
    enum AVPixelFormat target = vrt_pixfmt_of(format);
    if (vrt_pixfmt_is_ours(frame->format)) {
        int sample_bytes = vrt_frame_format_sample_bytes(format);
        for (int i = 0; i < vrt_frame_format_n_planes(format); i++)
            av_image_copy_plane(data[i], strides[i], frame->data[i], frame->linesize[i],
                                copy->planes[i].width * sample_bytes, copy->planes[i].height);
    } else {
        r = open_scaler(converter, frame, target, format->full_range);
        if (r < 0)
            return vrt_fold(r);
        r = sws_scale(converter->scaler, (const uint8_t *const *)frame->data, frame->linesize, 0,
                      frame->height, data, strides);
        if (r < 0)
            return vrt_raise(vrt_av_errno(r));
    }
    *ret_frame = VRT_STEAL(copy);
    return 0;
}

int vrt_converter_run(struct vrt_converter *converter, const AVFrame *frame,
                      const struct vrt_frame_format *format, struct vrt_frame **ret_frame)
{
    if (vrt_pixfmt_is_ours(frame->format) && !has_negative_stride(frame))
        return vrt_fold(vrt_frame_wrap(frame, format, ret_frame));
    return vrt_fold(convert_copy(converter, frame, format, ret_frame));
}
