/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Which part of its pictures a container shows: `clap` of MP4 and MOV (ISO/IEC 14496-12, 12.1.4),
 * Matroska's PixelCrop (RFC 9559, 5.1.4.1.28). FFmpeg before 7.1 reads neither. For frames/ alone.
 */

#include <stdbool.h>
#include <stdint.h>

/* How many pixels are shown; of so many. */
struct vrt_crop {
    int width, height;
};

/*
 * Looks at the head of the regular file `fd` of `size_bytes`, demuxed by `demuxer` (FFmpeg's name),
 * for a video of `all` pixels. Sizes are read and compared, nothing is allocated: hostile files
 * cost a bounded time. Return: whether it shows less of it.
 */
bool vrt_crop_find(int fd, int64_t size_bytes, const char *demuxer, struct vrt_crop all,
                   struct vrt_crop *ret_crop);
