/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Segment files: encoded packets on their way from the encoder to the joiner. For frames/ alone.
 *
 * A file of our own rather than a container's: it keeps the time base and the time stamps exactly,
 * knows which frame a packet holds, and every part of it carries a checksum. Little-endian:
 *
 *     magic "VRTSEG1\n"
 *     head:    size u32, fields i32 (the table in segment-write.c), extradata, crc u32
 *     packet:  'P' u8, key u8, extra u16, size u32, index i64, pts i64, duration i64, crc u32, data
 *     end:     'E' u8, 0 u8, 0 u16, size u32, vrt_segment_end's fields i64, crc u32
 *
 * Where `extra` is 1, the data are the packet's own, what goes along with it, such as transparency
 * (side data of Matroska's blocks), and the size of the first u32.
 *
 * A crc is over all bytes of its part before it, a packet's over its data too. A file without its
 * end is incomplete: its writer never finished.
 */

#include <libavcodec/avcodec.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "frames/encode/encoder.h"
#include "frames/format.h"
#include "frames/encode/sink.h"

/* Decoding order never runs further ahead of presentation order: twice HEVC's limit. */
#define VRT_SEGMENT_MAX_DELAY 32

/* What is the same for all segments of a video. */
struct vrt_segment_head {
    enum vrt_codec codec;
    int profile, level;             /* FFmpeg's numbers */
    struct vrt_frame_format format;
    struct vrt_rational time_base, fps;
};

struct vrt_segment_packet {
    bool key;
    int64_t index;                  /* of its frame in the segment, in presentation order */
    int64_t pts, duration;
};

struct vrt_segment_end {
    int64_t n_packets;
    int64_t delay;                  /* a packet comes at most that many after its frame's index */
    int64_t end_pts;                /* of the last frame, plus its duration */
    int64_t n_first;                /* pts of the first frames: at most delay + 1 are of interest */
    int64_t first_pts[VRT_SEGMENT_MAX_DELAY + 1];
};

/* Starts a segment: the head, with the encoder's extradata. Return: 0; -errno with a sentence. */
int vrt_segment_write_head(struct vrt_sink *sink, const struct vrt_segment_head *head,
                           const uint8_t *extradata, int extradata_size, struct vrt_error *error);

/* Appends a packet. Return: 0; -errno with a sentence. */
int vrt_segment_write_packet(struct vrt_sink *sink, const struct vrt_segment_packet *packet,
                             const AVPacket *data, struct vrt_error *error);

/* Completes the segment and flushes the sink. Return: 0; -errno with a sentence. */
int vrt_segment_write_end(struct vrt_sink *sink, const struct vrt_segment_end *end,
                          struct vrt_error *error);

struct vrt_segment_reader {
    int fd;                         /* the caller's; read by position */
    int number;                     /* of the segment, for messages */
    int64_t offset_bytes, size_bytes;
    struct vrt_segment_head head;
    struct vrt_segment_end end;     /* read first: it is known to be complete */
    uint8_t *extradata;             /* padded as FFmpeg wants it */
    int extradata_size;
    int64_t n_read;
};

enum {
    VRT_SEGMENT_END = 1,            /* outcome of vrt_segment_reader_next(): no more packets */
};

/*
 * Opens the complete segment in `fd`, the `number`th of its video.
 * Return: 0; -EBADMSG incomplete or damaged, -ENOMEM, -errno with a sentence.
 */
int vrt_segment_reader_open(int fd, int number, struct vrt_segment_reader **ret_reader,
                            struct vrt_error *error);

/*
 * The next packet; *data is filled with what it holds, and becomes the caller's reference.
 * Return: 0; VRT_SEGMENT_END; -EBADMSG, -ENOMEM, -errno with a sentence.
 */
int vrt_segment_reader_next(struct vrt_segment_reader *reader, struct vrt_segment_packet *packet,
                            AVPacket *data, struct vrt_error *error);

/* Leaves a packet out, whose data isn't read. Return: 0; VRT_SEGMENT_END; -EBADMSG, -errno with a
 * sentence. */
int vrt_segment_reader_skip(struct vrt_segment_reader *reader, struct vrt_error *error);

/* Frees it; the descriptor stays open. Return: NULL. */
struct vrt_segment_reader *vrt_segment_reader_close(struct vrt_segment_reader *reader);

VRT_DEFINE_CLEANUP(struct vrt_segment_reader, vrt_segment_reader_close)
