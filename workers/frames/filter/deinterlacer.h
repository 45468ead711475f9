/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Makes whole frames of fields: each line that a field lacks is computed from the lines around it,
 * and from the fields before and after (FFmpeg's bwdif). Or finds those of a film of 24 frames a
 * second, whose fields were spread over 30 (telecine): fields are matched again, what remains
 * combed is treated by bwdif, and of five frames the one that repeats another goes (FFmpeg's
 * fieldmatch and decimate). For the reader alone.
 *
 * Thread: the reader's.
 */

#include "base/cleanup.h"
#include "base/error.h"
#include "frames/fields.h"
#include "frames/frame.h"

struct vrt_deinterlacer;

enum {
    VRT_DEINTERLACER_MORE = 1,  /* outcome of vrt_deinterlacer_next(): first comes another frame */
    VRT_DEINTERLACER_END,       /* nothing more comes */
};

/*
 * For frames of `format`. Return: 0; -ENOTSUP: they have too few lines, or samples of a kind that
 * the filters don't know; -ENOMEM.
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
 * half a frame after the first. Of a film they are in quarter ticks: four frames are shown for as
 * long as the five that they were, and one that went in as context may come out. Return: 0, an
 * outcome, -errno.
 */
int vrt_deinterlacer_next(struct vrt_deinterlacer *deinterlacer, struct vrt_frame **ret_frame);

/* So many frames behind a part of a video must it see, to give out all that are in the part. */
int vrt_deinterlacer_ahead(const struct vrt_fields *fields);

/* Says that it takes no frames of `format`. Return: -ENOTSUP. */
int vrt_deinterlacer_refuse(const struct vrt_frame_format *format, const struct vrt_fields *fields,
                            const char *pixel_format, struct vrt_error *error);

/* NULL is fine. Return: NULL. */
struct vrt_deinterlacer *vrt_deinterlacer_free(struct vrt_deinterlacer *deinterlacer);

VRT_DEFINE_CLEANUP(struct vrt_deinterlacer, vrt_deinterlacer_free)
