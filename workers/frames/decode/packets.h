/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The packets of a demuxer, and of one whose clock may jump (AVFMT_TS_DISCONT: transport and
 * program streams) all by one clock: see timeline.h. For source.c alone.
 *
 * Thread: one at a time.
 */

#include <libavformat/avformat.h>

#include "frames/decode/timeline.h"

/* Behind a jump, while a stream hasn't jumped: broadcasts are interleaved within a second. */
#define VRT_PACKETS_HELD_MAX 512
#define VRT_PACKETS_HELD_BYTES_MAX (64 << 20)

/* Embedded; zero-initialised. */
struct vrt_packets {
    struct vrt_timeline timeline;
    struct vrt_timeline_stream *streams;    /* [n_streams] */
    size_t n_streams;
    AVPacket *held[VRT_PACKETS_HELD_MAX];   /* a ring; allocated as they are needed */
    size_t n_held, first_held;
    int64_t held_bytes;
    int64_t released_us;                    /* n_released: to be added to their times */
    size_t n_released;                      /* of those held, the first so many may go */
    AVPacket *again;                        /* to be shown again, if it has data; NULL: none yet */
};

/* What a container says may be as large as 64 bits are: a time that is a century away, or 2^61
 * ticks, is none, so that those of any two packets can be added, in any unit. Return: itself, or
 * AV_NOPTS_VALUE. Pure. */
int64_t vrt_packets_time(int64_t time, AVRational time_base);

/* As av_read_frame(), of such times. */
int vrt_packets_read(AVFormatContext *format, AVPacket *packet);

/* Likewise, by one clock. */
int vrt_packets_next(struct vrt_packets *packets, AVFormatContext *format, AVPacket *packet);

/* Drops what is held. */
void vrt_packets_done(struct vrt_packets *packets);
