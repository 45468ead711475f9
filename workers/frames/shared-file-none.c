/* SPDX-License-Identifier: MIT */

/* A file of POSIX's shared memory, without its name from the first moment on. */

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "frames/frame.h"

int vrt_shared_file(const char *name, size_t size)
{
    static atomic_uint n_made;
    char path[64];

    /* Short: macOS has room for 31 bytes. */
    (void)name;
    snprintf(path, sizeof(path), "/vrt-%d-%u", (int)getpid(), atomic_fetch_add(&n_made, 1));
    VRT_CLEANUP(vrt_closep) int fd = shm_open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd < 0)
        return vrt_raise(-errno);
    shm_unlink(path);
    if (ftruncate(fd, (off_t)size) < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
        return vrt_raise(-errno);
    return VRT_STEAL_FD(fd);
}

int vrt_shared_file_seal(int fd, bool others_write)
{
    (void)fd, (void)others_write;
    return 0;
}
