/* SPDX-License-Identifier: MIT */

#include "daemon/access/peer.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"

ssize_t vrt_peer_read(int fd, void *data, size_t size, struct vrt_peer_files *files)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int) * VRT_API_DESCRIPTORS_MAX)];
        struct cmsghdr align;
    } control;
    struct iovec piece = { .iov_base = data, .iov_len = size };
    struct msghdr message = {
        .msg_iov = &piece,
        .msg_iovlen = 1,
        .msg_control = control.bytes,
        .msg_controllen = sizeof(control.bytes),
    };
    struct vrt_peer_files more = { .n = 0 };

    ssize_t n = vrt_peer_recvmsg(fd, &message);
    if (n < 0)
        return -errno;
    const bool fit = !(message.msg_flags & MSG_CTRUNC);
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
        const bool are_files = c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS;
        for (size_t i = 0; are_files && i < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++) {
            /* `control` has room for no more of them. */
            vrt_assert(more.n < VRT_API_DESCRIPTORS_MAX);
            memcpy(&more.fds[more.n++], CMSG_DATA(c) + i * sizeof(int), sizeof(int));
        }
    }
    if (!fit || more.n > VRT_API_DESCRIPTORS_MAX - files->n) {
        /* There was room to tell of more than came: the system had none to give. */
        bool is_short = !fit && more.n < VRT_API_DESCRIPTORS_MAX;
        vrt_peer_files_done(&more);
        return is_short ? -EMFILE : -E2BIG;
    }
    for (int i = 0; i < more.n; i++)
        files->fds[files->n++] = more.fds[i];
    return n;
}

void vrt_peer_files_done(struct vrt_peer_files *files)
{
    for (int i = 0; i < files->n; i++)
        vrt_closep(&files->fds[i]);
    files->n = 0;
}
