/* SPDX-License-Identifier: MIT */
/* macOS and the BSDs: the flags that Linux takes with a call are set after it here. */

#include "daemon/access/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ucred.h>
#include <sys/un.h>
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

/* The system tells the first 16 groups: a peer in more of them is denied what the others allow. */
int vrt_peer_init(int fd, struct vrt_peer *ret_peer)
{
    struct xucred credentials;
    socklen_t size = sizeof(credentials);

    if (getsockopt(fd, 0, LOCAL_PEERCRED, &credentials, &size) < 0)
        return vrt_raise(-errno);
    if (credentials.cr_version != XUCRED_VERSION || credentials.cr_ngroups < 0)
        return vrt_raise(-EPROTO);
    struct vrt_peer peer = {
        .uid = credentials.cr_uid,
        .gids = credentials.cr_groups,
        .n_gids = (size_t)credentials.cr_ngroups,
    };
    return vrt_fold(vrt_peer_copy(&peer, ret_peer));
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
