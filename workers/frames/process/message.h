/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What vrtd and vrt-media say to each other: one question, one answer, each one packet of a socket
 *
 * Both are of one build, and the structs are as the compiler lays them out. But they hold integers
 * and bytes alone: whatever bits come from a process that fell to its input, reading them is
 * defined, and what they mean is checked by wire.h, by whoever believes nothing.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/streams.h"
#include "frames/decode/reader.h"
#include "frames/encode/encoder.h"

#define VRT_MESSAGE_NAME_BYTES 256      /* of a file, for sentences; longer ones are cut */
#define VRT_MESSAGE_FDS_MAX 3           /* that go along with one */

/* What is asked; an answer has the kind of its question. */
enum vrt_message_kind {
    VRT_MESSAGE_READER_OPEN,        /* the input */
    VRT_MESSAGE_READER_NEXT,        /* the file of frames, which is the same for all of a video */
    VRT_MESSAGE_READER_LOOK,        /* what is done about fields */
    VRT_MESSAGE_READER_TRY,         /* whether hardware decodes a codec */
    VRT_MESSAGE_READER_MORE,        /* asked by vrt-media while it reads a file that grows */
    VRT_MESSAGE_ENCODER_CHECK,      /* whether there is one of a codec */
    VRT_MESSAGE_ENCODER_FIND,       /* which there are of a codec */
    VRT_MESSAGE_ENCODER_PICK,       /* the format that it takes */
    VRT_MESSAGE_ENCODER_TRY,
    VRT_MESSAGE_ENCODER_NEW,        /* the segment */
    VRT_MESSAGE_ENCODER_SEND,       /* a frame's place */
    VRT_MESSAGE_ENCODER_FINISH,
    VRT_MESSAGE_ENCODER_FITS,       /* the segment */
    VRT_MESSAGE_SEGMENT_CHECK,      /* likewise */
    VRT_MESSAGE_JOIN_PREVIEW,       /* the input; what is in it besides, and what of it is kept */
    VRT_MESSAGE_JOIN,               /* input and output; answered at last */
    VRT_MESSAGE_JOIN_SEGMENT,       /* asked by vrt-media while it joins: number -> the segment */
    VRT_MESSAGE_JOIN_PICTURE,       /* segment, original and output */
    VRT_MESSAGE_JOIN_VERIFY,        /* the output */
    VRT_MESSAGE_PREVIEW,            /* two videos, and the picture */
    VRT_MESSAGE_COMPARE_OPEN,       /* two videos */
    VRT_MESSAGE_COMPARE_SHOW,       /* where their frames are shown */
    VRT_MESSAGE_COMPARE_NEXT,       /* their next frames */
    VRT_MESSAGE_SANDBOX,            /* what the process could not give up */
    VRT_MESSAGE_DIVIDE,             /* a new process's socket; asked of the zygote */
    VRT_MESSAGE_KIND_COUNT,
};

struct vrt_message_rational {
    int32_t num, den;
};

/* As struct vrt_hdr. */
struct vrt_message_hdr {
    int32_t red[2], green[2], blue[2], white[2], max, min, max_light, average_light;
};

struct vrt_message_format {
    int32_t width, height, depth, layout, chroma_shift_x, chroma_shift_y, matrix, full_range;
    int32_t chroma_location, primaries, transfer, color_space, has_alpha;
    struct vrt_message_rational sample_aspect;
    struct vrt_message_hdr hdr;
};

struct vrt_message_warnings {
    int32_t n, n_lost;
    char sentences[VRT_WARNINGS_MAX][256];
};

struct vrt_message_info {
    struct vrt_message_format format;
    char container[32], codec[32], pixel_format[32];
    struct vrt_message_rational time_base, fps;
    int32_t variable_rate, interlaced, truncated, is_by_duration, has_display_matrix;
    int32_t is_still, has_alpha, can_go_on;
    int32_t rotation_degrees, deinterlace, field_order, tonemap;
    int32_t n_audio, n_subtitles, n_attachments, n_chapters, n_covers;
    int64_t duration_ns, n_frames_estimate, n_frames, n_concealed, n_missing, n_decoded;
    int64_t concealed[VRT_READER_MAX_CONCEALED];
    struct vrt_message_warnings warnings;
};

struct vrt_message_encoder {
    int32_t codec, quality, n_threads, has_preset, hwaccel;
    int64_t bitrate, max_bitrate;
    char preset[16], options[VRT_SETTING_OPTIONS_BYTES];
    struct vrt_message_format format;
    struct vrt_message_rational time_base, fps;
};

/* A codec, and of the answer what there is of it, as lists. */
struct vrt_message_found {
    int32_t codec;
    char encoders[64], pixel_formats[400];
};

/* A frame and where its samples are, as laid out by vrt_frame_lay_out(). */
struct vrt_message_frame {
    int64_t offset_bytes, pts, duration, index;
    int32_t concealed;
    struct vrt_frame_extra extra;       /* which is integers and bytes itself */
};

/* What is said of each kind: the question's and the answer's. */
union vrt_message_body {
    struct {
        char name[VRT_MESSAGE_NAME_BYTES];
        int64_t start_ns, duration_ns, first, first_pts, limit_ns;
        int32_t n_threads, strict, keeps_extra, is_alpha, deinterlace, field_order, is_fed, tonemap;
        int32_t hwdec;
        char streams[VRT_SETTING_NAME_BYTES];
    } reader_open;
    struct {
        int32_t deinterlace;                        /* as asked */
    } reader_look;
    struct {
        int32_t codec, hwdec;
    } reader_try;
    struct vrt_message_info info;                   /* the answer; also at the end */
    struct {
        struct vrt_message_frame frame;
        struct vrt_frame_share planes[VRT_FRAME_MAX_PLANES];    /* where they are in the file */
        int64_t n_frames, n_concealed, n_decoded;   /* of the answer: until now */
        int32_t can_go_on;
    } reader_next;
    struct {
        int64_t size_bytes;                         /* of the file: the answer */
        int32_t at_end, n_spent;
        struct vrt_feed_range spent[VRT_FEED_SPENT_MAX];
    } reader_more;
    struct vrt_message_encoder encoder;
    struct vrt_message_found find;
    struct {
        int32_t codec, width, height;
        char pixel_format[VRT_SETTING_WORD_BYTES];
        struct vrt_message_format format;           /* of the input; then the one picked */
        struct vrt_message_warnings warnings;
    } pick;
    struct {
        struct vrt_message_frame frame;
        struct vrt_message_format format;
        int32_t n_held;                             /* the answer: frames that it still looks at */
    } encoder_send;
    struct {
        int64_t number;                             /* of the segment; n_frames, size_bytes back */
        int32_t check;
    } segment;
    struct {
        char name[VRT_MESSAGE_NAME_BYTES];
        int64_t limit_ns, n_segments, span_ns, n_frames;    /* of a preview: the result's span */
        int32_t container, is_part, is_bare;
        char streams[VRT_SETTING_NAME_BYTES];
        struct vrt_message_hdr hdr;
    } join;
    struct {
        char name[VRT_MESSAGE_NAME_BYTES];
        int64_t index;                              /* in the segment */
        int32_t container, has_original;
    } picture;
    struct {
        int64_t n_frames, duration_ns, late_ns, size_bytes;
        struct vrt_message_warnings warnings;
    } joined;
    struct {
        int64_t n_packets, size_bytes;
        struct vrt_message_warnings warnings;
        struct vrt_stream_list streams;             /* which is integers and bytes itself */
    } previewed;
    struct {
        char before[VRT_MESSAGE_NAME_BYTES], after[VRT_MESSAGE_NAME_BYTES];
        char streams[VRT_SETTING_NAME_BYTES];       /* of the first */
        int64_t start_ns, time_ns, shown_ns;
        int32_t width, height;
    } preview;
    struct {
        char names[2][VRT_MESSAGE_NAME_BYTES];
        int32_t crop, width, height;
    } compare_open;
    struct {
        int64_t time_ns;
        int64_t error_rgb, error_y, ssim_rgb, ssim_y;   /* in parts of 1e9 */
    } compare_next;
    char missing[VRT_MESSAGE_NAME_BYTES];           /* of the sandbox, a sentence; "": nothing */
};

/* A packet. What of the body is sent is its kind's alone. */
struct vrt_message {
    uint32_t kind;
    int32_t result;                     /* of an answer: 0, -errno, or the function's own outcome */
    char error_id[32], error[512];      /* of one that is a refusal */
    union vrt_message_body body;
};

/* A packet with as many bytes of its body. */
#define VRT_MESSAGE_BYTES(member) \
    (offsetof(struct vrt_message, body) + sizeof(((union vrt_message_body *)0)->member))

/* Descriptors that go along with a packet, or came with one. */
struct vrt_message_fds {
    int n;
    int fds[VRT_MESSAGE_FDS_MAX];
};

/* Zeroes it: a compiler may initialise no more of a union than its first member, and what is sent
 * must hold nothing of anybody else's. */
void vrt_message_init(struct vrt_message *message, uint32_t kind);

/*
 * Sends the first `size` bytes of the message, with duplicates of `fds` (NULL: none); never waits.
 * Return: 0; -EPIPE: the other end is gone; -EAGAIN: it reads nothing; -errno. Thread: any, one at
 * a time.
 */
int vrt_message_send(int socket, const struct vrt_message *message, size_t size,
                     const struct vrt_message_fds *fds) VRT_MUST_CHECK;

/*
 * Waits for a packet up to `limit_ms` (-1: for ever); what it doesn't hold of *ret_message is
 * zeros. Descriptors are the caller's; more than ret_fds has room for are closed.
 * Return: 0; -EPIPE: the other end is gone; -EAGAIN: none came; -EBADMSG: no packet of ours;
 * -errno. Thread: likewise.
 */
int vrt_message_receive(int socket, int limit_ms, struct vrt_message *ret_message,
                        struct vrt_message_fds *ret_fds) VRT_MUST_CHECK;

/* Closes what came along. */
void vrt_message_fds_done(struct vrt_message_fds *fds);
