/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Any pixel format of FFmpeg's to planes of ours, without losing depth or chroma resolution. For
 * frames/ alone.
 */

#include <libavutil/frame.h>

#include "base/cleanup.h"
#include "frames/frame.h"

struct vrt_converter;

/* A converter, which keeps tables and buffers between frames. Return: 0; -ENOMEM. */
int vrt_converter_new(struct vrt_converter **ret_converter);

/*
 * `frame`, whose whole format is `format` (vrt_pixfmt_of_frame()), as a frame of ours: a view of
 * it where its samples are planar already, else a copy.
 * Return: 0; -ENOTSUP where FFmpeg cannot convert it; -ENOMEM.
 */
int vrt_converter_run(struct vrt_converter *converter, const AVFrame *frame,
                      const struct vrt_frame_format *format, struct vrt_frame **ret_frame);

/* Frees it. Return: NULL. */
struct vrt_converter *vrt_converter_free(struct vrt_converter *converter);

VRT_DEFINE_CLEANUP(struct vrt_converter, vrt_converter_free)
