/* SPDX-License-Identifier: MIT */

#include "frames/alpha.h"

#include <errno.h>
#include <libavutil/intreadwrite.h>
#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>

#include "base/error.h"
#include "base/macro.h"
#include "frames/av.h"

#define ALPHA 3                     /* the place among R, G, B, A */

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

/* Copies the alpha of `rgba` to `gray`, both of 8 or 16 bits. Return: whether any of it isn't
 * opaque. */
static bool take_alpha(const AVFrame *rgba, AVFrame *gray, int sample_bytes)
{
    const unsigned int opaque = sample_bytes == 1 ? 0xff : 0xffff;
    bool is_transparent = false;

    for (int y = 0; y < gray->height; y++) {
        const uint8_t *in = rgba->data[0] + (ptrdiff_t)y * rgba->linesize[0] + ALPHA * sample_bytes;
        uint8_t *out = gray->data[0] + (ptrdiff_t)y * gray->linesize[0];
        for (int x = 0; x < gray->width; x++, in += 4 * sample_bytes, out += sample_bytes) {
            const unsigned int value = sample_bytes == 1 ? *in : AV_RL16(in);
            is_transparent |= value != opaque;
            if (sample_bytes == 1)
                *out = (uint8_t)value;
            else
                AV_WL16(out, value);
        }
    }
    return is_transparent;
}

/* The alpha of `picture` as it is, in 16 bits or 8. Return: 0, *ret_alpha NULL where all of it is
 * opaque; -ENOTSUP; -ENOMEM. */
static int extract(const AVFrame *picture, bool is_deep, AVFrame **ret_alpha)
{
    VRT_CLEANUP(vrt_av_frame_freep) AVFrame *rgba = NULL, *alpha = NULL;
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(picture->format);
    const int width = picture->width, height = picture->height;

    *ret_alpha = NULL;
    if (!desc || !(desc->flags & (AV_PIX_FMT_FLAG_ALPHA | AV_PIX_FMT_FLAG_PAL)))
        return 0;
    int r = make_frame(width, height, is_deep ? AV_PIX_FMT_RGBA64LE : AV_PIX_FMT_RGBA, &rgba);
    if (r < 0)
        return vrt_fold(r);
    r = scale(picture, rgba);
    if (r < 0)
        return vrt_fold(r);
    r = make_frame(width, height, is_deep ? AV_PIX_FMT_GRAY16LE : AV_PIX_FMT_GRAY8, &alpha);
    if (r < 0)
        return vrt_fold(r);
    if (take_alpha(rgba, alpha, is_deep ? 2 : 1))
        *ret_alpha = VRT_STEAL(alpha);
    return 0;
}

bool vrt_alpha_shows(const AVFrame *picture)
{
    VRT_CLEANUP(vrt_av_frame_freep) AVFrame *alpha = NULL;

    return extract(picture, false, &alpha) == 0 && alpha;
}

int vrt_alpha_read(const AVFrame *picture, const AVFrame *like, AVFrame **ret_alpha)
{
    VRT_CLEANUP(vrt_av_frame_freep) AVFrame *small = NULL, *alpha = NULL;

    *ret_alpha = NULL;
    int r = extract(picture, av_pix_fmt_desc_get(like->format)->comp[0].depth > 8, &small);
    if (r < 0 || !small)
        return vrt_fold(r);
    r = make_frame(like->width, like->height, small->format, &alpha);
    if (r < 0)
        return vrt_fold(r);
    r = scale(small, alpha);
    if (r < 0)
        return vrt_fold(r);
    *ret_alpha = VRT_STEAL(alpha);
    return 0;
}
