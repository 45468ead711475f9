/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Frames to another size, by Lanczos' filter of libswscale over six samples, over more where they
 * become smaller; to the same bytes on every machine. Samples keep their depth, chroma its place.
 * For frames/ alone.
 */

#include <libavutil/frame.h>

#include "base/cleanup.h"
#include "frames/format.h"

struct vrt_scaler;

/* From frames of `from` to such of `to`, which differ in their size alone, apart from what samples
 * mean. Return: 0; -ENOTSUP: FFmpeg has no such pixel format; -ENOMEM. */
int vrt_scaler_new(const struct vrt_frame_format *from, const struct vrt_frame_format *to,
                   struct vrt_scaler **ret_scaler);

/* Whether frames of `from` are those that it was made for. */
bool vrt_scaler_takes(const struct vrt_scaler *scaler, const struct vrt_frame_format *from);

/* `view` in the new size. Return: 0, *ret_frame is the caller's; -ENOMEM; -errno. */
int vrt_scaler_run(struct vrt_scaler *scaler, const AVFrame *view, AVFrame **ret_frame);

/* Return: NULL. */
struct vrt_scaler *vrt_scaler_free(struct vrt_scaler *scaler);

VRT_DEFINE_CLEANUP(struct vrt_scaler, vrt_scaler_free)
