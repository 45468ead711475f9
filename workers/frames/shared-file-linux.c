/* SPDX-License-Identifier: MIT */

/* Sealed against shrinking, which would end who has the file mapped, and against growing, which
 * would fill memory that is nobody's when the process is gone. */

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "frames/frame.h"

int vrt_shared_file(const char *name, size_t size)
{
    VRT_CLEANUP(vrt_closep) int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0 || ftruncate(fd, (off_t)size) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) < 0)
        return vrt_raise(-errno);
    return VRT_STEAL_FD(fd);
}

int vrt_shared_file_seal(int fd, bool others_write)
{
    /* Linux knows it since 5.1. */
    if (!others_write && fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) < 0 && errno != EINVAL)
        return vrt_raise(-errno);
    return fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL) < 0 ? vrt_raise(-errno) : 0;
}
