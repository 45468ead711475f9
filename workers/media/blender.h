/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Blends what several clips have made of one frame, and makes it samples
 *
 * It computes on the CPU, with a device of its own: which devices restored the clips must not show
 * in the result, and frames that clips share are few.
 *
 * Thread: the job's encode thread.
 */

#include "base/cleanup.h"
#include "base/error.h"
#include "frames/frame.h"
#include "frames/clips/picture.h"
#include "frames/encode/tail.h"

struct vrt_blender;

/* For frames of this format. Return: 0; -errno, and `error` says why. */
int vrt_blender_new(const struct vrt_frame_format *format, struct vrt_blender **ret_blender,
                    struct vrt_error *error) VRT_MUST_CHECK;

/* Drops the pictures of frames that weren't finished. Return: NULL. */
struct vrt_blender *vrt_blender_free(struct vrt_blender *blender);

/*
 * Takes over a picture's reference. Pictures come in the order of their clips, and within a clip
 * of their frames. With the last one of a frame *ret_frame is that frame, else NULL.
 * Return: 0; -errno, and `error` says why.
 */
int vrt_blender_add(struct vrt_blender *blender, struct vrt_picture *picture,
                    struct vrt_frame **ret_frame, struct vrt_error *error) VRT_MUST_CHECK;

/* The pictures that wait for others, in the order in which they came: what another blender, given
 * them, goes on from. They are the blender's references. Return: 0; -E2BIG: they are more than
 * those of two clips. */
int vrt_blender_waiting(const struct vrt_blender *blender, struct vrt_tail *ret_tail);

VRT_DEFINE_CLEANUP(struct vrt_blender, vrt_blender_free)
