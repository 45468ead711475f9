/* SPDX-License-Identifier: MIT */

/*
 * A deep sample has a word of 16 bits. Surfaces have it in the high ones; of which depth it is,
 * their format may not tell (P016 holds 12 bits as well as 16), but that of the planes does.
 */

#include "frames/hwaccel/surface.h"

#include <errno.h>
#include <libavutil/pixdesc.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/macro.h"
#include "frames/pixfmt.h"

/* A row of samples, one in `step`, shifted down by `shift`. */
static inline void copy_words(const uint16_t *from, int step, int shift, int n, uint16_t *to)
{
    for (int i = 0; i < n; i++)
        to[i] = (uint16_t)(from[i * step] >> shift);
}

static inline void copy_bytes(const uint8_t *from, int step, int n, uint8_t *to)
{
    for (int i = 0; i < n; i++)
        to[i] = from[i * step];
}

/* The steps that surfaces have are known when this is compiled: rows are taken apart by vectors. */
static void copy_row(const uint8_t *from, int step_bytes, int shift, int n, uint8_t *to,
                     bool is_deep)
{
    const uint16_t *words = (const uint16_t *)(const void *)from;
    uint16_t *to_words = (uint16_t *)(void *)to;

    if (is_deep && step_bytes == 2)
        copy_words(words, 1, shift, n, to_words);
    else if (is_deep && step_bytes == 4)
        copy_words(words, 2, shift, n, to_words);
    else if (is_deep)
        copy_words(words, step_bytes / 2, shift, n, to_words);
    else if (step_bytes == 1)
        memcpy(to, from, (size_t)n);
    else if (step_bytes == 2)
        copy_bytes(from, 2, n, to);
    else
        copy_bytes(from, step_bytes, n, to);
}

/* Bits from a sample's lowest to its word's highest. */
static int top_of(const AVComponentDescriptor *component)
{
    return component->depth + component->shift;
}

/* How far a component's samples go down. Return: -1: they aren't whole, or too shallow. */
static int shift_of(const AVComponentDescriptor *from, const AVComponentDescriptor *to)
{
    const int shift = top_of(from) - to->depth, bytes = top_of(from) > 8 ? 2 : 1;

    if (from->depth < to->depth || bytes != (to->depth > 8 ? 2 : 1) || from->step % bytes ||
        from->offset % bytes || (from->shift && top_of(from) != 16))
        return -1;
    return shift;
}

/* Whether they have the same colours in the same places, in the machine's order of bytes. */
static bool is_like(const AVPixFmtDescriptor *from, const AVPixFmtDescriptor *to)
{
    const uint64_t what = AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_BE;
    const uint64_t odd = AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_BITSTREAM | AV_PIX_FMT_FLAG_HWACCEL |
                         AV_PIX_FMT_FLAG_BAYER | AV_PIX_FMT_FLAG_FLOAT;

    if ((from->flags ^ to->flags) & what || from->flags & odd ||
        from->nb_components < to->nb_components || to->flags & AV_PIX_FMT_FLAG_ALPHA)
        return false;
    return to->nb_components == 1 || (from->log2_chroma_w == to->log2_chroma_w &&
                                      from->log2_chroma_h == to->log2_chroma_h);
}

int vrt_surface_copy(const AVFrame *surface, AVFrame *planar)
{
    const AVPixFmtDescriptor *from = av_pix_fmt_desc_get(surface->format);
    const AVPixFmtDescriptor *to = av_pix_fmt_desc_get(planar->format);

    if (!from || !vrt_pixfmt_is_ours(planar->format) || !is_like(from, to) ||
        surface->width != planar->width || surface->height != planar->height)
        return vrt_raise(-ENOTSUP);
    for (int i = 0; i < to->nb_components; i++)
        if (shift_of(&from->comp[i], &to->comp[i]) < 0)
            return vrt_raise(-ENOTSUP);
    for (int i = 0; i < to->nb_components; i++) {
        const AVComponentDescriptor *c = &from->comp[i], *d = &to->comp[i];
        const bool is_chroma = (i == 1 || i == 2) && !(to->flags & AV_PIX_FMT_FLAG_RGB);
        const int width = AV_CEIL_RSHIFT(surface->width, is_chroma ? to->log2_chroma_w : 0);
        const int height = AV_CEIL_RSHIFT(surface->height, is_chroma ? to->log2_chroma_h : 0);
        const uint8_t *row = surface->data[c->plane] + c->offset;
        uint8_t *to_row = planar->data[d->plane];
        for (int y = 0; y < height; y++) {
            copy_row(row, c->step, shift_of(c, d), width, to_row, d->depth > 8);
            row += surface->linesize[c->plane];
            to_row += planar->linesize[d->plane];
        }
    }
    return 0;
}
