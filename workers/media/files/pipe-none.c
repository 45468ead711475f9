/* SPDX-License-Identifier: MIT */

/* Where pipes have one size. Files stay as large as what came: macOS frees parts of them
 * (F_PUNCHHOLE), but by blocks whose size each volume has for itself. */

#include "workers/media/files/pipe.h"

void vrt_pipe_enlarge(int fd, int size_bytes)
{
    (void)fd;
    (void)size_bytes;
}

void vrt_pipe_free_bytes(int file_fd, int64_t offset, int64_t size_bytes)
{
    (void)file_fd;
    (void)offset;
    (void)size_bytes;
}
