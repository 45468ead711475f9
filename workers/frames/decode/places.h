/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Frames in a file that another process has mapped, too: a decoder that can decodes right into it,
 * so that nothing is copied before the other process does. What is there stays for as long as
 * somebody refers to it: frames that were given out, and the decoder for its references.
 *
 * Thread: any; the callers' frames are theirs.
 */

#include "base/cleanup.h"
#include "frames/frame.h"

struct AVCodecContext;
struct AVFrame;
struct vrt_places;

/* Maps the file of vrt_frame_new_shared() for frames of `format`. Return: 0; -errno. */
int vrt_places_new(int fd, const struct vrt_frame_format *format, struct vrt_places **ret_places)
    VRT_MUST_CHECK;

/* The owner's reference; what decoders hold is unmapped with the last of it. NULL is fine. Return:
 * NULL. */
struct vrt_places *vrt_places_free(struct vrt_places *places);

/* Memory for what a decoder is about to decode, as AVCodecContext.get_buffer2: in `places`, where
 * there is room and the decoder lets others allocate for it; else FFmpeg's. Return: 0; a negative
 * AVERROR. */
int vrt_places_get_buffer(struct vrt_places *places, struct AVCodecContext *decoder,
                          struct AVFrame *frame, int flags);

/* The same for a frame of planes, of which the decoder had a device make the picture: format and
 * size are set. `places` may be NULL. Return: 0; a negative AVERROR. */
int vrt_places_get_frame(struct vrt_places *places, struct AVCodecContext *decoder,
                         struct AVFrame *frame);

/*
 * Where the samples of `frame` are in the file, those of each plane: where they aren't in it they
 * are copied to the first place, which decoders never get. They stay until the next call, if the
 * frame does.
 */
void vrt_places_show(struct vrt_places *places, const struct vrt_frame *frame,
                     struct vrt_frame_share ret_planes[VRT_FRAME_MAX_PLANES]);

VRT_DEFINE_CLEANUP(struct vrt_places, vrt_places_free)
