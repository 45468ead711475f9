/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Makes whole frames of fields: each line that a field lacks is computed from the lines around it,
 * and from the fields before and after (FFmpeg's bwdif). For the reader alone.
 *
 * Thread: the reader's.
 */

#include "base/cleanup.h"
#include "frames/fields.h"
#include "frames/frame.h"

struct vrt_deinterlacer;

enum {
    VRT_DEINTERLACER_MORE = 1,  /* outcome of vrt_deinterlacer_next(): first comes another frame */
    VRT_DEINTERLACER_END,       /* nothing more comes */
};

/*
 * For frames of `format`. Return: 0; -ENOTSUP: they have too few lines, or samples of a kind that
 * bwdif doesn't know; -ENOMEM.
 */
int vrt_deinterlacer_new(const struct vrt_frame_format *format, const struct vrt_fields *fields,
                         struct vrt_deinterlacer **ret_deinterlacer);

/*
 * Gives it the next frame, of which it takes a reference; NULL: there are no more. One that
 * `is_context` is seen by its neighbours, but not given out itself. Only where
 * vrt_deinterlacer_next() asked for more. Return: 0; -errno.
 */
int vrt_deinterlacer_push(struct vrt_deinterlacer *deinterlacer, struct vrt_frame *frame,
                          bool is_context);

/*
 * The next whole frame, the caller's reference, without an index. Where each field becomes a frame,
 * times and durations are in half ticks of the frames that went in, and the second field is shown
 * half a frame after the first. Return: 0, an outcome, -errno.
 */
int vrt_deinterlacer_next(struct vrt_deinterlacer *deinterlacer, struct vrt_frame **ret_frame);

/* NULL is fine. Return: NULL. */
struct vrt_deinterlacer *vrt_deinterlacer_free(struct vrt_deinterlacer *deinterlacer);

VRT_DEFINE_CLEANUP(struct vrt_deinterlacer, vrt_deinterlacer_free)
