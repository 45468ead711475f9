/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The hardware that an encoder may use, of which a process has one kind. For frames/ alone.
 *
 * Drivers open files and map code when they are first used: that is done here, by name, before the
 * process gives such things up and sees a byte of anybody's.
 */

#include <libavcodec/avcodec.h>

#include "base/codecs.h"
#include "base/error.h"

/* Opens the device, if the system has one and FFmpeg can. Why it can't is kept. Once, at first. */
void vrt_hwaccel_prepare(enum vrt_hwaccel hwaccel);

/* Whether it was opened. Return: 0; -ENODEV with the sentence in `error`. */
int vrt_hwaccel_check(enum vrt_hwaccel hwaccel, struct vrt_error *error);

/*
 * Has `codec`, before it is opened, use the device; of VAAPI frames then lie in surfaces of it,
 * which hold what was to be the pixel format.
 * Return: 0; a negative AVERROR.
 */
int vrt_hwaccel_attach(enum vrt_hwaccel hwaccel, AVCodecContext *codec);

/* Puts a surface of the codec with the frame's picture in the place of *frame, where it takes
 * those. Return: 0; a negative AVERROR. */
int vrt_hwaccel_upload(const AVCodecContext *codec, AVFrame **frame);
