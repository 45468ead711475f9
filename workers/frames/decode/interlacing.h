/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Whether a video is interlaced, by what it says and by what its first frames look like, and what
 * is done about it. Asked once, when a job is admitted.
 *
 * Thread: the reader's.
 */

#include "frames/decode/reader.h"

/*
 * Reads up to a hundred frames of `reader`, for a few seconds at most: no others are to be read
 * afterwards. *ret_info is what the reader told before, and what a reader of the fields that are
 * decided here will tell; where something speaks against what is done there is a warning.
 * Return: 0; -ENOTSUP with a sentence: what is asked can't be done; -ECANCELED, -ENOMEM.
 */
int vrt_interlacing_look(struct vrt_reader *reader, enum vrt_deinterlace asked,
                         struct vrt_reader_info *ret_info, struct vrt_error *error);
