/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A part of a video: from when to when, and how a decoder gets there without decoding all before
 *
 * Frames are exact only if the decoder has seen what they refer to. So the packets are read from
 * the beginning, but those before the part are kept rather than decoded, as far back as two key
 * frames: one may begin a picture that is only refreshed bit by bit until the next.
 *
 * For the reader alone. Thread: the reader's.
 */

#include <libavcodec/packet.h>
#include <libavutil/fifo.h>
#include <libavutil/rational.h>
#include <stdbool.h>
#include <stdint.h>

#include "frames/decode/reader.h"

/* What is kept at most; then the decoder begins earlier. */
#define VRT_PART_HELD_BYTES_MAX (64 << 20)

/* Embedded; zero-initialised: the whole video. */
struct vrt_part {
    struct vrt_reader_range range;      /* as asked */
    bool is_all_seen;                   /* what is before it, too: all of it is decoded */
    bool is_placed;                     /* the next two are known */
    int64_t start, end;                 /* in the stream's time base; end INT64_MAX: none */

    bool is_holding;                    /* packets are kept */
    bool has_begun;                     /* they were given out: no more are kept */
    AVFifo *held;                       /* of AVPacket *; NULL: none were */
    size_t n_held_last;                 /* of those, from the last key frame on */
    int64_t held_bytes;
};

/* Says when the part is, by the time of the video's first frame. */
void vrt_part_place(struct vrt_part *part, int64_t first_pts, AVRational time_base);

enum {
    VRT_PART_HELD = 1,          /* outcome of vrt_part_take(): the packet was taken over */
    VRT_PART_BEGIN,             /* likewise, and the part begins: flush the decoder, and give it
                                 * what vrt_part_next() has */
};

/*
 * Shows the video's next packet. Return: 0: it is for the decoder; VRT_PART_HELD; VRT_PART_BEGIN;
 * -ENOMEM.
 */
int vrt_part_take(struct vrt_part *part, AVPacket *packet);

/* There are no more packets. Return: whether the part begins now, as above. */
bool vrt_part_end(struct vrt_part *part);

/* Leaves the next packet that was kept in `packet`. Return: whether there was one. */
bool vrt_part_next(struct vrt_part *part, AVPacket *packet);

/* Where a frame shown at `pts`, in `of`, a part of `time_base`, is: before the part, in it, behind
 * it. Return: -1, 0, 1. */
int vrt_part_side(const struct vrt_part *part, int64_t pts, struct vrt_rational of,
                  AVRational time_base);

/*
 * What is known of the video, said of the part.
 * Return: 0; -ERANGE with a sentence: nothing of the video is in it.
 */
int vrt_part_limit(const struct vrt_part *part, const char *name, struct vrt_reader_info *info,
                   struct vrt_error *error);

/* Return: -ERANGE with a sentence: no frame was found in it. */
int vrt_part_refuse(const struct vrt_part *part, const char *name, struct vrt_error *error);

/* Drops what is kept. */
void vrt_part_done(struct vrt_part *part);
