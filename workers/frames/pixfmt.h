/* SPDX-License-Identifier: MIT */
#pragma once

/* FFmpeg's pixel formats and colour properties against vrt_frame_format. For frames/ alone. */

#include <libavcodec/codec_par.h>
#include <libavutil/frame.h>
#include <libavutil/pixfmt.h>
#include <stdbool.h>

#include "frames/format.h"

/*
 * Whether the first planes of `pixfmt` are samples as vrt_frame_format has them, so that a frame
 * can be used without a copy; further planes may follow (alpha).
 */
bool vrt_pixfmt_is_ours(enum AVPixelFormat pixfmt);

/*
 * Fills the layout, depth and chroma shifts of *ret_format with what holds everything of `pixfmt`
 * but alpha. Return: 0; -ENOTSUP: frames in a device's memory and the like.
 */
int vrt_pixfmt_nearest(enum AVPixelFormat pixfmt, struct vrt_frame_format *ret_format);

/*
 * The pixel format of `format`, or the next deeper one that FFmpeg has, with the same chroma.
 * AV_PIX_FMT_NONE: there is none.
 */
enum AVPixelFormat vrt_pixfmt_of(const struct vrt_frame_format *format);

/* Whether `pixfmt` has an alpha plane whose loss is worth a word. */
bool vrt_pixfmt_has_alpha(enum AVPixelFormat pixfmt);

/*
 * The whole format of a decoded frame, its colours too: what the frame doesn't say is taken from
 * `par`, then guessed. Return: 0; -ENOTSUP.
 */
int vrt_pixfmt_of_frame(const AVFrame *frame, const AVCodecParameters *par,
                        struct vrt_frame_format *ret_format);

/* The H.273 number of `matrix`. */
int vrt_matrix_number(enum vrt_matrix matrix);
