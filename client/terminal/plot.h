/* SPDX-License-Identifier: MIT */
#pragma once

/* A curve over time, as lines of text: by braille dots where the terminal has them. Pure. */

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#define VRT_PLOT_SCALE_COLUMNS 11

struct vrt_plot {
    const double *x, *y;            /* x ascends; of y NAN: nobody knows; y isn't negative */
    size_t n;
    double begin, end;              /* of the x that are shown */
    int columns, rows;              /* all of it, with the scale at the left */
    bool utf8;                      /* else by letters */
    const char *(*label)(double value, char *buffer, size_t size);     /* of the scale of y */
};

/* Appends it: `rows` lines, each ended by a line break, none wider than `columns`, which are 20 at
 * least. A y holds from the x before its own on. Return: 0, -ENOMEM. */
int vrt_plot_print(const struct vrt_plot *plot, struct vrt_buf *buf) VRT_MUST_CHECK;
