/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Decoding by hardware: FFmpeg's own decoder of a codec reads the stream, and has the device make
 * the pictures of it. So their times, their order and what goes with them are software's; and the
 * pictures are, where the codec's standard says what each sample is. For frames/ alone.
 */

#include <libavcodec/avcodec.h>

#include "base/codecs.h"
#include "base/error.h"

/* The decoder of FFmpeg's that asks `hwdec`, which the process was started for. Return: 0; -ENODEV
 * with the sentence in `error`. */
int vrt_hwdec_find(enum vrt_hwdec hwdec, enum AVCodecID id, const AVCodec **ret_codec,
                   struct vrt_error *error);

/* Has a decoder of vrt_hwdec_find(), before it is opened, use the device, with one thread and
 * without ever decoding by itself. Return: 0; -ENOMEM. */
int vrt_hwdec_attach(AVCodecContext *decoder);

/* Gives a frame of planes memory. Return: 0; a negative AVERROR. */
typedef int vrt_hwdec_get_frame(AVCodecContext *decoder, AVFrame *frame);

/*
 * Puts what the device decoded, as software would have, in the place of `frame`, in memory of
 * `get_frame`.
 * Return: 0; -ENODEV, with the sentence in `error`, where it can't be had, or wouldn't be the same;
 * -ENOMEM.
 */
int vrt_hwdec_fetch(enum vrt_hwdec hwdec, AVCodecContext *decoder, vrt_hwdec_get_frame *get_frame,
                    AVFrame *frame, struct vrt_error *error);

/* Says that the device failed, and what FFmpeg said of it. Return: -ENODEV. */
int vrt_hwdec_refuse(enum vrt_hwdec hwdec, struct vrt_error *error);

/*
 * Tries a decoder of `codec`: has a few frames that software encoded decoded by both.
 * Return: 0: they are the same; -ENODEV with the sentence in `error`.
 */
int vrt_hwdec_try(enum vrt_hwdec hwdec, enum vrt_codec codec, struct vrt_error *error);
