/* SPDX-License-Identifier: MIT */
/* macOS and the BSDs: the flags that Linux takes with a call are set after it here. */

#include "daemon/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

int vrt_peer_accept(int listening_fd)
{
    int fd = accept(listening_fd, NULL, NULL);

    if (fd < 0)
        return -errno;
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    return fd;
}

int vrt_peer_uid(int fd, uid_t *ret_uid)
{
    gid_t gid;

    if (getpeereid(fd, ret_uid, &gid) < 0)
        return vrt_raise(-errno);
    return 0;
}

ssize_t vrt_peer_recvmsg(int fd, struct msghdr *message)
{
    ssize_t n = recvmsg(fd, message, MSG_DONTWAIT);

    if (n < 0)
        return n;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t i = 0; i < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++) {
            int passed;
            memcpy(&passed, CMSG_DATA(c) + i * sizeof(int), sizeof(passed));
            fcntl(passed, F_SETFD, FD_CLOEXEC);
        }
    }
    return n;
}
