/* SPDX-License-Identifier: MIT */
/*
 * A character is a cell of 2 x 4 braille dots (U+2800 and a bit for each), or of one without them.
 * A column of dots is filled up to the mean of y over the time that it stands for; what is more
 * than nothing has a dot.
 */

#include "client/terminal/plot.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/macro.h"

#define LABEL_COLUMNS (VRT_PLOT_SCALE_COLUMNS - 2)
#define BRAILLE 0x2800

/* The bit of a braille pattern's dot: by its row from above, and column. */
static const unsigned char dots[4][2] = { { 0x01, 0x08 }, { 0x02, 0x10 }, { 0x04, 0x20 },
                                          { 0x40, 0x80 } };

/* The mean of y from x `from` to x `to`; NAN: nothing is known of that time. */
static double mean(const struct vrt_plot *plot, double from, double to)
{
    double sum = 0, lasted = 0, begun = plot->begin;

    for (size_t i = 0; i < plot->n && begun < to; begun = plot->x[i++]) {
        const double part = VRT_MIN(plot->x[i], to) - VRT_MAX(begun, from);
        if (!(part > 0) || isnan(plot->y[i]))
            continue;
        sum += part * plot->y[i];
        lasted += part;
    }
    return lasted > 0 ? sum / lasted : NAN;
}

/* What column `i` of n stands for. */
static double column_mean(const struct vrt_plot *plot, int i, int n)
{
    const double step = (plot->end - plot->begin) / n;

    return mean(plot, plot->begin + step * i, plot->begin + step * (i + 1));
}

/* How many dots of `n_dots` are filled in each column. Return: what all of them stand for. */
static double fill(const struct vrt_plot *plot, int n_dots, int *heights, int n)
{
    double top = 0;

    for (int i = 0; i < n; i++) {
        const double y = column_mean(plot, i, n);
        top = VRT_MAX(y, top);
    }
    for (int i = 0; i < n; i++) {
        const double y = column_mean(plot, i, n);
        heights[i] = y > 0 ? VRT_MAX((int)lround(y / top * n_dots), 1) : 0;
    }
    return top;
}

/* The cell whose lowest dots are `floor` dots above the ground. */
static int print_cell(const struct vrt_plot *plot, const int *heights, int floor,
                      struct vrt_buf *buf)
{
    unsigned code = BRAILLE;

    if (!plot->utf8)
        return vrt_fold(vrt_buf_append(buf, heights[0] > floor ? "#" : " ", 1));
    for (int row = 0; row < 4; row++)
        for (int column = 0; column < 2; column++)
            if (heights[column] > floor + 3 - row)
                code |= dots[row][column];
    const char text[] = { (char)(0xe0 | code >> 12), (char)(0x80 | (code >> 6 & 0x3f)),
                          (char)(0x80 | (code & 0x3f)) };
    return vrt_fold(code == BRAILLE ? vrt_buf_append(buf, " ", 1) :
                                      vrt_buf_append(buf, text, sizeof(text)));
}

int vrt_plot_print(const struct vrt_plot *plot, struct vrt_buf *buf)
{
    const int across = plot->utf8 ? 2 : 1, down = plot->utf8 ? 4 : 1;
    const int n = VRT_MAX(plot->columns - VRT_PLOT_SCALE_COLUMNS, 1);
    VRT_CLEANUP(vrt_freep) int *heights = calloc((size_t)(n * across), sizeof(*heights));
    char label[32];
    int r = 0;

    if (!heights)
        return vrt_raise(-ENOMEM);
    const double top = fill(plot, plot->rows * down, heights, n * across);
    for (int row = 0; row < plot->rows && r == 0; row++) {
        const int floor = (plot->rows - 1 - row) * down;
        label[0] = '\0';
        if (row == 0 || row == plot->rows - 1)
            plot->label(row == 0 ? top : 0, label, sizeof(label));
        r = vrt_buf_printf(buf, "%*.*s %s", LABEL_COLUMNS, LABEL_COLUMNS, label,
                           plot->utf8 ? "\u2502" : "|");
        for (int i = 0; i < n && r == 0; i++)
            r = print_cell(plot, &heights[i * across], floor, buf);
        while (r == 0 && buf->data[buf->size_bytes - 1] == ' ')      /* up to the scale's line */
            buf->size_bytes--;
        if (r == 0)
            r = vrt_buf_append(buf, "\n", 1);
    }
    return vrt_fold(r);
}
