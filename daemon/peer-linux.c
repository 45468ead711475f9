/* SPDX-License-Identifier: MIT */

#include "daemon/peer.h"

#include <errno.h>

#include "base/error.h"

int vrt_peer_accept(int listening_fd)
{
    int fd = accept4(listening_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    return fd < 0 ? -errno : fd;
}

int vrt_peer_uid(int fd, uid_t *ret_uid)
{
    struct ucred credentials;
    socklen_t size = sizeof(credentials);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) < 0)
        return vrt_raise(-errno);
    *ret_uid = credentials.uid;
    return 0;
}

ssize_t vrt_peer_recvmsg(int fd, struct msghdr *message)
{
    return recvmsg(fd, message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
}
