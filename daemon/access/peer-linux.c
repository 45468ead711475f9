/* SPDX-License-Identifier: MIT */
/* The kernel keeps who connected, as it was then: SO_PEERCRED, SO_PEERGROUPS (Linux 4.13). */

#include "daemon/access/peer.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"

int vrt_peer_accept(int listening_fd)
{
    int fd = accept4(listening_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    return fd < 0 ? -errno : fd;
}

/* The supplementary groups behind the first, which is his own. Return: 0, -errno. */
static int get_groups(int fd, struct vrt_peer *peer)
{
    socklen_t size = 0;

    /* The kernel tells how much it needs by failing; the groups stay as they were. */
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &size) < 0 && errno != ERANGE)
        return vrt_raise(-errno);
    gid_t *gids = realloc(peer->gids, sizeof(*gids) + size);
    if (!gids)
        return vrt_raise(-ENOMEM);
    peer->gids = gids;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, gids + 1, &size) < 0)
        return vrt_raise(-errno);
    peer->n_gids = 1 + size / sizeof(*gids);
    return 0;
}

int vrt_peer_init(int fd, struct vrt_peer *ret_peer)
{
    struct ucred credentials;
    socklen_t size = sizeof(credentials);
    struct vrt_peer peer;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) < 0)
        return vrt_raise(-errno);
    peer = (struct vrt_peer){
        .uid = credentials.uid,
        .gids = malloc(sizeof(*peer.gids)),
        .n_gids = 1,
    };
    if (!peer.gids)
        return vrt_raise(-ENOMEM);
    peer.gids[0] = credentials.gid;
    int r = get_groups(fd, &peer);
    if (r < 0) {
        vrt_peer_done(&peer);
        return vrt_fold(r);
    }
    *ret_peer = peer;
    return 0;
}

ssize_t vrt_peer_recvmsg(int fd, struct msghdr *message)
{
    return recvmsg(fd, message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
}
