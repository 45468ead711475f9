/* SPDX-License-Identifier: MIT */
#pragma once

/* The last values of something, and a line of bars of them, for a table. Pure. */

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#define VRT_SERIES_MAX 512      /* values that are kept: more than a terminal has columns */

/* A value for each period. All zero: there are none. */
struct vrt_series {
    double values[VRT_SERIES_MAX];          /* the i-th ever added, at i % VRT_SERIES_MAX */
    size_t n_added;
};

/* Adds a value from 0 on; NAN: unknown. */
void vrt_series_add(struct vrt_series *series, double value);

/* The value that is `age` periods old; NAN: unknown. */
double vrt_series_at(const struct vrt_series *series, size_t age);

/* The largest of the last `n` values; 0 where none is known. */
double vrt_series_peak(const struct vrt_series *series, int n);

/*
 * Appends `columns` characters: a bar for each of the last values, of eighths of the line where the
 * terminal shows more than ASCII (`utf8`), the newest at the right. `full` fills the line; 0:
 * nothing does. What isn't known is blank, and what is 0 almost so. Return: 0, -ENOMEM.
 */
int vrt_spark_print(const struct vrt_series *series, int columns, double full, bool utf8,
                    struct vrt_buf *buf) VRT_MUST_CHECK;
