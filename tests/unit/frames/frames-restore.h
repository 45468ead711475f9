/* SPDX-License-Identifier: MIT */
#pragma once

/* A video read, and a whole restoration whose network changes nothing: reader, encoder, joiner. */

#include "frames/encode/encoder.h"
#include "frames/join/joiner.h"
#include "frames/decode/reader.h"

struct restore_params {
    enum vrt_codec codec;
    int quality;
    int64_t bitrate;                /* 0: constant quality */
    int n_threads;
    int segment_frames;             /* 0: one segment */
    bool strict;
    struct vrt_reader_range range;  /* zero: all of it */
};

struct restore_result {
    struct vrt_reader_info info;
    struct vrt_frame_format format; /* as encoded */
    struct vrt_joiner_result joined;
    struct vrt_warnings warnings;   /* of choosing the format */
};

/*
 * Restores the video at `in` to `out`, both paths, and verifies it. Frames must have the format
 * that the encoder asks for. Return: the first failure, with its sentence; 0.
 */
int restore(const char *in, const char *out, const struct restore_params *params,
            struct restore_result *ret_result, struct vrt_error *error);

/* As restore(), but the test fails where it does. */
void restore_ok(const char *in, const char *out, const struct restore_params *params,
                struct restore_result *ret_result);

/* What a reader gave out. */
#define FIXTURE_FRAMES_MAX 1024
struct fixture_reading {
    int n;
    uint64_t hashes[FIXTURE_FRAMES_MAX];
    int64_t pts[FIXTURE_FRAMES_MAX], durations[FIXTURE_FRAMES_MAX];
    bool can_go_on[FIXTURE_FRAMES_MAX];
    struct vrt_reader_info info;        /* at last */
    struct vrt_error error;
};

/* Reads all, and leaves the descriptor open. Return: what the last call did. */
int fixture_read(int fd, const struct vrt_reader_params *params,
                 struct fixture_reading *ret_reading);
