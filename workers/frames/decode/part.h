/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A part of a video: from when to when, and how a decoder gets there without decoding all before;
 * and likewise the rest of one, of which somebody has had what is before
 *
 * Frames are exact only if the decoder has seen what they refer to. So the packets are read from
 * the beginning, but those before the part are kept rather than decoded, as far back as two key
 * frames: one may begin a picture that is only refreshed bit by bit until the next. Where more than
 * may be kept lies between these, it is decoded, and what follows the next key frame kept again.
 *
 * For the reader alone. Thread: the reader's.
 */

#include <libavcodec/codec_par.h>
#include <libavcodec/packet.h>
#include <libavutil/fifo.h>
#include <libavutil/rational.h>
#include <stdbool.h>
#include <stdint.h>

#include "frames/decode/reader.h"
#include "frames/decode/source.h"

struct AVStream;

/* What is kept at most, with what each packet costs; then it is decoded. */
#define VRT_PART_HELD_BYTES_MAX (64 << 20)

/* Embedded; zero-initialised but for `codec`: the whole video. */
struct vrt_part {
    struct vrt_reader_range range;      /* as asked */
    bool is_all_seen;                   /* what is before it, too: all of it is decoded */
    bool is_placed;                     /* the next two are known */
    int64_t start, end;                 /* in the stream's time base; end INT64_MAX: none */

    bool is_holding;                    /* packets are kept; else the decoder gets them */
    bool is_behind;                     /* of those kept, some were dropped: what the first follows
                                         * on the decoder hasn't seen */
    bool has_begun;                     /* no more are kept */
    int n_keys_due;                     /* behind a leap: key frames that must come before it */
    AVFifo *held;                       /* of AVPacket *; NULL: none were */
    size_t n_held_last;                 /* of those, from the last key frame on */
    int64_t held_bytes;

    const AVCodecParameters *codec;     /* the stream's, who keeps it */
    unsigned int sets;                  /* kinds of parameter sets that packets brought, others than
                                         * what the container tells at first */
    bool is_set_once;                   /* a later key frame didn't bring all of these */
};

/* Says when the part is, by the time of the video's first frame. */
void vrt_part_place(struct vrt_part *part, int64_t first_pts, AVRational time_base);

/* After vrt_part_place(): it begins no earlier than a frame shown at `pts`, in `of`. */
void vrt_part_begin_late(struct vrt_part *part, int64_t pts, struct vrt_rational of,
                         AVRational time_base);

/*
 * Goes on reading a few key frames before the part, if that is far, and the container says where
 * each is and when it is shown, whatever is read before: MP4 and Matroska. Before the part's first
 * packet. Return: false: nobody knows where reading goes on now, and nothing more may be read.
 */
bool vrt_part_leap(struct vrt_part *part, struct vrt_source *source, const struct AVStream *stream);

/* Whether a decoder of the codec gives out the same behind two key frames, whatever was before: a
 * standard says so, or each frame is one. */
bool vrt_part_knows(const struct vrt_part *part);

/* Whether what was read so far shows that it needn't: key frames are missing behind a leap, or
 * those there are need parameters of a packet before. */
bool vrt_part_is_odd(const struct vrt_part *part);

enum {
    VRT_PART_HELD = 1,          /* outcome of vrt_part_take(): the packet was taken over */
    VRT_PART_GO_ON,             /* likewise: give the decoder what vrt_part_next() has */
    VRT_PART_BEGIN,             /* the same, but flush the decoder before */
};

/* Shows the video's next packet. Return: 0: it is for the decoder; an outcome; -ENOMEM. */
int vrt_part_take(struct vrt_part *part, AVPacket *packet);

/* There are no more packets. Return: 0: nothing is kept; VRT_PART_GO_ON, VRT_PART_BEGIN. */
int vrt_part_end(struct vrt_part *part);

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
