/* SPDX-License-Identifier: MIT */

/* What a file system can't do (EOPNOTSUPP) leaves the file as large as all that came. */

#include <fcntl.h>

#include "workers/media/files/pipe.h"

void vrt_pipe_enlarge(int fd, int size_bytes)
{
    (void)fcntl(fd, F_SETPIPE_SZ, size_bytes);
}

void vrt_pipe_free_bytes(int file_fd, int64_t offset, int64_t size_bytes)
{
    (void)fallocate(file_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, size_bytes);
}
