/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A length that is covered by pieces which overlap: clips along a video, tiles along a side. Pure.
 *
 * All pieces have one size; each begins `size - overlap` after the last, but for the last one,
 * which ends where the length ends. A length that is shorter than a piece is one shorter piece.
 * What two pieces have both computed is blended:
 *
 * - feathered: over the last `overlap` places of the earlier piece its weight falls off linearly,
 *   and that of the later one rises. What the last piece has in common with its neighbour beyond
 *   that, it leaves out.
 * - averaged: all that a piece has counts alike, but for `drop` places at ends which are not the
 *   length's. This is how VRT's authors test.
 */

#include <stdbool.h>
#include <stdint.h>

/* Longer than any length: pieces of one whose end isn't known yet. */
#define VRT_OVERLAP_ENDLESS (INT64_MAX / 4)

struct vrt_overlap {
    int size;                       /* of a piece, from 1 */
    int shared;                     /* places that neighbours share, at most size / 2 */
    bool averaged;                  /* else feathered */
    int drop_first, drop_last;      /* averaged: left out at a piece's beginning and end */
};

/* What a place of a piece is worth: the result is the sum of weight * value over all pieces that
 * share the place, divided by `total`. */
struct vrt_share {
    float weight;                   /* 0: not used */
    float total;
    int n;                          /* pieces that share it, whose weight isn't 0 */
};

/* Pieces that cover `length`, from 1. */
int64_t vrt_overlap_count(const struct vrt_overlap *overlap, int64_t length);

/* Where piece `i` begins. */
int64_t vrt_overlap_start(const struct vrt_overlap *overlap, int64_t length, int64_t i);

/* Where it ends: at most `size` places later. */
int64_t vrt_overlap_end(const struct vrt_overlap *overlap, int64_t length, int64_t i);

/*
 * The share that piece `i` has in place `at`, which lies within it. Of a length that isn't known
 * yet, VRT_OVERLAP_ENDLESS gives the same as the true one will, once that is known to exceed the
 * piece's end by vrt_overlap_ahead().
 */
struct vrt_share vrt_overlap_share(const struct vrt_overlap *overlap, int64_t length, int64_t i,
                                   int64_t at);

/* How much further than to a piece's end the length must reach at least, for its last piece not to
 * change what the piece's shares are. */
int vrt_overlap_ahead(const struct vrt_overlap *overlap);
