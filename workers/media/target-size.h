/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Which bitrate makes a result as large as was asked for
 *
 * Each segment is encoded in one pass, by an encoder of its own that keeps its bitrate roughly.
 * What one took too much the next ones save, and what all of them take of what they are told is
 * allowed for: the sum is kept. It follows from what is written alone, so that who goes on tells
 * the same. Pure.
 */

#include <stdint.h>

#include "base/error.h"
#include "frames/encode/container.h"
#include "frames/encode/encoder.h"
#include "frames/join/joiner.h"

struct vrt_target_size {
    int64_t size_bytes;                         /* of the result, as asked for */
    enum vrt_container container;
    struct vrt_joiner_rest rest;                /* of it, what isn't the restored video */
    const struct vrt_encoder_params *encoder;   /* but for its bitrate */
    int64_t n_frames;                           /* -1: unknown */
};

/*
 * The bitrate of the video, whose average frame rate frames are counted by.
 * Return: 0, with a warning where the result will stay smaller; -EINVAL with the sentence in
 * `error`: nobody knows how long the video is, or so small a result would be worth nothing.
 */
int vrt_target_size_bitrate(const struct vrt_target_size *target, int64_t *ret_bitrate,
                            struct vrt_warnings *warnings, struct vrt_error *error);

/* How it comes along. Begins with the first three members, the rest zero. */
struct vrt_target_size_course {
    int64_t bitrate;                /* of all frames */
    struct vrt_rational fps;
    int64_t n_frames;               /* there will be, as far as anybody knows; 0: no size is kept */
    int64_t n_done;                 /* frames of complete segments */
    double told_bytes, took_bytes;  /* what their encoders were told to take, and took */
};

/* No segment is told more than so many times the bitrate, nor less by the same factor. */
#define VRT_TARGET_SIZE_TIMES_MAX 2

/* The bitrate of the next segment. */
int64_t vrt_target_size_next(const struct vrt_target_size_course *course);

/* The next segment is complete, with so many frames, a file of that size. */
void vrt_target_size_note(struct vrt_target_size_course *course, int64_t n_frames,
                          int64_t size_bytes);
