/* SPDX-License-Identifier: MIT */

/* Surfaces of hardware become planes, sample by sample: FFmpeg's own writer of lines lays them out.
 * Formats that this FFmpeg doesn't know are left out. */

#include <errno.h>
#include <libavutil/imgutils.h>
#include <libavutil/pixdesc.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "frames/av.h"
#include "frames/hwaccel/surface.h"
#include "tests/unit/test.h"

#define SIDE_MAX 64
#define GUARD 0xa5

/* By name, in the machine's order of bytes. */
static const struct {
    const char *surface, *planar;
} pairs[] = {
    { "nv12", "yuv420p" }, { "nv12", "yuvj420p" }, { "nv12", "gray" },
    { "nv16", "yuv422p" }, { "nv24", "yuv444p" },
    { "p010", "yuv420p10" }, { "p210", "yuv422p10" }, { "p410", "yuv444p10" }, { "p010", "gray10" },
    { "p012", "yuv420p12" }, { "p212", "yuv422p12" }, { "p412", "yuv444p12" },
    { "p016", "yuv420p10" }, { "p016", "yuv420p12" }, { "p016", "yuv420p14" },
    { "p016", "yuv420p16" }, { "p216", "yuv422p12" }, { "p216", "yuv422p16" },
    { "p416", "yuv444p12" }, { "p416", "yuv444p16" },
    { "yuv420p", "yuv420p" }, { "yuv420p10", "yuv420p10" }, { "nv20", "yuv422p10" },
    { "yuv444p", "yuv444p" }, { "yuv444p16", "yuv444p10" }, { "yuv444p16", "yuv444p12" },
    { "yuyv422", "yuv422p" }, { "uyvy422", "yuv422p" }, { "vuyx", "yuv444p" },
    { "y210", "yuv422p10" }, { "y212", "yuv422p12" }, { "xv36", "yuv444p12" },
};

static const struct {
    const char *surface, *planar;
} refused[] = {
    { "nv12", "yuv422p" }, { "nv12", "yuv444p" }, { "nv12", "yuv420p10" }, { "p010", "yuv420p" },
    { "p010", "yuv420p12" }, { "nv12", "nv12" }, { "rgb24", "yuv444p" }, { "nv12", "gbrp" },
    { "gray", "yuv420p" }, { "xv30", "yuv444p10" }, { "x2rgb10", "gbrp10" }, { "pal8", "gray" },
    { "nv12", "yuva420p" },
};

static const int sizes[][2] = { { 1, 1 }, { 2, 2 }, { 7, 5 }, { 33, 18 }, { 64, 3 } };

static AVFrame *make(const char *name, int width, int height)
{
    const enum AVPixelFormat format = av_get_pix_fmt(name);
    AVFrame *frame = av_frame_alloc();

    if (format == AV_PIX_FMT_NONE) {
        av_frame_free(&frame);
        return NULL;
    }
    frame->format = format;
    frame->width = width;
    frame->height = height;
    expect_int(av_frame_get_buffer(frame, 0), 0);
    for (int i = 0; i < AV_NUM_DATA_POINTERS && frame->buf[i]; i++)
        memset(frame->buf[i]->data, GUARD, frame->buf[i]->size);
    return frame;
}

/* Any, the same for the same place; all values of 8 bits, and the ends of those deeper. */
static int value(int component, int x, int y, int depth)
{
    const uint32_t mixed = (uint32_t)(x + 131 * y + 65537 * component) * 2654435761u;
    const int max = (1 << depth) - 1;

    return x % 5 == 1 && y % 3 == 0 ? (x & 2 ? max : 0) : (int)(mixed >> 9) & max;
}

static int side_of(int side, int component, int shift)
{
    return component == 1 || component == 2 ? AV_CEIL_RSHIFT(side, shift) : side;
}

/* Samples as deep as `planar`, at the top of what the surface has room for. */
static void fill(AVFrame *surface, const AVPixFmtDescriptor *planar)
{
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(surface->format);
    uint16_t line[SIDE_MAX];

    for (int c = 0; c < desc->nb_components; c++) {
        const AVComponentDescriptor *d = &desc->comp[c];
        const int depth = VRT_MIN(planar->comp[0].depth, d->depth);
        const int width = side_of(surface->width, c, desc->log2_chroma_w);
        for (int y = 0; y < side_of(surface->height, c, desc->log2_chroma_h); y++) {
            for (int x = 0; x < width; x++)
                line[x] = (uint16_t)(value(c, x, y, depth) << (d->depth - depth));
            /* It adds to what is there. */
            uint8_t *row = surface->data[d->plane] + y * surface->linesize[d->plane];
            for (int x = 0; x < width; x++)
                memset(row + x * d->step + d->offset, 0, d->depth + d->shift > 8 ? 2 : 1);
            av_write_image_line(line, surface->data, surface->linesize, desc, 0, y, c, width);
        }
    }
}

static void check(const AVFrame *planar)
{
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(planar->format);
    const int depth = desc->comp[0].depth, bytes = depth > 8 ? 2 : 1;

    for (int c = 0; c < desc->nb_components; c++) {
        const int plane = desc->comp[c].plane;
        const int width = side_of(planar->width, c, desc->log2_chroma_w);
        for (int y = 0; y < side_of(planar->height, c, desc->log2_chroma_h); y++) {
            const uint8_t *row = planar->data[plane] + (ptrdiff_t)y * planar->linesize[plane];
            for (int x = 0; x < width; x++) {
                uint16_t sample = row[x];
                if (bytes == 2)
                    memcpy(&sample, row + 2 * x, 2);
                expect_int(sample, value(c, x, y, depth));
            }
            for (int x = width * bytes; x < planar->linesize[plane]; x++)
                expect_int(row[x], GUARD);
        }
    }
}

static void test_pairs(void)
{
    int n_tried = 0;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(pairs); i++) {
        fprintf(stderr, "  %s to %s\n", pairs[i].surface, pairs[i].planar);
        for (size_t k = 0; k < VRT_ARRAY_SIZE(sizes); k++) {
            VRT_CLEANUP(vrt_av_frame_freep) AVFrame *surface =
                make(pairs[i].surface, sizes[k][0], sizes[k][1]);
            VRT_CLEANUP(vrt_av_frame_freep) AVFrame *planar =
                make(pairs[i].planar, sizes[k][0], sizes[k][1]);
            if (!surface)
                continue;
            fill(surface, av_pix_fmt_desc_get(planar->format));
            expect_int(vrt_surface_copy(surface, planar), 0);
            check(planar);
            n_tried++;
        }
    }
    /* Those that FFmpeg has had since 5.1. */
    expect_true(n_tried >= 25 * (int)VRT_ARRAY_SIZE(sizes));
}

static void test_refused(void)
{
    for (size_t i = 0; i < VRT_ARRAY_SIZE(refused); i++) {
        VRT_CLEANUP(vrt_av_frame_freep) AVFrame *surface = make(refused[i].surface, 8, 4);
        VRT_CLEANUP(vrt_av_frame_freep) AVFrame *planar = make(refused[i].planar, 8, 4);
        fprintf(stderr, "  %s to %s\n", refused[i].surface, refused[i].planar);
        if (surface && planar)
            expect_int(vrt_surface_copy(surface, planar), -ENOTSUP);
    }
    VRT_CLEANUP(vrt_av_frame_freep) AVFrame *surface = make("nv12", 8, 4);
    VRT_CLEANUP(vrt_av_frame_freep) AVFrame *planar = make("yuv420p", 8, 6);
    expect_int(vrt_surface_copy(surface, planar), -ENOTSUP);
}

/* What is cropped at the left and above begins in the midst of the surface. */
static void test_cropped(void)
{
    VRT_CLEANUP(vrt_av_frame_freep) AVFrame *surface = make("p010", 20, 12);
    VRT_CLEANUP(vrt_av_frame_freep) AVFrame *whole = make("yuv420p10", 20, 12);
    VRT_CLEANUP(vrt_av_frame_freep) AVFrame *planar = make("yuv420p10", 13, 7);

    fill(surface, av_pix_fmt_desc_get(whole->format));
    expect_int(vrt_surface_copy(surface, whole), 0);
    surface->crop_left = 4;
    surface->crop_top = 2;
    surface->crop_right = 3;
    surface->crop_bottom = 3;
    expect_int(av_frame_apply_cropping(surface, AV_FRAME_CROP_UNALIGNED), 0);
    expect_int(vrt_surface_copy(surface, planar), 0);
    for (int p = 0; p < 3; p++)
        for (int y = 0; y < (p ? 4 : 7); y++)
            expect_int(memcmp(planar->data[p] + y * planar->linesize[p],
                              whole->data[p] + (y + (p ? 1 : 2)) * whole->linesize[p] +
                              2 * (p ? 2 : 4), p ? 14 : 26), 0);
}

TEST_MAIN(
    { "pairs", test_pairs }, { "refused", test_refused }, { "cropped", test_cropped },
)
