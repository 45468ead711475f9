/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The finished file's way to where the user wants it
 *
 * The head of a video file is written last: what is only partly there can't be taken for one.
 *
 * Thread: any; it takes as long as the disks do.
 */

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct vrt_output_copy {
    int from_fd, to_fd;             /* regular files; from_fd is read by position */
    const char *to_name;            /* for messages */
    const atomic_bool *cancel;
};

/*
 * Empties to_fd, then makes it the same as from_fd, and syncs it; where both are on one disk that
 * can, they share what they hold.
 * Return: 0; -ENOSPC, -EDQUOT ("output.full"), -ECANCELED, -errno with the sentence in `error`:
 * to_fd is as it was if there clearly is no room for it, else empty.
 */
int vrt_output_copy(const struct vrt_output_copy *copy, struct vrt_error *error) VRT_MUST_CHECK;

/*
 * Copies up to `size` bytes at `offset` within the kernel. Return: bytes; 0: it can't, for these
 * files or at all; -errno.
 */
ssize_t vrt_output_copy_range(const struct vrt_output_copy *copy, int64_t offset, size_t size);
