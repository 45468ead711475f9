/* SPDX-License-Identifier: MIT */

/* Sealed against shrinking: who has the file mapped is never ended by another process. */

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "frames/frame.h"

int vrt_shared_file(const char *name)
{
    VRT_CLEANUP(vrt_closep) int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) < 0)
        return vrt_raise(-errno);
    return VRT_STEAL_FD(fd);
}
