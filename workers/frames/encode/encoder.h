/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Encodes restored frames, in presentation order, into one segment file (frames/encode/segment.h).
 *
 * A segment starts with a key frame and refers to nothing outside itself. With equal parameters
 * and frames its bytes are equal: the thread count is part of the parameters because the output
 * of libx264 depends on it. An encoder belongs to one thread at a time.
 *
 * Ids of what it refuses: output.codec, output.format, output.quality, output.preset,
 * output.options, spool.full, output.write, encode.failed, out_of_memory.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/settings.h"
#include "frames/format.h"
#include "frames/frame.h"
#include "frames/warnings.h"

struct vrt_encoder;

struct vrt_encoder_params {
    enum vrt_codec codec;
    int quality;                    /* in the codec's range; VRT_UNKNOWN: the default */
    const char *preset;             /* "ultrafast" ... "placebo"; NULL: "medium" */
    int64_t bitrate;                /* bits a second, on average; <= 0: constant quality */
    int64_t max_bitrate;            /* segments of one video have such up to this; <= 0: they all
                                     * have the same */
    int level;                      /* as in the stream's head; 0: the encoder's choice, for the
                                     * highest bitrate */
    const char *options;            /* FFmpeg's, "key=value key=value"; NULL: none */
    enum vrt_hwaccel hwaccel;       /* of a process that was started for it */
    int n_threads;                  /* 1 to 64 */
    struct vrt_frame_format format; /* from vrt_encoder_pick_format() */
    struct vrt_rational time_base;  /* of the frames' pts */
    struct vrt_rational fps;        /* average, for rate control; 0/1: unknown */
};

struct vrt_encoder_pick {
    enum vrt_codec codec;
    const struct vrt_frame_format *input;   /* of the video to be restored */
    int width, height;                      /* of the restored frames */
    const char *pixel_format;               /* FFmpeg's name; NULL, "": by the input */
};

/* What this FFmpeg has for a codec, as lists: "a, b". */
struct vrt_codec_found {
    char encoders[64];              /* the best first; "": none */
    char pixel_formats[400];        /* that they take */
};

/* Looks for the codec's encoders. Thread: any. */
void vrt_codec_find(enum vrt_codec codec, struct vrt_codec_found *ret_found);

/* Whether FFmpeg here has an encoder for `codec`. Thread: any. */
bool vrt_codec_is_there(enum vrt_codec codec);

/* The same. Return: 0; -ENOSYS with a sentence that says which there are. */
int vrt_codec_check(enum vrt_codec codec, struct vrt_error *error);

/*
 * The format that restored frames must have for the encoder: the input's depth, chroma, matrix and
 * range where the codec can hold them; else the next that loses nothing, with a warning where the
 * user would wonder (4:4:4 because of an odd size).
 * Where a pixel format is asked for it is that one.
 * Return: 0; -ENOTSUP with a sentence where the codec cannot hold it. Thread: any.
 */
int vrt_encoder_pick_format(const struct vrt_encoder_pick *pick,
                            struct vrt_frame_format *ret_format, struct vrt_warnings *warnings,
                            struct vrt_error *error);

/* Bytes that a frame takes on average, from experience: right within a factor of two or three. */
double vrt_encoder_frame_bytes(const struct vrt_encoder_params *params);

/* Whether an encoder can be made with these; of hardware, whether it encodes a frame. Return: 0; as
 * vrt_encoder_new(). */
int vrt_encoder_try(const struct vrt_encoder_params *params, struct vrt_error *error)
    VRT_MUST_CHECK;

/*
 * Starts a segment in `fd`: seekable, opened for writing, the caller's, truncated here.
 * Return: 0; -EINVAL a parameter out of range, -ENOSYS no such encoder, -ENOSPC, -ENOMEM, ... with
 *         the sentence in `error`. *ret_encoder is set only on 0; end it with vrt_encoder_free().
 */
int vrt_encoder_new(const struct vrt_encoder_params *params, int fd,
                    struct vrt_encoder **ret_encoder, struct vrt_error *error) VRT_MUST_CHECK;

/*
 * Encodes `frame`, of the format given at the start, its pts larger than the last one's; of another
 * size, that of all frames, it is scaled. With its transparency where the format has such, enlarged
 * where it is smaller. The encoder takes a reference for as long as it needs the samples.
 * Return: 0; -errno with the sentence in `error`; after that only vrt_encoder_free().
 */
int vrt_encoder_send(struct vrt_encoder *encoder, struct vrt_frame *frame,
                     struct vrt_error *error) VRT_MUST_CHECK;

/*
 * Encodes what is still held back and completes the segment; the caller syncs `fd`. Once only.
 * Return: 0, *ret_size_bytes is the length of the file; -errno with the sentence in `error`.
 */
int vrt_encoder_finish(struct vrt_encoder *encoder, int64_t *ret_size_bytes,
                       struct vrt_error *error) VRT_MUST_CHECK;

/* Frees the encoder; before vrt_encoder_finish() the segment stays incomplete. Return: NULL. */
struct vrt_encoder *vrt_encoder_free(struct vrt_encoder *encoder);

/*
 * Whether the complete segment in `fd` and one of these params make one video: a codec's new
 * version may write another head. Return: 0; -EBADMSG no, or it is damaged; -errno with a sentence.
 */
int vrt_encoder_check_segment(const struct vrt_encoder_params *params, int fd,
                              struct vrt_error *error) VRT_MUST_CHECK;

VRT_DEFINE_CLEANUP(struct vrt_encoder, vrt_encoder_free)
