/* SPDX-License-Identifier: MIT */

/*
 * The weights of R'G'B' in Y' are those of H.273 (table 4, MatrixCoefficients); a PNG is as the W3C
 * has it (https://www.w3.org/TR/png-3/): each row begins with its filter's number, here Sub.
 */

#include "daemon/pipeline/glimpse-draw.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "frames/frame.h"

#define FILTER_SUB 1
#define DEFLATE_LEVEL 3

/* One half: where its pixels come from. */
struct half {
    const struct vrt_frame *frame;
    int width, height;              /* of the half, pixels */
};

/* The mean of a plane's samples in a pixel of the half, of 1 where samples are at their most. */
static double mean(const struct half *half, int plane_index, int x, int y)
{
    const struct vrt_plane *plane = &half->frame->planes[plane_index];
    const int x0 = (int)((int64_t)x * plane->width / half->width);
    const int y0 = (int)((int64_t)y * plane->height / half->height);
    const int x1 = VRT_MAX((int)((int64_t)(x + 1) * plane->width / half->width), x0 + 1);
    const int y1 = VRT_MAX((int)((int64_t)(y + 1) * plane->height / half->height), y0 + 1);
    const bool is_wide = half->frame->format.depth > 8;
    uint64_t sum = 0;

    for (int row = y0; row < y1; row++) {
        const uint8_t *samples = plane->data + (size_t)row * plane->stride_bytes;
        for (int at = x0; at < x1; at++)
            sum += is_wide ? ((const uint16_t *)(const void *)samples)[at] : samples[at];
    }
    return (double)sum / ((double)(x1 - x0) * (y1 - y0)) / ((1 << half->frame->format.depth) - 1);
}

/* Luma, or a primary, from 0 to 1. */
static double from_range(const struct vrt_frame_format *format, double sample)
{
    const double max = (1 << format->depth) - 1, unit = 1 << (format->depth - 8);

    return format->full_range ? sample : (sample * max - 16 * unit) / (219 * unit);
}

/* A colour difference, from -0.5 to 0.5. */
static double chroma_from_range(const struct vrt_frame_format *format, double sample)
{
    const double max = (1 << format->depth) - 1, unit = 1 << (format->depth - 8);

    return (sample * max - 128 * unit) / (format->full_range ? max : 224 * unit);
}

static uint8_t to_byte(double value)
{
    return (uint8_t)lrint(255 * fmin(fmax(value, 0), 1));
}

/* rgb: 3 bytes */
static void take_pixel(const struct half *half, int x, int y, uint8_t *rgb)
{
    static const struct {
        double red, blue;
    } weights[VRT_FRAME_MATRIX_COUNT] = {
        [VRT_FRAME_MATRIX_BT601] = { 0.299, 0.114 },
        [VRT_FRAME_MATRIX_BT709] = { 0.2126, 0.0722 },
        [VRT_FRAME_MATRIX_BT2020_NCL] = { 0.2627, 0.0593 },
    };
    const struct vrt_frame_format *format = &half->frame->format;
    const double first = from_range(format, mean(half, 0, x, y));
    double red = first, green = first, blue = first;

    if (format->layout == VRT_LAYOUT_GBR) {
        blue = from_range(format, mean(half, 1, x, y));
        red = from_range(format, mean(half, 2, x, y));
    } else if (format->layout == VRT_LAYOUT_YUV) {
        const double kr = weights[format->matrix].red, kb = weights[format->matrix].blue;
        blue = first + 2 * (1 - kb) * chroma_from_range(format, mean(half, 1, x, y));
        red = first + 2 * (1 - kr) * chroma_from_range(format, mean(half, 2, x, y));
        green = (first - kr * red - kb * blue) / (1 - kr - kb);
    }
    rgb[0] = to_byte(red);
    rgb[1] = to_byte(green);
    rgb[2] = to_byte(blue);
}

/* Each pixel of a row less the one before it, from the end on. */
static void filter_row(uint8_t *row, size_t n_bytes)
{
    for (size_t i = n_bytes - 1; i >= 3; i--)
        row[i] = (uint8_t)(row[i] - row[i - 3]);
}

static void put_number(uint8_t bytes[4], uint32_t n)
{
    for (int i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(n >> (24 - 8 * i));
}

/* Return: 0, -ENOMEM. */
static int put_chunk(struct vrt_buf *png, const char type[4], const uint8_t *data, size_t size)
{
    uint8_t length[4], crc[4];
    const uLong of_type = crc32(0, (const Bytef *)type, 4);

    put_number(length, (uint32_t)size);
    put_number(crc, (uint32_t)(size ? crc32(of_type, data, (uInt)size) : of_type));
    int r = vrt_buf_append(png, length, sizeof(length));
    if (r == 0)
        r = vrt_buf_append(png, type, 4);
    if (r == 0)
        r = vrt_buf_append(png, data, size);
    return r < 0 ? vrt_fold(r) : vrt_fold(vrt_buf_append(png, crc, sizeof(crc)));
}

/* All rows, each behind its filter's number. */
static void draw(const struct half halves[2], uint8_t *rows, size_t stride)
{
    const int width = halves[0].width;

    for (int y = 0; y < halves[0].height; y++) {
        uint8_t *row = rows + (size_t)y * stride;
        row[0] = FILTER_SUB;
        for (int h = 0; h < 2; h++)
            for (int x = 0; x < width; x++)
                take_pixel(&halves[h], x, y, row + 1 + 3 * ((size_t)h * (size_t)width + (size_t)x));
        filter_row(row + 1, stride - 1);
    }
}

int vrt_glimpse_draw(const struct vrt_frame *before, const struct vrt_frame *after,
                     struct vrt_buf *png)
{
    static const uint8_t signature[8] = { 137, 'P', 'N', 'G', '\r', '\n', 26, '\n' };
    const int w = after->format.width, h = after->format.height, longer = VRT_MAX(w, h);
    const int side = VRT_MIN(longer, VRT_GLIMPSE_SIDE);
    const int width = VRT_MAX((int)((int64_t)w * side / longer), 1);
    const int height = VRT_MAX((int)((int64_t)h * side / longer), 1);
    const struct half halves[2] = { { before, width, height }, { after, width, height } };
    const size_t stride = 1 + 6 * (size_t)width, size = stride * (size_t)height;
    uLongf n_packed = compressBound((uLong)size);
    uint8_t head[13] = { [8] = 8, [9] = 2 };        /* bits, RGB; nothing else is special */

    VRT_CLEANUP(vrt_freep) uint8_t *rows = malloc(size);
    VRT_CLEANUP(vrt_freep) uint8_t *packed = malloc(n_packed);
    if (!rows || !packed)
        return vrt_raise(-ENOMEM);
    draw(halves, rows, stride);
    if (compress2(packed, &n_packed, rows, (uLong)size, DEFLATE_LEVEL) != Z_OK)
        return vrt_raise(-EIO);
    put_number(head, (uint32_t)(2 * width));
    put_number(head + 4, (uint32_t)height);
    int r = vrt_buf_append(png, signature, sizeof(signature));
    if (r == 0)
        r = put_chunk(png, "IHDR", head, sizeof(head));
    if (r == 0)
        r = put_chunk(png, "IDAT", packed, n_packed);
    return r < 0 ? vrt_fold(r) : vrt_fold(put_chunk(png, "IEND", head, 0));
}
