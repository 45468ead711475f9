/* SPDX-License-Identifier: MIT */

/*
 * FFmpeg describes its pixel formats (planes, steps, depths), and so no list of them is needed
 * here: whatever has our layout is ours, whatever else has a nearest one that is.
 */

#include "frames/pixfmt.h"

#include <errno.h>
#include <libavutil/pixdesc.h>
#include <string.h>

#include "base/error.h"
#include "base/macro.h"

static enum vrt_layout layout_of(const AVPixFmtDescriptor *desc)
{
    int n_colors = desc->nb_components - (desc->flags & AV_PIX_FMT_FLAG_ALPHA ? 1 : 0);

    if (desc->flags & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_BAYER) ||
        strncmp(desc->name, "xyz", 3) == 0)
        return VRT_LAYOUT_GBR;
    return n_colors < 3 ? VRT_LAYOUT_GRAY : VRT_LAYOUT_YUV;
}

/* The machine's byte order among FFmpeg's two variants of the deep formats. */
static bool is_native_endian(const AVPixFmtDescriptor *desc)
{
    const union {
        uint16_t word;
        uint8_t bytes[2];
    } probe = { 1 };

    return desc->comp[0].depth <= 8 ||
           !!(desc->flags & AV_PIX_FMT_FLAG_BE) == (probe.bytes[0] == 0);
}

bool vrt_pixfmt_is_ours(enum AVPixelFormat pixfmt)
{
    /* The plane of each component: Y, U, V; but R, G, B are stored as G, B, R. */
    static const int planes[VRT_LAYOUT_COUNT][3] = {
        [VRT_LAYOUT_GRAY] = { 0 },
        [VRT_LAYOUT_YUV] = { 0, 1, 2 },
        [VRT_LAYOUT_GBR] = { 2, 0, 1 },
    };
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(pixfmt);

    if (!desc || !is_native_endian(desc) ||
        desc->flags & (AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_BITSTREAM | AV_PIX_FMT_FLAG_HWACCEL |
                       AV_PIX_FMT_FLAG_BAYER | AV_PIX_FMT_FLAG_FLOAT))
        return false;
    enum vrt_layout layout = layout_of(desc);
    for (int i = 0; i < (layout == VRT_LAYOUT_GRAY ? 1 : 3); i++) {
        const AVComponentDescriptor *c = &desc->comp[i];
        if (c->plane != planes[layout][i] || c->shift || c->offset || c->depth < 8 ||
            c->depth > 16 || c->depth != desc->comp[0].depth || c->step != (c->depth > 8 ? 2 : 1))
            return false;
    }
    return true;
}

int vrt_pixfmt_nearest(enum AVPixelFormat pixfmt, struct vrt_frame_format *ret_format)
{
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(pixfmt);
    int depth = 8;

    if (!desc || desc->flags & AV_PIX_FMT_FLAG_HWACCEL)
        return -ENOTSUP;
    for (int i = 0; i < desc->nb_components; i++)
        depth = VRT_MAX(depth, desc->comp[i].depth);
    /* Floating point (0 to 1) becomes the deepest integer. */
    ret_format->depth = desc->flags & AV_PIX_FMT_FLAG_FLOAT ? 16 : VRT_MIN(depth, 16);
    ret_format->layout = layout_of(desc);
    bool yuv = ret_format->layout == VRT_LAYOUT_YUV;
    ret_format->chroma_shift_x = yuv ? desc->log2_chroma_w : 0;
    ret_format->chroma_shift_y = yuv ? desc->log2_chroma_h : 0;
    return 0;
}

/* Variants of the plain formats that differ in what we keep elsewhere: range by name, alpha. */
static bool is_plain(enum AVPixelFormat pixfmt, const AVPixFmtDescriptor *desc)
{
    return vrt_pixfmt_is_ours(pixfmt) && !(desc->flags & AV_PIX_FMT_FLAG_ALPHA) &&
           strncmp(desc->name, "yuvj", 4) != 0;
}

enum AVPixelFormat vrt_pixfmt_of(const struct vrt_frame_format *format)
{
    enum AVPixelFormat best = AV_PIX_FMT_NONE;
    const AVPixFmtDescriptor *desc = NULL;
    int best_depth = 17;

    while ((desc = av_pix_fmt_desc_next(desc))) {
        enum AVPixelFormat pixfmt = av_pix_fmt_desc_get_id(desc);
        int depth = desc->comp[0].depth;
        if (depth < format->depth || depth >= best_depth || layout_of(desc) != format->layout ||
            !is_plain(pixfmt, desc))
            continue;
        if (format->layout == VRT_LAYOUT_YUV && (desc->log2_chroma_w != format->chroma_shift_x ||
                                                 desc->log2_chroma_h != format->chroma_shift_y))
            continue;
        best = pixfmt;
        best_depth = depth;
    }
    return best;
}

bool vrt_pixfmt_has_alpha(enum AVPixelFormat pixfmt)
{
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(pixfmt);

    /* Palettes always have room for alpha, and hardly ever use it. */
    return desc && desc->flags & AV_PIX_FMT_FLAG_ALPHA && !(desc->flags & AV_PIX_FMT_FLAG_PAL);
}

int vrt_matrix_number(enum vrt_matrix matrix)
{
    static const int numbers[VRT_FRAME_MATRIX_COUNT] = {
        [VRT_FRAME_MATRIX_BT601] = AVCOL_SPC_SMPTE170M,
        [VRT_FRAME_MATRIX_BT709] = AVCOL_SPC_BT709,
        [VRT_FRAME_MATRIX_BT2020_NCL] = AVCOL_SPC_BT2020_NCL,
    };

    vrt_assert((unsigned int)matrix < VRT_FRAME_MATRIX_COUNT);
    return numbers[matrix];
}

/*
 * Sets matrix and color_space. A matrix that we don't compute with is taken for the nearest one
 * and keeps its number: what is converted to R'G'B' and back by the same matrix stays right.
 */
static void resolve_matrix(struct vrt_frame_format *format, int color_space)
{
    static const struct {
        int number;
        enum vrt_matrix matrix;
    } known[] = {
        { AVCOL_SPC_BT709, VRT_FRAME_MATRIX_BT709 },
        { AVCOL_SPC_FCC, VRT_FRAME_MATRIX_BT601 },
        { AVCOL_SPC_BT470BG, VRT_FRAME_MATRIX_BT601 },
        { AVCOL_SPC_SMPTE170M, VRT_FRAME_MATRIX_BT601 },
        { AVCOL_SPC_SMPTE240M, VRT_FRAME_MATRIX_BT709 },
        { AVCOL_SPC_BT2020_NCL, VRT_FRAME_MATRIX_BT2020_NCL },
        { AVCOL_SPC_BT2020_CL, VRT_FRAME_MATRIX_BT2020_NCL },
        { AVCOL_SPC_CHROMA_DERIVED_NCL, VRT_FRAME_MATRIX_BT2020_NCL },
        { AVCOL_SPC_CHROMA_DERIVED_CL, VRT_FRAME_MATRIX_BT2020_NCL },
        { AVCOL_SPC_ICTCP, VRT_FRAME_MATRIX_BT2020_NCL },
        { AVCOL_SPC_YCGCO, VRT_FRAME_MATRIX_BT709 },
    };

    format->matrix = vrt_matrix_guess(format->width, format->height);
    format->color_space = format->layout == VRT_LAYOUT_YUV ? vrt_matrix_number(format->matrix)
                          : format->layout == VRT_LAYOUT_GBR ? AVCOL_SPC_RGB
                                                             : AVCOL_SPC_UNSPECIFIED;
    for (size_t i = 0; i < VRT_ARRAY_SIZE(known); i++) {
        if (known[i].number != color_space)
            continue;
        format->matrix = known[i].matrix;
        if (format->layout != VRT_LAYOUT_GBR)
            format->color_space = color_space;
    }
}

/* Unspecified YUV is limited; RGB and gray are full, as libswscale has it. */
static bool resolve_range(const AVFrame *frame, const AVCodecParameters *par,
                          enum vrt_layout layout)
{
    int range = frame->color_range ? (int)frame->color_range : (int)par->color_range;
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(frame->format);

    if (desc && strncmp(desc->name, "yuvj", 4) == 0)
        return true;
    if (range == AVCOL_RANGE_UNSPECIFIED)
        return layout != VRT_LAYOUT_YUV;
    return range == AVCOL_RANGE_JPEG;
}

int vrt_pixfmt_of_frame(const AVFrame *frame, const AVCodecParameters *par,
                        struct vrt_frame_format *ret_format)
{
    struct vrt_frame_format format = { .width = frame->width, .height = frame->height };
    int r = vrt_pixfmt_nearest(frame->format, &format);

    if (r < 0)
        return r;
    /* FFmpeg lacks the one or other depth (gray of 11 bits, say): the next deeper one, then. */
    enum AVPixelFormat pixfmt = vrt_pixfmt_of(&format);
    if (pixfmt == AV_PIX_FMT_NONE)
        return -ENOTSUP;
    format.depth = av_pix_fmt_desc_get(pixfmt)->comp[0].depth;

    resolve_matrix(&format, frame->colorspace != AVCOL_SPC_UNSPECIFIED ? (int)frame->colorspace
                                                                       : (int)par->color_space);
    format.full_range = resolve_range(frame, par, format.layout);
    format.primaries = frame->color_primaries != AVCOL_PRI_UNSPECIFIED
                           ? (int)frame->color_primaries : (int)par->color_primaries;
    format.transfer = frame->color_trc != AVCOL_TRC_UNSPECIFIED ? (int)frame->color_trc
                                                                : (int)par->color_trc;
    int location = frame->chroma_location ? (int)frame->chroma_location
                                          : (int)par->chroma_location;
    /* Unspecified: on the left, as in nearly all that MPEG made. */
    bool known = location >= VRT_CHROMA_LOCATION_LEFT && location <= VRT_CHROMA_LOCATION_BOTTOM;
    format.chroma_location = known ? (enum vrt_chroma_location)location
                                   : VRT_CHROMA_LOCATION_LEFT;
    *ret_format = format;
    return 0;
}
