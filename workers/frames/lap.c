/* SPDX-License-Identifier: MIT */

#include "frames/lap.h"

#include "base/macro.h"

static int step_of(const struct vrt_lap *lap)
{
    return lap->size - lap->overlap;
}

int64_t vrt_lap_count(const struct vrt_lap *lap, int64_t length)
{
    int64_t rest = length - lap->size;

    return rest <= 0 ? 1 : (rest + step_of(lap) - 1) / step_of(lap) + 1;
}

int64_t vrt_lap_start(const struct vrt_lap *lap, int64_t length, int64_t i)
{
    return VRT_MIN(i * step_of(lap), VRT_MAX(length - lap->size, 0));
}

int64_t vrt_lap_end(const struct vrt_lap *lap, int64_t length, int64_t i)
{
    return VRT_MIN(vrt_lap_start(lap, length, i) + lap->size, length);
}

int vrt_lap_ahead(const struct vrt_lap *lap)
{
    /* Averaged: the last piece must neither begin within this one nor be its neighbour. */
    return lap->averaged ? lap->size : 1;
}

/* Whether averaged piece `i` has a value for the place. */
static bool has(const struct vrt_lap *lap, int64_t length, int64_t i, int64_t at)
{
    int64_t n = vrt_lap_count(lap, length);
    int64_t from = vrt_lap_start(lap, length, i) + (i > 0 ? lap->drop_first : 0);
    int64_t to = vrt_lap_end(lap, length, i) - (i < n - 1 ? lap->drop_last : 0);

    return at >= from && at < to;
}

static struct vrt_share average(const struct vrt_lap *lap, int64_t length, int64_t i, int64_t at)
{
    int64_t n_pieces = vrt_lap_count(lap, length);
    struct vrt_share share = { 0 };

    /* No piece further away reaches here: an overlap is half a piece at most. */
    for (int64_t k = VRT_MAX(i - 2, 0); k <= VRT_MIN(i + 2, n_pieces - 1); k++)
        share.n += has(lap, length, k, at);
    share.total = (float)share.n;
    share.weight = has(lap, length, i, at) ? 1 : 0;
    return share;
}

static struct vrt_share feather(const struct vrt_lap *lap, int64_t length, int64_t i, int64_t at)
{
    int64_t n_pieces = vrt_lap_count(lap, length);
    int64_t end = vrt_lap_end(lap, length, i);
    struct vrt_share share = { 1, 1, 1 };

    if (i > 0) {
        int64_t joint = vrt_lap_end(lap, length, i - 1);
        if (at < joint - lap->overlap)
            share.weight = 0;
        else if (at < joint)
            share = (struct vrt_share){
                (float)(at - (joint - lap->overlap) + 1) / (float)(lap->overlap + 1), 1, 2
            };
    }
    if (i < n_pieces - 1 && at >= end - lap->overlap)
        share = (struct vrt_share){
            1 - (float)(at - (end - lap->overlap) + 1) / (float)(lap->overlap + 1), 1, 2
        };
    return share;
}

struct vrt_share vrt_lap_share(const struct vrt_lap *lap, int64_t length, int64_t i, int64_t at)
{
    return lap->averaged ? average(lap, length, i, at) : feather(lap, length, i, at);
}
