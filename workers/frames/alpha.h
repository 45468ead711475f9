/* SPDX-License-Identifier: MIT */
#pragma once

/* The transparency of a picture, which no network sees: enlarged beside it. For frames/ alone. */

#include <libavutil/frame.h>
#include <stdbool.h>

#include "frames/frame.h"

/*
 * The alpha of `picture` as a gray frame of the size and depth (8 or 16) of `like`, enlarged
 * bicubically. Return: 0, *ret_alpha is the caller's, NULL where all of it is opaque; -ENOTSUP;
 * -ENOMEM.
 */
int vrt_alpha_read(const AVFrame *picture, const AVFrame *like, AVFrame **ret_alpha);

/*
 * The format that vrt_alpha_extract() gives frames of `pixfmt`, whose size *format has already:
 * gray of full range, as deep as the alpha there.
 */
void vrt_alpha_format(enum AVPixelFormat pixfmt, struct vrt_frame_format *format);

/*
 * The alpha of `picture` as a frame of `format`, without its times; opaque where it has none.
 * Return: 0, *ret_frame is the caller's reference; -ENOTSUP; -ENOMEM.
 */
int vrt_alpha_extract(const AVFrame *picture, const struct vrt_frame_format *format,
                      struct vrt_frame **ret_frame);

/*
 * `alpha` as a gray frame of another size, enlarged bicubically, and depth: from the largest value
 * to the largest value. Return: 0, *ret_alpha is the caller's; -ENOTSUP; -ENOMEM.
 */
int vrt_alpha_fit(struct vrt_frame *alpha, const struct vrt_frame_format *like,
                  AVFrame **ret_alpha);

/* Whether anything of the picture isn't opaque. What can't be converted is taken to be. */
bool vrt_alpha_shows(const AVFrame *picture);

/* The pixel format of `pixfmt` with alpha besides; AV_PIX_FMT_NONE: FFmpeg's encoders of pictures
 * have none. */
enum AVPixelFormat vrt_alpha_pixfmt(enum AVPixelFormat pixfmt);
