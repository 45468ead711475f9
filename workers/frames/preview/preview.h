/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A preview: the same moment of a video and of what was made of it, side by side as a PNG
 *
 * Thread: any; it reads and decodes, and takes as long as that does.
 */

#include <stdatomic.h>
#include <stdint.h>

#include "base/error.h"
#include "frames/preview/pair.h"

struct vrt_preview {
    /* What is asked; descriptors and names are the caller's. */
    int before_fd, after_fd;
    int picture_fd;                 /* to be written to */
    const char *before_name, *after_name;
    const char *before_streams;     /* as of vrt_reader_params; NULL: all */
    int64_t start_ns;               /* of `before`, where `after` begins */
    int64_t time_ns;                /* of `after`, from its first frame on; -1: its middle */
    const atomic_bool *cancel;

    /* What was found. */
    int64_t shown_ns;               /* the time, likewise, of the frame that is shown */
    struct vrt_pair_size size;
};

/* Makes the picture. Return: 0; -errno with the sentence in `error`. */
int vrt_preview_make(struct vrt_preview *preview, struct vrt_error *error) VRT_MUST_CHECK;
