/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A working file behind a descriptor, written through an AVIO by position. For frames/ alone.
 *
 * FFmpeg keeps quiet about failed writes for a while: vrt_sink_check() after each step tells.
 */

#include <libavformat/avio.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"

struct vrt_sink {
    AVIOContext *io;
    int fd;                         /* the caller's */
    int64_t offset_bytes;           /* of the next write */
    int64_t size_bytes;             /* of the file so far */
    int write_error;                /* -errno of the first failed write, or 0 */
};

/*
 * Empties the file `fd`, seekable and open for writing, and prepares to write it.
 * Return: 0; -ESPIPE not seekable, -EBADF, -ENOMEM, ... with the sentence in `error`.
 */
int vrt_sink_open(int fd, struct vrt_sink **ret_sink, struct vrt_error *error);

/*
 * Whether all went well so far: `r` is a negative AVERROR from FFmpeg, or not.
 * Return: 0; -ENOSPC, -EDQUOT ("spool.full"), -EFBIG, -EIO, ... with the sentence in `error`.
 */
int vrt_sink_check(const struct vrt_sink *sink, int r, struct vrt_error *error);

/* Writes what the AVIO still buffers. Return: as vrt_sink_check(). */
int vrt_sink_flush(struct vrt_sink *sink, struct vrt_error *error);

/* Likewise, to the disk itself: only after that is it a file. Return: as vrt_sink_check(). */
int vrt_sink_sync(struct vrt_sink *sink, struct vrt_error *error);

/* Frees it; what is buffered is lost without a flush. Return: NULL. */
struct vrt_sink *vrt_sink_close(struct vrt_sink *sink);

VRT_DEFINE_CLEANUP(struct vrt_sink, vrt_sink_close)
