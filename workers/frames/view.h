/* SPDX-License-Identifier: MIT */
#pragma once

/* Frames of ours and FFmpeg's frames as views of each other's memory. For frames/ alone. */

#include <libavutil/frame.h>

#include "frames/frame.h"

/*
 * A frame that is a view of `frame`, which has the pixel format of `format`; takes a reference.
 * Return: 0; -ENOMEM.
 */
int vrt_frame_wrap(const AVFrame *frame, const struct vrt_frame_format *format,
                   struct vrt_frame **ret_frame);

/*
 * An AVFrame that is a view of `frame` and holds a reference of it until it is unreferenced, on
 * whatever thread. Return: 0; -ENOMEM.
 */
int vrt_frame_unwrap(struct vrt_frame *frame, AVFrame **ret_frame);
