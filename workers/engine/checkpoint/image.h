/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The bytes of a file in memory.
 *
 * A file that nobody but root and this user may write is mapped. Any other is copied: whoever
 * else may write it could shorten it under a mapping, and touching what is gone ends the process.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct vrt_image {
    const void *data;       /* NULL: none */
    size_t size_bytes;
    bool is_mapped;
};

/*
 * Reads the regular file `fd`, which may be closed afterwards and whose position stays.
 * `name` is what messages call it.
 * Return: 0; -EINVAL for what is no regular file, is empty or too large; another -errno where
 * reading failed. `error` says why.
 */
int vrt_image_init(struct vrt_image *image, int fd, const char *name, struct vrt_error *error);

/* Unmaps or frees the bytes; a zero-filled image is fine, and stays one. */
void vrt_image_done(struct vrt_image *image);
