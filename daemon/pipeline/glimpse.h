/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A glimpse of a job that runs: the same moment of the input and of the result, side by side, small
 *
 * It is made only while somebody looks, once in some seconds, of the frame that a device has just
 * brought back: two references are held while a thread draws, and nothing else of the job waits.
 *
 * Thread: the loop's.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/macro.h"

struct uv_loop_s;
struct vrt_glimpse;
struct vrt_shard_frames;

#define VRT_GLIMPSE_WANTED_S 15             /* it is made for so long after it was asked for, */
#define VRT_GLIMPSE_PERIOD_MS 2000          /* and no more often than so */

/* The picture, a PNG. It lives until the loop goes on. */
struct vrt_glimpse_picture {
    const struct vrt_buf *png;
    int64_t number;                         /* another one with each that is made */
};

/* Nobody looks. Return: 0, -ENOMEM. It is freed by vrt_glimpse_free(). */
int vrt_glimpse_new(struct uv_loop_s *loop, struct vrt_glimpse **ret_glimpse) VRT_MUST_CHECK;

/* What is being drawn is dropped. Return: NULL. */
struct vrt_glimpse *vrt_glimpse_free(struct vrt_glimpse *glimpse);

/* A device has brought back what became of the frames in `in`: `out` has it. `glimpse` may be
 * NULL. */
void vrt_glimpse_note(struct vrt_glimpse *glimpse, const struct vrt_shard_frames *in,
                      const struct vrt_shard_frames *out);

/* Somebody looks. Return: whether there is a picture. */
bool vrt_glimpse_look(struct vrt_glimpse *glimpse, struct vrt_glimpse_picture *ret_picture);

VRT_DEFINE_CLEANUP(struct vrt_glimpse, vrt_glimpse_free)
