/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Between FFmpeg's conventions and ours: error numbers, log, and what changed between its
 * versions (one of av-5.c and av-7.c is built, and one of av-pixfmts-5.c and av-pixfmts-7.c). For
 * frames/ alone.
 */

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/frame.h>

#include "base/cleanup.h"
#include "frames/format.h"

/*
 * Sends what FFmpeg logs to our log, at debug level. Cheap: called before anything is opened.
 *
 * FFmpeg conceals most damage and tells nobody but its log. So a codec or format context whose
 * `opaque` is set must have it point to an atomic_int, which counts the errors logged on it. A
 * decoder's threads take over `opaque` with each packet: it may point to a count of the packet's.
 * An encoder's options that are left out count as errors.
 */
void vrt_av_log_install(void);

/* What FFmpeg logged as an error last, of this thread; "": nothing yet. */
const char *vrt_av_last_error(void);

/* The -errno nearest to a negative AVERROR: -EBADMSG for invalid data, -ECANCELED for an exit. */
int vrt_av_errno(int averror);

/* Our rational from FFmpeg's and back. */
static inline struct vrt_rational vrt_av_rational(AVRational q)
{
    return (struct vrt_rational){ q.num, q.den };
}

static inline AVRational vrt_rational_av(struct vrt_rational q)
{
    return (AVRational){ q.num, q.den };
}

/* Nanoseconds in `ticks` of `time_base`; saturates. */
int64_t vrt_av_ns(int64_t ticks, AVRational time_base);

/* The duration that the demuxer gave the frame, 0 where unknown. */
int64_t vrt_av_frame_duration(const AVFrame *frame);

/* Whether the decoder calls the frame interlaced. */
bool vrt_av_frame_is_interlaced(const AVFrame *frame);

/* Of an interlaced one: whether its top field is shown first, as the decoder says. */
bool vrt_av_frame_is_top_first(const AVFrame *frame);

/* Has the frame say both. */
void vrt_av_frame_set_fields(AVFrame *frame, bool is_interlaced, bool is_top_first);

/* Has the decoder call `get_buffer` on its own threads. */
void vrt_av_set_get_buffer(AVCodecContext *decoder,
                           int (*get_buffer)(AVCodecContext *decoder, AVFrame *frame, int flags));

/* Side data of a stream; NULL where it has none of `type`. */
const uint8_t *vrt_av_stream_side_data(const AVStream *stream, enum AVPacketSideDataType type,
                                       size_t *ret_size);

/* Gives `stream` a copy of `data`. Return: 0, -ENOMEM. */
int vrt_av_stream_add_side_data(AVStream *stream, enum AVPacketSideDataType type,
                                const uint8_t *data, size_t size);

/* What an encoder takes, up to AV_PIX_FMT_NONE; NULL where it doesn't say. Owned by FFmpeg. */
const enum AVPixelFormat *vrt_av_encoder_pixfmts(const AVCodec *encoder);

/* Whether FFmpeg's own decoder of AV1, which is for hardware alone, tells what goes with pictures
 * (captions, HDR) as libdav1d does. */
extern const bool vrt_av_hwdec_tells_all_of_av1;

/* Frees an AVIO and its buffer. NULL is fine. Return: NULL. */
AVIOContext *vrt_av_io_free(AVIOContext *io);

/* For VRT_CLEANUP. */
static inline void vrt_av_frame_freep(AVFrame **frame)
{
    av_frame_free(frame);
}

static inline void vrt_av_packet_freep(AVPacket **packet)
{
    av_packet_free(packet);
}
