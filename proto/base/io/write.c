/* SPDX-License-Identifier: MIT */

#include "base/io/write.h"

#include <errno.h>
#include <unistd.h>

#include "base/error.h"

int vrt_write_at(int fd, const void *data, size_t size, int64_t offset)
{
    const char *next = data;

    while (size > 0) {
        ssize_t n = pwrite(fd, next, size, offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return vrt_raise(n < 0 ? -errno : -EIO);
        next += n;
        size -= (size_t)n;
        offset += n;
    }
    return 0;
}
