/* SPDX-License-Identifier: MIT */

#include "frames/process/child-spawn.h"

#include <errno.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"

int vrt_child_pair(int ret_ends[2])
{
    const int r = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret_ends);

    return r < 0 ? vrt_raise(-errno) : 0;
}

/* By our own /proc: the child has closed its descriptors when it looks. */
const char *vrt_child_path(int fd, const char *path, char *buffer, int size)
{
    const int n = snprintf(buffer, (size_t)size, "/proc/%d/fd/%d", getpid(), fd);

    return n < size && access(buffer, X_OK) == 0 ? buffer : path;
}

int vrt_child_keep(posix_spawn_file_actions_t *files, posix_spawnattr_t *attributes, int last)
{
    (void)attributes;
    return posix_spawn_file_actions_addclosefrom_np(files, last + 1);
}

bool vrt_child_adopts(void)
{
    return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0;
}
