/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The bytes of a file in memory: there is a place for all of them, and those that were asked for
 * are there
 *
 * They are copies, never a mapping: whoever may write the file can neither change what was checked
 * nor shorten it under a reader, which would end the process. What nobody asks for takes no memory,
 * however large the file says it is.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct vrt_image {
    uint8_t *data;          /* NULL: none */
    size_t size_bytes;
    int fd;                 /* the caller's: it must be open where bytes are asked for */
    uint8_t *is_there;      /* of each piece */
};

/*
 * Makes the place for the regular file `fd`, whose position stays; nothing is read. `name` is what
 * messages call it.
 * Return: 0; -EINVAL for what is no regular file, is empty or too large; another -errno. `error`
 * says why.
 */
int vrt_image_init(struct vrt_image *image, int fd, const char *name, struct vrt_error *error);

/* Has n_bytes from `begin` on, which are within the size, read. Return: 0; -ENODATA: the file
 * became shorter; another -errno. */
int vrt_image_need(struct vrt_image *image, size_t begin, size_t n_bytes) VRT_MUST_CHECK;

/* The same, copied to `to` and not kept. */
int vrt_image_copy(const struct vrt_image *image, size_t begin, void *to,
                   size_t n_bytes) VRT_MUST_CHECK;

/* Frees the bytes; a zero-filled image is fine, and stays one. */
void vrt_image_done(struct vrt_image *image);
