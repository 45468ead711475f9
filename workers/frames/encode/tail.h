/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Tail files: the pictures that wait for a clip that is still to come when a segment ends
 *
 * They keep every bit, so that what is blended after a restart is what would have been blended
 * without it. Of this machine alone, in the host's byte order:
 *
 *     magic "VRTTAIL2", n u32, width u32, height u32, 0 u32
 *     per picture: pts, duration, index i64, n of the share i32, concealed u32, weight f32,
 *         total f32, struct vrt_frame_extra, pixels f32 [height,width,3]
 *     the crc of all before it, u32
 *
 * Thread: any.
 */

#include <stdint.h>

#include "base/error.h"
#include "frames/clips/picture.h"

/* Pictures in a tail: those of two clips of the greatest length. */
#define VRT_TAIL_PICTURES_MAX 256

/* Pictures, in order. */
struct vrt_tail {
    int n;
    struct vrt_picture *pictures[VRT_TAIL_PICTURES_MAX];
};

/* Drops the references. */
void vrt_tail_done(struct vrt_tail *tail);

/*
 * Writes the file `fd`, from its beginning. The pictures, at least one, have one size.
 * Return: 0; -ENOSPC, -errno with the sentence in `error`.
 */
int vrt_tail_write(int fd, const struct vrt_tail *tail, int64_t *ret_size_bytes,
                   struct vrt_error *error) VRT_MUST_CHECK;

/*
 * Reads pictures of width x height from the file `fd`; they are the caller's references.
 * Return: 0; -EBADMSG it isn't such a file, or damaged, -ENOMEM, -errno with the sentence in
 * `error`: *ret_tail is empty.
 */
int vrt_tail_read(int fd, int width, int height, struct vrt_tail *ret_tail,
                  struct vrt_error *error) VRT_MUST_CHECK;
