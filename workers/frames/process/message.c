/* SPDX-License-Identifier: MIT */

/* A packet of a socket that keeps the borders of packets. */

#include "frames/process/message.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Room for descriptors, aligned as the kernel wants it. */
union control {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(sizeof(int) * VRT_MESSAGE_FDS_MAX)];
};

void vrt_message_fds_done(struct vrt_message_fds *fds)
{
    while (fds->n > 0)
        close(fds->fds[--fds->n]);
}

void vrt_message_init(struct vrt_message *message, uint32_t kind)
{
    memset(message, 0, sizeof(*message));
    message->kind = kind;
}

int vrt_message_send(int socket, const struct vrt_message *message, size_t size,
                     const struct vrt_message_fds *fds)
{
    struct iovec part = { .iov_base = (void *)(uintptr_t)message, .iov_len = size };
    struct msghdr packet = { .msg_iov = &part, .msg_iovlen = 1 };
    union control control = { .bytes = { 0 } };
    ssize_t n;

    if (fds && fds->n > 0) {
        const size_t bytes = sizeof(int) * (size_t)fds->n;
        control.head.cmsg_level = SOL_SOCKET;
        control.head.cmsg_type = SCM_RIGHTS;
        control.head.cmsg_len = CMSG_LEN(bytes);
        memcpy(CMSG_DATA(&control.head), fds->fds, bytes);
        packet.msg_control = control.bytes;
        packet.msg_controllen = CMSG_SPACE(bytes);
    }
    do
        n = sendmsg(socket, &packet, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno == ECONNRESET ? -EPIPE : -errno;
    return (size_t)n == size ? 0 : -EIO;
}

/* Takes the descriptors of a packet over, for which the kernel had no more room than there is. */
static void take_fds(struct msghdr *packet, struct vrt_message_fds *ret_fds)
{
    for (struct cmsghdr *head = CMSG_FIRSTHDR(packet); head; head = CMSG_NXTHDR(packet, head)) {
        if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
            continue;
        const size_t n = VRT_MIN((head->cmsg_len - CMSG_LEN(0)) / sizeof(int),
                                 (size_t)(VRT_MESSAGE_FDS_MAX - ret_fds->n));
        memcpy(ret_fds->fds + ret_fds->n, CMSG_DATA(head), sizeof(int) * n);
        ret_fds->n += (int)n;
    }
}

int vrt_message_receive(int socket, int limit_ms, struct vrt_message *ret_message,
                        struct vrt_message_fds *ret_fds)
{
    struct iovec part = { .iov_base = ret_message, .iov_len = sizeof(*ret_message) };
    union control control = { .bytes = { 0 } };
    struct msghdr packet = {
        .msg_iov = &part, .msg_iovlen = 1,
        /* Not all of it: what aligns its end would let one more in. */
        .msg_control = control.bytes,
        .msg_controllen = CMSG_LEN(sizeof(int) * VRT_MESSAGE_FDS_MAX),
    };
    struct pollfd wanted = { .fd = socket, .events = POLLIN };
    ssize_t n;

    ret_fds->n = 0;
    int r = poll(&wanted, 1, limit_ms);
    if (r <= 0)
        return r == 0 || errno == EINTR ? -EAGAIN : -errno;
    do
        n = recvmsg(socket, &packet, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno == ECONNRESET ? -EPIPE : -errno;
    take_fds(&packet, ret_fds);
    /* Its end; or an empty packet, which nobody sends who has anything to say. */
    if (n == 0) {
        vrt_message_fds_done(ret_fds);
        return -EPIPE;
    }
    if ((size_t)n < offsetof(struct vrt_message, body) || packet.msg_flags & MSG_TRUNC ||
        ret_message->kind >= VRT_MESSAGE_KIND_COUNT) {
        vrt_message_fds_done(ret_fds);
        return -EBADMSG;
    }
    memset((char *)ret_message + n, 0, sizeof(*ret_message) - (size_t)n);
    return 0;
}
