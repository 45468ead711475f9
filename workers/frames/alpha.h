/* SPDX-License-Identifier: MIT */
#pragma once

/* The transparency of a picture, which no network sees: enlarged beside it. For frames/ alone. */

#include <libavutil/frame.h>
#include <stdbool.h>

/*
 * The alpha of `picture` as a gray frame of the size and depth (8 or 16) of `like`, enlarged
 * bicubically. Return: 0, *ret_alpha is the caller's, NULL where all of it is opaque; -ENOTSUP;
 * -ENOMEM.
 */
int vrt_alpha_read(const AVFrame *picture, const AVFrame *like, AVFrame **ret_alpha);

/* Whether anything of the picture isn't opaque. What can't be converted is taken to be. */
bool vrt_alpha_shows(const AVFrame *picture);

/* The pixel format of `pixfmt` with alpha besides; AV_PIX_FMT_NONE: FFmpeg's encoders of pictures
 * have none. */
enum AVPixelFormat vrt_alpha_pixfmt(enum AVPixelFormat pixfmt);
