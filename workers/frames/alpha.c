/* SPDX-License-Identifier: MIT */

#include "frames/alpha.h"

#include <errno.h>
#include <libavutil/intfloat.h>
#include <libavutil/intreadwrite.h>
#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/macro.h"
#include "frames/av.h"
#include "frames/pixfmt.h"
#include "frames/view.h"

enum AVPixelFormat vrt_alpha_pixfmt(enum AVPixelFormat pixfmt)
{
    static const struct {
        enum AVPixelFormat without, with;
    } pairs[] = {
        { AV_PIX_FMT_RGB24, AV_PIX_FMT_RGBA },
        { AV_PIX_FMT_RGB48LE, AV_PIX_FMT_RGBA64LE },
        { AV_PIX_FMT_RGB48BE, AV_PIX_FMT_RGBA64BE },
        { AV_PIX_FMT_GRAY8, AV_PIX_FMT_YA8 },
        { AV_PIX_FMT_GRAY16LE, AV_PIX_FMT_YA16LE },
        { AV_PIX_FMT_GRAY16BE, AV_PIX_FMT_YA16BE },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(pairs); i++)
        if (pairs[i].without == pixfmt)
            return pairs[i].with;
    return AV_PIX_FMT_NONE;
}

/* A frame with memory. Return: 0; -ENOMEM. */
static int make_frame(int width, int height, enum AVPixelFormat pixfmt, AVFrame **ret_frame)
{
    VRT_CLEANUP(vrt_av_frame_freep) AVFrame *frame = av_frame_alloc();

    if (!frame)
        return vrt_raise(-ENOMEM);
    frame->width = width;
    frame->height = height;
    frame->format = pixfmt;
    if (av_frame_get_buffer(frame, 0) < 0)
        return vrt_raise(-ENOMEM);
    *ret_frame = VRT_STEAL(frame);
    return 0;
}

/* Fills `to`. Return: 0; -ENOTSUP; -errno. */
static int scale(const AVFrame *from, AVFrame *to)
{
    const int flags = SWS_BICUBIC | SWS_ACCURATE_RND | SWS_BITEXACT;
    struct SwsContext *scaler = sws_getContext(from->width, from->height, from->format, to->width,
                                               to->height, to->format, flags, NULL, NULL, NULL);

    if (!scaler)
        return vrt_raise(-ENOTSUP);
    int r = sws_scale(scaler, (const uint8_t *const *)from->data, from->linesize, 0, from->height,
                      to->data, to->linesize);
    sws_freeContext(scaler);
    return r < 0 ? vrt_raise(vrt_av_errno(r)) : 0;
}

static bool has_alpha(const AVPixFmtDescriptor *desc)
{
    return desc && desc->flags & (AV_PIX_FMT_FLAG_ALPHA | AV_PIX_FMT_FLAG_PAL);
}

void vrt_alpha_format(enum AVPixelFormat pixfmt, struct vrt_frame_format *format)
{
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(pixfmt);
    const bool has_alpha = desc && desc->flags & AV_PIX_FMT_FLAG_ALPHA &&
                           !(desc->flags & AV_PIX_FMT_FLAG_PAL);
    const int depth = has_alpha ? desc->comp[desc->nb_components - 1].depth : 8;

    *format = (struct vrt_frame_format){
        .width = format->width,
        .height = format->height,
        .depth = VRT_MIN(VRT_MAX(depth, 8), 16),
        .layout = VRT_LAYOUT_GRAY,
        .matrix = format->matrix,
        .full_range = true,
        .chroma_location = VRT_CHROMA_LOCATION_LEFT,
        .sample_aspect = format->sample_aspect,
        .primaries = AVCOL_PRI_UNSPECIFIED,
        .transfer = AVCOL_TRC_UNSPECIFIED,
        .color_space = AVCOL_SPC_UNSPECIFIED,
    };
    /* FFmpeg lacks the one or other depth: the next deeper one, then. */
    format->depth = av_pix_fmt_desc_get(vrt_pixfmt_of(format))->comp[0].depth;
}

/* From 0 to `from_max` to 0 to `to_max`, rounded. */
static unsigned int map_value(unsigned int value, unsigned int from_max, unsigned int to_max)
{
    return (unsigned int)(((uint64_t)value * to_max + from_max / 2) / from_max);
}

/* One row of a picture's alpha, in values up to `max`. */
static void read_row(const AVFrame *picture, int y, unsigned int max, uint32_t *row)
{
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(picture->format);
    const bool is_palette = desc->flags & AV_PIX_FMT_FLAG_PAL;
    const bool is_float = desc->flags & AV_PIX_FMT_FLAG_FLOAT;
    const int component = is_palette ? 0 : desc->nb_components - 1;
    const int depth = desc->comp[component].depth;

    av_read_image_line2(row, (const uint8_t **)picture->data, picture->linesize, desc, 0, y,
                        component, picture->width, 0, sizeof(*row));
    for (int x = 0; x < picture->width; x++) {
        if (is_palette)
            row[x] = map_value(AV_RN32(picture->data[1] + 4 * (row[x] & 0xff)) >> 24, 0xff, max);
        else if (is_float)
            row[x] = (uint32_t)lrintf(VRT_MIN(VRT_MAX(av_int2float(row[x]), 0), 1) * (float)max);
        else
            row[x] = map_value(row[x], (1U << depth) - 1, max);
    }
}

int vrt_alpha_extract(const AVFrame *picture, const struct vrt_frame_format *format,
                      struct vrt_frame **ret_frame)
{
    VRT_CLEANUP(vrt_frame_unrefp) struct vrt_frame *frame = NULL;
    VRT_CLEANUP(vrt_freep) uint32_t *row = malloc(sizeof(*row) * (size_t)format->width);
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(picture->format);
    const unsigned int max = (1U << format->depth) - 1;

    if (has_alpha(desc) && desc->flags & AV_PIX_FMT_FLAG_FLOAT && desc->comp[0].depth != 32)
        return vrt_raise(-ENOTSUP);
    int r = row ? vrt_frame_new(format, &frame) : vrt_raise(-ENOMEM);
    if (r < 0)
        return vrt_fold(r);
    for (int x = 0; x < format->width; x++)
        row[x] = max;
    for (int y = 0; y < format->height; y++) {
        uint8_t *out = frame->planes[0].data + (size_t)y * frame->planes[0].stride_bytes;
        if (has_alpha(desc))
            read_row(picture, y, max, row);
        for (int x = 0; x < format->width; x++) {
            if (format->depth > 8)
                AV_WN16(out + 2 * x, row[x]);
            else
                out[x] = (uint8_t)row[x];
        }
    }
    *ret_frame = VRT_STEAL(frame);
    return 0;
}

/* Fills `to`, of the same size, value by value. */
static void deepen(const AVFrame *from, AVFrame *to)
{
    const int from_depth = av_pix_fmt_desc_get(from->format)->comp[0].depth;
    const int to_depth = av_pix_fmt_desc_get(to->format)->comp[0].depth;

    for (int y = 0; y < to->height; y++) {
        const uint8_t *in = from->data[0] + (ptrdiff_t)y * from->linesize[0];
        uint8_t *out = to->data[0] + (ptrdiff_t)y * to->linesize[0];
        for (int x = 0; x < to->width; x++) {
            const unsigned int value = map_value(from_depth > 8 ? AV_RN16(in + 2 * x) : in[x],
                                                 (1U << from_depth) - 1, (1U << to_depth) - 1);
            if (to_depth > 8)
                AV_WN16(out + 2 * x, value);
            else
                out[x] = (uint8_t)value;
        }
    }
}

int vrt_alpha_fit(struct vrt_frame *alpha, const struct vrt_frame_format *like,
                  AVFrame **ret_alpha)
{
    VRT_CLEANUP(vrt_av_frame_freep) AVFrame *view = NULL, *large = NULL, *deep = NULL;
    struct vrt_frame_format format = alpha->format;
    int r = vrt_frame_unwrap(alpha, &view);

    if (r < 0)
        return vrt_fold(r);
    if (view->width != like->width || view->height != like->height) {
        r = make_frame(like->width, like->height, view->format, &large);
        if (r < 0)
            return vrt_fold(r);
        r = scale(view, large);
        if (r < 0)
            return vrt_fold(r);
        av_frame_free(&view);
        view = VRT_STEAL(large);
    }
    format.depth = like->depth;
    if (alpha->format.depth != like->depth) {
        r = make_frame(like->width, like->height, vrt_pixfmt_of(&format), &deep);
        if (r < 0)
            return vrt_fold(r);
        deepen(view, deep);
        av_frame_free(&view);
        view = VRT_STEAL(deep);
    }
    *ret_alpha = VRT_STEAL(view);
    return 0;
}

static bool is_opaque(const struct vrt_frame *alpha)
{
    const unsigned int max = (1U << alpha->format.depth) - 1;

    for (int y = 0; y < alpha->format.height; y++) {
        const uint8_t *row = alpha->planes[0].data + (size_t)y * alpha->planes[0].stride_bytes;
        for (int x = 0; x < alpha->format.width; x++)
            if ((alpha->format.depth > 8 ? AV_RN16(row + 2 * x) : row[x]) != max)
                return false;
    }
    return true;
}

/* The alpha of `picture` as it is. Return: 0, *ret_alpha NULL where all of it is opaque; -ENOTSUP;
 * -ENOMEM. */
static int find_alpha(const AVFrame *picture, struct vrt_frame **ret_alpha)
{
    VRT_CLEANUP(vrt_frame_unrefp) struct vrt_frame *alpha = NULL;
    struct vrt_frame_format format = { .width = picture->width, .height = picture->height };

    *ret_alpha = NULL;
    if (!has_alpha(av_pix_fmt_desc_get(picture->format)))
        return 0;
    vrt_alpha_format(picture->format, &format);
    int r = vrt_alpha_extract(picture, &format, &alpha);
    if (r < 0)
        return vrt_fold(r);
    if (!is_opaque(alpha))
        *ret_alpha = VRT_STEAL(alpha);
    return 0;
}

bool vrt_alpha_shows(const AVFrame *picture)
{
    VRT_CLEANUP(vrt_frame_unrefp) struct vrt_frame *alpha = NULL;

    return find_alpha(picture, &alpha) == 0 && alpha;
}

int vrt_alpha_read(const AVFrame *picture, const AVFrame *like, AVFrame **ret_alpha)
{
    VRT_CLEANUP(vrt_frame_unrefp) struct vrt_frame *alpha = NULL;
    const struct vrt_frame_format format = {
        .width = like->width,
        .height = like->height,
        .depth = av_pix_fmt_desc_get(like->format)->comp[0].depth > 8 ? 16 : 8,
    };

    *ret_alpha = NULL;
    int r = find_alpha(picture, &alpha);
    return r < 0 || !alpha ? vrt_fold(r) : vrt_fold(vrt_alpha_fit(alpha, &format, ret_alpha));
}
