/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Whether a result can be of its input, as the host sees both: a device which lies is caught, too
 *
 * Networks that restore keep what a part of the picture is on average. A device or driver that has
 * gone wrong doesn't: it leaves frames or tiles black, or mixes up planes, and everything is green
 * or purple. Pure.
 */

#include <stdbool.h>

struct vrt_frame;
struct vrt_picture;

#define VRT_MEANS_SIDE 16           /* cells along each side of a picture, at most */

/* What a picture is on average, cell by cell. */
struct vrt_means {
    int columns, rows;
    float rgb[VRT_MEANS_SIDE * VRT_MEANS_SIDE][3];      /* row by row; 0 to 1 */
    bool is_blank;                  /* it has no contrast to speak of */
};

/* How a result differs from its input. */
struct vrt_deviation {
    float cast;                     /* of the whole picture's colour; 1: from one corner of the
                                     * colour cube to another, whatever its brightness */
    int n_lost;                     /* cells that are black, or no colour at all, and were not */
};

/* Means of an input, whose blankness is strict, or of its result, which is called blank only where
 * it lost everything. Return: 0; -EINVAL: such samples mean nothing. */
int vrt_means_of_input(const struct vrt_frame *frame, struct vrt_means *ret_means);
int vrt_means_of_result(const struct vrt_frame *frame, const struct vrt_means *in,
                        struct vrt_means *ret_means);

/* Likewise of pixels that are to be blended. */
void vrt_means_of_pixels(const struct vrt_picture *picture, const struct vrt_means *in,
                         struct vrt_means *ret_means);

/* Compares a result with its input. */
struct vrt_deviation vrt_means_compare(const struct vrt_means *in, const struct vrt_means *out);

/* What is wrong with a result. */
enum vrt_flaw {
    VRT_FLAW_NONE,
    VRT_FLAW_BLANK,
    VRT_FLAW_BLACK,                 /* in a part; this and the next a network may mean */
    VRT_FLAW_CAST,
    VRT_FLAW_COUNT,
};

/* Each in words, behind "the result". */
extern const char *const vrt_flaw_words[];

enum vrt_flaw vrt_means_judge(const struct vrt_means *in, const struct vrt_means *out);

/* The same of a frame between two: what neither of them has. */
enum vrt_flaw vrt_means_judge_between(const struct vrt_means *last, const struct vrt_means *next,
                                      const struct vrt_means *out);
