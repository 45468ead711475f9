/* SPDX-License-Identifier: MIT */

#include "frames/clips/overlap.h"

#include "base/macro.h"

static int step_of(const struct vrt_overlap *overlap)
{
    return overlap->size - overlap->shared;
}

int64_t vrt_overlap_count(const struct vrt_overlap *overlap, int64_t length)
{
    int64_t rest = length - overlap->size;

    return rest <= 0 ? 1 : (rest + step_of(overlap) - 1) / step_of(overlap) + 1;
}

int64_t vrt_overlap_start(const struct vrt_overlap *overlap, int64_t length, int64_t i)
{
    return VRT_MIN(i * step_of(overlap), VRT_MAX(length - overlap->size, 0));
}

int64_t vrt_overlap_end(const struct vrt_overlap *overlap, int64_t length, int64_t i)
{
    return VRT_MIN(vrt_overlap_start(overlap, length, i) + overlap->size, length);
}

int vrt_overlap_ahead(const struct vrt_overlap *overlap)
{
    /* Averaged: the last piece must neither begin within this one nor be its neighbour. */
    return overlap->averaged ? overlap->size : 1;
}

/* Whether averaged piece `i` has a value for the place. */
static bool has(const struct vrt_overlap *overlap, int64_t length, int64_t i, int64_t at)
{
    int64_t n = vrt_overlap_count(overlap, length);
    int64_t from = vrt_overlap_start(overlap, length, i) + (i > 0 ? overlap->drop_first : 0);
    int64_t to = vrt_overlap_end(overlap, length, i) - (i < n - 1 ? overlap->drop_last : 0);

    return at >= from && at < to;
}

static struct vrt_share average(const struct vrt_overlap *overlap, int64_t length, int64_t i,
                                int64_t at)
{
    int64_t n_pieces = vrt_overlap_count(overlap, length);
    struct vrt_share share = { 0 };

    /* No piece further away reaches here: an overlap is half a piece at most. */
    for (int64_t k = VRT_MAX(i - 2, 0); k <= VRT_MIN(i + 2, n_pieces - 1); k++)
        share.n += has(overlap, length, k, at);
    share.total = (float)share.n;
    share.weight = has(overlap, length, i, at) ? 1 : 0;
    return share;
}

static struct vrt_share feather(const struct vrt_overlap *overlap, int64_t length, int64_t i,
                                int64_t at)
{
    int64_t n_pieces = vrt_overlap_count(overlap, length);
    int64_t end = vrt_overlap_end(overlap, length, i);
    struct vrt_share share = { 1, 1, 1 };

    if (i > 0) {
        int64_t joint = vrt_overlap_end(overlap, length, i - 1);
        if (at < joint - overlap->shared)
            share.weight = 0;
        else if (at < joint)
            share = (struct vrt_share){
                (float)(at - (joint - overlap->shared) + 1) / (float)(overlap->shared + 1), 1, 2
            };
    }
    if (i < n_pieces - 1 && at >= end - overlap->shared)
        share = (struct vrt_share){
            1 - (float)(at - (end - overlap->shared) + 1) / (float)(overlap->shared + 1), 1, 2
        };
    return share;
}

struct vrt_share vrt_overlap_share(const struct vrt_overlap *overlap, int64_t length, int64_t i,
                                   int64_t at)
{
    return overlap->averaged ? average(overlap, length, i, at) : feather(overlap, length, i, at);
}
