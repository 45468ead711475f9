/* SPDX-License-Identifier: MIT */

/* FFmpeg describes where a component of a pixel lies: by that it is found and put. Values stay what
 * they mean, so that no libswscale is needed. */

#include "frames/encode/pack.h"

#include <errno.h>
#include <libavutil/intreadwrite.h>
#include <libavutil/pixdesc.h>
#include <string.h>

#include "base/error.h"
#include "frames/av.h"

/* One component of a frame. */
struct component {
    uint8_t *data;
    ptrdiff_t stride_bytes;
    int step_bytes, depth, shift;   /* the lowest bit in its word */
    bool is_big_endian, is_float;
};

static struct component component_of(const AVFrame *frame, const AVPixFmtDescriptor *desc, int i)
{
    const AVComponentDescriptor *c = &desc->comp[i];

    return (struct component){
        .data = frame->data[c->plane] + c->offset,
        .stride_bytes = frame->linesize[c->plane],
        .step_bytes = c->step,
        .depth = c->depth,
        .shift = c->shift,
        .is_big_endian = desc->flags & AV_PIX_FMT_FLAG_BE,
        .is_float = desc->flags & AV_PIX_FMT_FLAG_FLOAT,
    };
}

static unsigned int read_sample(const struct component *c, const uint8_t *at)
{
    return c->depth <= 8 ? *at :
           (unsigned int)(c->is_big_endian ? AV_RB16(at) : AV_RL16(at)) >> c->shift;
}

static void write_sample(const struct component *c, uint8_t *at, unsigned int value)
{
    const float share = (float)value / 65535;

    if (c->is_float)
        memcpy(at, &share, sizeof(share));
    else if (c->depth <= 8)
        *at = (uint8_t)value;
    else if (c->is_big_endian)
        AV_WB16(at, value << c->shift);
    else
        AV_WL16(at, value << c->shift);
}

static void copy_component(const struct component *from, const struct component *to, int width,
                           int height)
{
    for (int y = 0; y < height; y++) {
        const uint8_t *in = from->data + y * from->stride_bytes;
        uint8_t *out = to->data + y * to->stride_bytes;
        for (int x = 0; x < width; x++, in += from->step_bytes, out += to->step_bytes)
            write_sample(to, out, read_sample(from, in));
    }
}

static void fill_component(const struct component *to, int width, int height)
{
    const unsigned int opaque = (1U << to->depth) - 1;

    for (int y = 0; y < height; y++) {
        uint8_t *out = to->data + y * to->stride_bytes;
        for (int x = 0; x < width; x++, out += to->step_bytes)
            write_sample(to, out, opaque);
    }
}

/* Whether samples of one can be the other's. */
static bool is_as_deep(const AVPixFmtDescriptor *from, const AVPixFmtDescriptor *to)
{
    return to->flags & AV_PIX_FMT_FLAG_FLOAT ? from->comp[0].depth == 16
                                             : from->comp[0].depth == to->comp[0].depth;
}

static int n_colors(const AVPixFmtDescriptor *desc)
{
    return desc->nb_components - (desc->flags & AV_PIX_FMT_FLAG_ALPHA ? 1 : 0);
}

/* Fills `packed`, which has its memory. */
static void copy_samples(const AVFrame *frame, const AVFrame *alpha, AVFrame *packed)
{
    const AVPixFmtDescriptor *from = av_pix_fmt_desc_get(frame->format);
    const AVPixFmtDescriptor *to = av_pix_fmt_desc_get(packed->format);

    for (int i = 0; i < to->nb_components; i++) {
        const struct component target = component_of(packed, to, i);
        const bool is_alpha = i == n_colors(to), is_chroma = !is_alpha && (i == 1 || i == 2);
        const int width = AV_CEIL_RSHIFT(packed->width, is_chroma ? to->log2_chroma_w : 0);
        const int height = AV_CEIL_RSHIFT(packed->height, is_chroma ? to->log2_chroma_h : 0);
        struct component source;
        if (is_alpha && alpha)
            source = component_of(alpha, av_pix_fmt_desc_get(alpha->format), 0);
        else if (i < from->nb_components)
            source = component_of(frame, from, i);
        else {
            fill_component(&target, width, height);
            continue;
        }
        copy_component(&source, &target, width, height);
    }
}

int vrt_pack(const AVFrame *frame, const AVFrame *alpha, enum AVPixelFormat pixfmt,
             AVFrame **ret_packed)
{
    VRT_CLEANUP(vrt_av_frame_freep) AVFrame *packed = av_frame_alloc();
    const AVPixFmtDescriptor *from = av_pix_fmt_desc_get(frame->format);
    const AVPixFmtDescriptor *to = av_pix_fmt_desc_get(pixfmt);

    if (!packed)
        return vrt_raise(-ENOMEM);
    if (!from || !to || n_colors(from) != n_colors(to) || !is_as_deep(from, to) ||
        from->log2_chroma_w != to->log2_chroma_w || from->log2_chroma_h != to->log2_chroma_h)
        return vrt_raise(-EINVAL);
    packed->width = frame->width;
    packed->height = frame->height;
    packed->format = pixfmt;
    if (av_frame_get_buffer(packed, 0) < 0 || av_frame_copy_props(packed, frame) < 0)
        return vrt_raise(-ENOMEM);
    /* BGR0 has bytes that are no component. */
    for (int i = 0; i < AV_NUM_DATA_POINTERS && packed->buf[i]; i++)
        memset(packed->buf[i]->data, 0, packed->buf[i]->size);
    copy_samples(frame, alpha, packed);
    *ret_packed = VRT_STEAL(packed);
    return 0;
}

int vrt_pack_replace(AVFrame **frame, const AVFrame *alpha, enum AVPixelFormat pixfmt)
{
    AVFrame *packed;
    int r = vrt_pack(*frame, alpha, pixfmt, &packed);

    if (r < 0)
        return vrt_fold(r);
    av_frame_free(frame);
    *frame = packed;
    return 0;
}
