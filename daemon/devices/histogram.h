/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * How often something took how long, in steps that stay as they are: what GET /metrics tells
 *
 * From frames that take milliseconds to clips that take minutes. Thread: the loop's.
 */

#include <stddef.h>
#include <stdint.h>

#define VRT_HISTOGRAM_STEPS(X) \
    X(0.01) X(0.025) X(0.05) X(0.1) X(0.25) X(0.5) X(1) X(2.5) X(5) X(10) X(25) X(50) X(100) \
    X(250) X(500)

#define VRT_HISTOGRAM_COUNT_(step) +1
#define VRT_HISTOGRAM_N_STEPS (0 VRT_HISTOGRAM_STEPS(VRT_HISTOGRAM_COUNT_))

struct vrt_histogram {
    /* That took as long as step i at most, and longer than the one before; the last longer than all
     * steps. */
    int64_t counts[VRT_HISTOGRAM_N_STEPS + 1];
    double sum_s;
};

#define VRT_HISTOGRAM_VALUE_(step) step,
static const double vrt_histogram_steps_s[VRT_HISTOGRAM_N_STEPS] = {
    VRT_HISTOGRAM_STEPS(VRT_HISTOGRAM_VALUE_)
};

/* One more, which took so many seconds. */
static inline void vrt_histogram_add(struct vrt_histogram *histogram, double seconds)
{
    size_t i = 0;

    while (i < VRT_HISTOGRAM_N_STEPS && seconds > vrt_histogram_steps_s[i])
        i++;
    histogram->counts[i]++;
    histogram->sum_s += seconds;
}
