/* SPDX-License-Identifier: MIT */

/*
 * Means are linear, and so is the way from Y'CbCr to R'G'B': a cell's mean colour is that of its
 * planes' means. What is compared are colours less their brightness: a model may well make a
 * picture brighter, but none turns all of it green. The limits are far from anything that networks
 * make of films (docs/failures.md has the figures), and from anything that a fault makes.
 */

#include "workers/device/session/evidence.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "backend/op/colour.h"
#include "base/error.h"
#include "frames/clips/picture.h"
#include "frames/frame.h"
#include "workers/plan/colour-graph.h"

/* A frame with less contrast is blank: generous for what comes out, strict for what goes in, so
 * that only a result that lost everything is called so. */
#define BLANK_IN (1.0f / 16)
#define BLANK_OUT (1.0f / 256)

#define CELL_PIXELS 16              /* along a cell's side, at least: less is no average */

#define CAST_MAX 0.45f              /* of a whole picture: models that colour films stay below */
#define BLACK 0.02f
#define NOT_BLACK 0.15f
#define NO_COLOUR (-0.25f)          /* a red, green or blue that no screen shows, by far */

const char *const vrt_flaw_words[] = {
    [VRT_FLAW_NONE] = "is a picture",
    [VRT_FLAW_BLANK] = "is blank, the input isn't",
    [VRT_FLAW_BLACK] = "is black in a part where the input isn't",
    [VRT_FLAW_CAST] = "has a cast that the input hasn't",
};

/* Cells along a side of so many pixels. */
static int n_cells(int size)
{
    return VRT_MAX(1, VRT_MIN(size / CELL_PIXELS, VRT_MEANS_SIDE));
}

/* Where cell i of n begins. */
static int edge(int i, int n, int size)
{
    return (int)((long long)size * i / n);
}

static unsigned sum_row(const uint8_t *row, int n)
{
    unsigned sum = 0;

    for (int x = 0; x < n; x++)
        sum += row[x];
    return sum;
}

static unsigned sum_wide_row(const uint16_t *row, int n)
{
    unsigned sum = 0;

    for (int x = 0; x < n; x++)
        sum += row[x];
    return sum;
}

/* The mean of each cell of a plane, in samples, as component c. */
static void average(const struct vrt_frame *frame, int p, struct vrt_means *means)
{
    const struct vrt_plane *plane = &frame->planes[p];
    const bool is_wide = vrt_frame_format_sample_bytes(&frame->format) == 2;

    for (int j = 0; j < means->rows; j++) {
        int top = edge(j, means->rows, plane->height);
        int end = edge(j + 1, means->rows, plane->height);
        for (int i = 0; i < means->columns; i++) {
            int left = edge(i, means->columns, plane->width);
            int right = edge(i + 1, means->columns, plane->width);
            double sum = 0;
            int n = 0;
            for (int y = top; y < end; y++, n += right - left) {
                const uint8_t *row = plane->data + (size_t)y * plane->stride_bytes;
                sum += is_wide ? sum_wide_row((const uint16_t *)(const void *)row + left,
                                              right - left) : sum_row(row + left, right - left);
            }
            means->rgb[j * means->columns + i][p] = (float)(sum / n);
        }
    }
}

/* Whether samples of the first plane differ by more than `share` of full scale. Most pictures show
 * that within a few rows, and are looked at no further. */
static bool has_contrast(const struct vrt_frame *frame, float share)
{
    const struct vrt_plane *plane = &frame->planes[0];
    bool is_wide = vrt_frame_format_sample_bytes(&frame->format) == 2;
    float wanted = share * (float)((1U << frame->format.depth) - 1);
    unsigned smallest = UINT_MAX, largest = 0;

    for (int y = 0; y < plane->height; y++) {
        const uint8_t *row = plane->data + (size_t)y * plane->stride_bytes;
        const uint16_t *wide_row = (const uint16_t *)(const void *)row;
        for (int x = 0; x < plane->width; x++) {
            unsigned sample = is_wide ? wide_row[x] : row[x];
            smallest = VRT_MIN(smallest, sample);
            largest = VRT_MAX(largest, sample);
        }
        if ((float)(largest - smallest) > wanted)
            return true;
    }
    return false;
}

/* The same of a picture's green. */
static bool picture_has_contrast(const struct vrt_picture *picture, float share)
{
    size_t n = (size_t)picture->width * (size_t)picture->height;
    float smallest = INFINITY, largest = -INFINITY;

    for (size_t i = 0; i < n; i++) {
        smallest = fminf(smallest, picture->rgb[3 * i + 1]);
        largest = fmaxf(largest, picture->rgb[3 * i + 1]);
        if (largest - smallest > share)
            return true;
    }
    return false;
}

/* From means of samples to those of RGB. */
static void to_rgb(const struct vrt_op_colour *op, float *cell)
{
    const struct vrt_colour_matrix m = vrt_colour_matrix_of(op);
    const float y = (cell[0] - m.y_offset) * m.y_scale;
    float rgb[3] = { y, y, y };

    if (op->layout == VRT_PLANES_YUV) {
        const float u = cell[1] - m.c_offset, v = cell[2] - m.c_offset;
        rgb[0] = y + m.rv * v;
        rgb[1] = y - m.gu * u - m.gv * v;
        rgb[2] = y + m.bu * u;
    } else if (op->layout == VRT_PLANES_GBR) {
        rgb[0] = (cell[2] - m.y_offset) * m.y_scale;
        rgb[2] = (cell[1] - m.y_offset) * m.y_scale;
    }
    for (int c = 0; c < 3; c++)
        cell[c] = rgb[c];
}

/* By the grid that is set already. */
static int take_means(const struct vrt_frame *frame, float blank, struct vrt_means *means)
{
    struct vrt_op_colour op;
    int r = vrt_colour_op_of(&frame->format, &op);

    if (r < 0)
        return vrt_fold(r);
    means->is_blank = !has_contrast(frame, blank);
    for (int p = 0; p < vrt_frame_format_n_planes(&frame->format); p++)
        average(frame, p, means);
    for (int i = 0; i < means->columns * means->rows; i++)
        to_rgb(&op, means->rgb[i]);
    return 0;
}

int vrt_means_of_input(const struct vrt_frame *frame, struct vrt_means *ret_means)
{
    ret_means->columns = n_cells(frame->format.width);
    ret_means->rows = n_cells(frame->format.height);
    return vrt_fold(take_means(frame, BLANK_IN, ret_means));
}

int vrt_means_of_result(const struct vrt_frame *frame, const struct vrt_means *in,
                        struct vrt_means *ret_means)
{
    ret_means->columns = in->columns;
    ret_means->rows = in->rows;
    return vrt_fold(take_means(frame, BLANK_OUT, ret_means));
}

/* One cell's mean. */
static void average_pixels(const struct vrt_picture *picture, int i, int j, struct vrt_means *means)
{
    const int left = edge(i, means->columns, picture->width);
    const int right = edge(i + 1, means->columns, picture->width);
    const int end = edge(j + 1, means->rows, picture->height);
    double sums[3] = { 0 };
    int n = 0;

    for (int y = edge(j, means->rows, picture->height); y < end; y++, n += right - left) {
        const float *row = picture->rgb + 3 * (size_t)picture->width * (size_t)y;
        for (int x = left; x < right; x++)
            for (int c = 0; c < 3; c++)
                sums[c] += fminf(fmaxf(row[3 * x + c], 0), 1);
    }
    for (int c = 0; c < 3; c++)
        means->rgb[j * means->columns + i][c] = (float)(sums[c] / n);
}

void vrt_means_of_pixels(const struct vrt_picture *picture, const struct vrt_means *in,
                         struct vrt_means *ret_means)
{
    ret_means->columns = in->columns;
    ret_means->rows = in->rows;
    ret_means->is_blank = !picture_has_contrast(picture, BLANK_OUT);
    for (int j = 0; j < ret_means->rows; j++)
        for (int i = 0; i < ret_means->columns; i++)
            average_pixels(picture, i, j, ret_means);
}

/* How far apart the components of a change are. */
static float spread(const float *change)
{
    return fmaxf(fmaxf(change[0], change[1]), change[2]) -
           fminf(fminf(change[0], change[1]), change[2]);
}

static float brightest(const float *rgb)
{
    return fmaxf(fmaxf(rgb[0], rgb[1]), rgb[2]);
}

static float darkest(const float *rgb)
{
    return fminf(fminf(rgb[0], rgb[1]), rgb[2]);
}

struct vrt_deviation vrt_means_compare(const struct vrt_means *in, const struct vrt_means *out)
{
    struct vrt_deviation d = { 0 };
    const int n = in->columns * in->rows;
    float total[3] = { 0 };

    for (int i = 0; i < n; i++) {
        const float *was = in->rgb[i], *is = out->rgb[i];
        float change[3];
        for (int c = 0; c < 3; c++) {
            change[c] = is[c] - was[c];
            total[c] += change[c] / (float)n;
        }
        d.n_lost += brightest(is) < BLACK && brightest(was) > NOT_BLACK;
        /* Samples of 0 in all planes of Y'CbCr: a green that isn't. */
        d.n_lost += darkest(is) < VRT_MIN(darkest(was), 0) + NO_COLOUR;
    }
    d.cast = spread(total);
    return d;
}

static enum vrt_flaw judge(const struct vrt_deviation *d, bool lost_everything)
{
    if (lost_everything)
        return VRT_FLAW_BLANK;
    if (d->cast > CAST_MAX)
        return VRT_FLAW_CAST;
    return d->n_lost > 0 ? VRT_FLAW_BLACK : VRT_FLAW_NONE;
}

enum vrt_flaw vrt_means_judge(const struct vrt_means *in, const struct vrt_means *out)
{
    const struct vrt_deviation d = vrt_means_compare(in, out);

    return judge(&d, out->is_blank && !in->is_blank);
}

enum vrt_flaw vrt_means_judge_between(const struct vrt_means *last, const struct vrt_means *next,
                                      const struct vrt_means *out)
{
    struct vrt_means dimmer = *last;

    for (int i = 0; i < last->columns * last->rows; i++)
        if (brightest(next->rgb[i]) < brightest(last->rgb[i]))
            memcpy(dimmer.rgb[i], next->rgb[i], sizeof(dimmer.rgb[i]));
    const struct vrt_deviation d = {
        .cast = fminf(vrt_means_compare(last, out).cast, vrt_means_compare(next, out).cast),
        .n_lost = vrt_means_compare(&dimmer, out).n_lost,
    };
    return judge(&d, out->is_blank && !last->is_blank && !next->is_blank);
}
