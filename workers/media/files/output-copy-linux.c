/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <unistd.h>

#include "base/macro.h"
#include "workers/media/files/output-copy.h"

/* What it says of files, or of a kernel, for which it isn't made. */
static const int unfit[] = { EXDEV, ENOSYS, EOPNOTSUPP, EINVAL, EPERM, EBADF, ETXTBSY };

ssize_t vrt_output_copy_range(const struct vrt_output_copy *copy, int64_t offset, size_t size)
{
    loff_t from = offset, to = offset;
    ssize_t n;

    do
        n = copy_file_range(copy->from_fd, &from, copy->to_fd, &to, size, 0);
    while (n < 0 && errno == EINTR);
    for (size_t i = 0; n < 0 && i < VRT_ARRAY_SIZE(unfit); i++)
        if (errno == unfit[i])
            return 0;
    return n < 0 ? -errno : n;
}
