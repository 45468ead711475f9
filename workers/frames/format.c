/* SPDX-License-Identifier: MIT */

/* Arithmetic of planes, and the words for them. */

#include "frames/format.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/macro.h"

static const char *const matrix_names[VRT_FRAME_MATRIX_COUNT] = {
    [VRT_FRAME_MATRIX_BT601] = "bt601",
    [VRT_FRAME_MATRIX_BT709] = "bt709",
    [VRT_FRAME_MATRIX_BT2020_NCL] = "bt2020",
};

int vrt_rational_scale(struct vrt_rational q, int num, int den, struct vrt_rational *ret_q)
{
    int64_t n = (int64_t)q.num * num, d = (int64_t)q.den * den, a = n, b = d;

    if (num == den) {
        *ret_q = q;
        return 0;
    }
    /* Euclid's: a is their greatest common divisor in the end. */
    while (b) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    n /= a;
    d /= a;
    if (n > INT_MAX || d > INT_MAX)
        return vrt_raise(-ERANGE);
    *ret_q = (struct vrt_rational){ (int)n, (int)d };
    return 0;
}

int vrt_frame_format_n_planes(const struct vrt_frame_format *format)
{
    return format->layout == VRT_LAYOUT_GRAY ? 1 : 3;
}

int vrt_frame_format_sample_bytes(const struct vrt_frame_format *format)
{
    return format->depth > 8 ? 2 : 1;
}

void vrt_frame_format_plane_size(const struct vrt_frame_format *format, int plane, int *ret_width,
                                 int *ret_height)
{
    int shift_x = plane ? format->chroma_shift_x : 0;
    int shift_y = plane ? format->chroma_shift_y : 0;

    vrt_assert(plane >= 0 && plane < vrt_frame_format_n_planes(format));
    *ret_width = (format->width + (1 << shift_x) - 1) >> shift_x;
    *ret_height = (format->height + (1 << shift_y) - 1) >> shift_y;
}

size_t vrt_frame_format_size_bytes(const struct vrt_frame_format *format)
{
    size_t n_samples = 0;

    for (int i = 0; i < vrt_frame_format_n_planes(format); i++) {
        int width, height;
        vrt_frame_format_plane_size(format, i, &width, &height);
        n_samples += (size_t)width * (size_t)height;
    }
    return n_samples * (size_t)vrt_frame_format_sample_bytes(format);
}

bool vrt_frame_format_is_valid(const struct vrt_frame_format *format)
{
    bool yuv = format->layout == VRT_LAYOUT_YUV;

    return format->width > 0 && format->width <= VRT_FRAME_MAX_SIDE &&
           format->height > 0 && format->height <= VRT_FRAME_MAX_SIDE &&
           format->depth >= 8 && format->depth <= 16 &&
           (unsigned int)format->layout < VRT_LAYOUT_COUNT &&
           (unsigned int)format->matrix < VRT_FRAME_MATRIX_COUNT &&
           format->chroma_shift_x >= 0 && format->chroma_shift_x <= (yuv ? 2 : 0) &&
           format->chroma_shift_y >= 0 && format->chroma_shift_y <= (yuv ? 2 : 0);
}

bool vrt_frame_format_scales_to(const struct vrt_frame_format *a, const struct vrt_frame_format *b)
{
    return a->depth == b->depth && a->layout == b->layout &&
           a->chroma_shift_x == b->chroma_shift_x && a->chroma_shift_y == b->chroma_shift_y;
}

bool vrt_frame_format_same_planes(const struct vrt_frame_format *a,
                                  const struct vrt_frame_format *b)
{
    return a->width == b->width && a->height == b->height && vrt_frame_format_scales_to(a, b);
}

bool vrt_frame_format_same_samples(const struct vrt_frame_format *a,
                                   const struct vrt_frame_format *b)
{
    const bool is_reduced = a->chroma_shift_x || a->chroma_shift_y;

    return vrt_frame_format_same_planes(a, b) && a->full_range == b->full_range &&
           (a->layout != VRT_LAYOUT_YUV || a->matrix == b->matrix) &&
           (!is_reduced || a->chroma_location == b->chroma_location);
}

enum vrt_matrix vrt_matrix_guess(int width, int height)
{
    return height >= 720 || width >= 1280 ? VRT_FRAME_MATRIX_BT709 : VRT_FRAME_MATRIX_BT601;
}

/* 4:x:y as FFmpeg writes it, for chroma shifts [x][y]. */
static const char *chroma_name(const struct vrt_frame_format *format)
{
    static const char *const names[3][3] = {
        { "444", "440", "441" }, { "422", "420", "421" }, { "411", "412", "410" },
    };

    return names[format->chroma_shift_x][format->chroma_shift_y];
}

const char *vrt_frame_format_describe(const struct vrt_frame_format *format, char *buffer,
                                      size_t size)
{
    bool yuv = format->layout == VRT_LAYOUT_YUV;
    const char *layout = yuv ? "yuv" : format->layout == VRT_LAYOUT_GBR ? "gbr" : "gray";
    char depth[12] = "";

    if (format->depth > 8)
        snprintf(depth, sizeof(depth), "%s%d", yuv ? "p" : "", format->depth);
    snprintf(buffer, size, "%dx%d %s%s%s%s%s %s", format->width, format->height, layout,
             yuv ? chroma_name(format) : "", depth, yuv ? " " : "",
             yuv ? matrix_names[format->matrix] : "", format->full_range ? "full" : "limited");
    return buffer;
}

bool vrt_hdr_has_display(const struct vrt_hdr *hdr)
{
    return hdr->display.white[1] > 0 || hdr->display.max > 0;
}

bool vrt_hdr_has_light(const struct vrt_hdr *hdr)
{
    return hdr->max_light > 0 || hdr->average_light > 0;
}

bool vrt_hdr_is_valid(const struct vrt_hdr *hdr)
{
    const int *const points[] = { hdr->display.red, hdr->display.green, hdr->display.blue,
                                  hdr->display.white };
    bool is_valid = hdr->display.min >= 0 && hdr->display.min <= hdr->display.max &&
                    hdr->max_light >= 0 && hdr->max_light <= UINT16_MAX &&
                    hdr->average_light >= 0 && hdr->average_light <= UINT16_MAX;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(points); i++)
        is_valid &= points[i][0] >= 0 && points[i][0] <= VRT_HDR_ONE && points[i][1] >= 0 &&
                    points[i][1] <= VRT_HDR_ONE;
    return is_valid;
}
