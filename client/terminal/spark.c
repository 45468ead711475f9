/* SPDX-License-Identifier: MIT */

#include "client/terminal/spark.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/macro.h"

#define EIGHTHS 8

/* How full a character is, from 0 to EIGHTHS. */
static const char *const blocks[] = {
    " ", "\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588",
};
static const char *const letters[] = { " ", "_", "_", ".", ".", ":", ":", "|", "#" };

void vrt_series_add(struct vrt_series *series, double value)
{
    series->values[series->n_added++ % VRT_SERIES_MAX] = value;
}

double vrt_series_at(const struct vrt_series *series, size_t age)
{
    if (age >= series->n_added || age >= VRT_SERIES_MAX)
        return NAN;
    return series->values[(series->n_added - 1 - age) % VRT_SERIES_MAX];
}

double vrt_series_peak(const struct vrt_series *series, int n)
{
    double peak = 0;

    for (int i = 0; i < n; i++)
        peak = fmax(peak, vrt_series_at(series, (size_t)i));    /* fmax() passes over NAN */
    return peak;
}

int vrt_spark_print(const struct vrt_series *series, int columns, double full, bool utf8,
                    struct vrt_buf *buf)
{
    int r = 0;

    for (int i = columns - 1; i >= 0 && r == 0; i--) {
        const double value = vrt_series_at(series, (size_t)i);
        const double share = full > 0 ? VRT_MIN(value / full, 1.0) : 0;
        const int level = isnan(value) ? 0 : VRT_MAX((int)lround(EIGHTHS * share), 1);
        const char *cell = utf8 ? blocks[level] : letters[level];
        r = vrt_buf_append(buf, cell, strlen(cell));
    }
    return vrt_fold(r);
}
