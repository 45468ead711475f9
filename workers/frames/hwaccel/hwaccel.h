/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The hardware that encodes or decodes, of which a process has one kind. For frames/ alone.
 *
 * Drivers open files and map code when they are first used: that is done here, by name, before the
 * process gives such things up and sees a byte of anybody's.
 */

#include <libavcodec/avcodec.h>

#include "base/codecs.h"
#include "base/error.h"

/* What for: libraries that FFmpeg opens later may lack for one of them. */
enum vrt_hwaccel_use {
    VRT_HWACCEL_ENCODES,
    VRT_HWACCEL_DECODES,
    VRT_HWACCEL_USE_COUNT,
};

/* Opens the device, if the system has one and FFmpeg can. Why it can't is kept. Once, at first. */
void vrt_hwaccel_prepare(enum vrt_hwaccel hwaccel);

/* Whether it was opened, and can be used so. Return: NULL: yes; else why not, a part of a sentence,
 * which stays. */
const char *vrt_hwaccel_problem(enum vrt_hwaccel hwaccel, enum vrt_hwaccel_use use);

/* The device that was opened; the process's. NULL: none was. */
AVBufferRef *vrt_hwaccel_device(void);

/* Whether it encodes. Return: 0; -ENODEV with the sentence in `error`. */
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
