/* SPDX-License-Identifier: MIT */

/* macOS has no SOCK_SEQPACKET for Unix sockets: datagrams keep packets apart as well, and in order,
 * if there is room for the largest. */

#include "frames/process/child-spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "frames/process/message.h"

int vrt_child_pair(int ret_ends[2])
{
    const int room = 2 * (int)sizeof(struct vrt_message);
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) < 0)
        return vrt_raise(-errno);
    for (int i = 0; i < 2; i++)
        if (fcntl(ends[i], F_SETFD, FD_CLOEXEC) < 0 ||
            setsockopt(ends[i], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)) < 0 ||
            setsockopt(ends[i], SOL_SOCKET, SO_RCVBUF, &room, sizeof(room)) < 0) {
            const int r = -errno;
            vrt_closep(&ends[0]);
            vrt_closep(&ends[1]);
            return vrt_raise(r);
        }
    ret_ends[0] = ends[0];
    ret_ends[1] = ends[1];
    return 0;
}

const char *vrt_child_path(int fd, const char *path, char *buffer, int size)
{
    (void)fd;
    (void)buffer;
    (void)size;
    return path;
}

int vrt_child_keep(posix_spawn_file_actions_t *files, posix_spawnattr_t *attributes, int last)
{
    short flags = 0;
    int r = posix_spawnattr_getflags(attributes, &flags);

    if (r == 0)
        r = posix_spawnattr_setflags(attributes, (short)(flags | POSIX_SPAWN_CLOEXEC_DEFAULT));
    for (int fd = 0; r == 0 && fd <= last; fd++)
        r = posix_spawn_file_actions_addinherit_np(files, fd);
    return r;
}

bool vrt_child_adopts(void)
{
    return false;
}
