/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * How long a file says it is: the top level of MP4/MOV, Matroska and AVI carries sizes, which
 * tell a truncated file from a whole one before anything is decoded. For frames/ alone.
 */

#include <stdbool.h>
#include <stdint.h>

struct vrt_extent {
    bool truncated;             /* something at the top level ends after the end of the file */
    bool lacks_index;           /* MP4/MOV without its `moov`: nothing in it can be decoded */
    bool is_index_last;         /* it comes behind pictures, if at all: no pipe goes back to them */
};

/*
 * Looks at the top level of the regular file `fd` of `size_bytes`, demuxed by `demuxer`
 * (FFmpeg's name). Containers that don't tell, and files that can't be read, are "not truncated".
 */
struct vrt_extent vrt_extent_check(int fd, int64_t size_bytes, const char *demuxer);
