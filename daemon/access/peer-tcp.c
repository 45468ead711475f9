/* SPDX-License-Identifier: MIT */

#include "daemon/access/peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>

#include "base/error.h"

/* The address as text. Return: 0, -errno. */
static int print_address(const struct sockaddr_storage *address,
                         char text[VRT_PEER_ADDRESS_BYTES])
{
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)address;
    const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)address;
    const void *bytes = address->ss_family == AF_INET6 ? (const void *)&six->sin6_addr :
                                                         (const void *)&four->sin_addr;
    int family = address->ss_family;

    if (family != AF_INET && family != AF_INET6)
        return vrt_raise(-EAFNOSUPPORT);
    if (family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&six->sin6_addr)) {
        bytes = &six->sin6_addr.s6_addr[12];
        family = AF_INET;
    }
    return inet_ntop(family, bytes, text, VRT_PEER_ADDRESS_BYTES) ? 0 : vrt_raise(-errno);
}

int vrt_peer_init_tcp(int fd, struct vrt_peer *ret_peer)
{
    struct sockaddr_storage remote = { .ss_family = 0 }, local = { .ss_family = 0 };
    socklen_t remote_size = sizeof(remote), local_size = sizeof(local);
    struct vrt_peer peer = { .uid = VRT_WEB_UID };
    const int on = 1;

    if (getpeername(fd, (struct sockaddr *)&remote, &remote_size) < 0 ||
        getsockname(fd, (struct sockaddr *)&local, &local_size) < 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0)
        return vrt_raise(-errno);
    int r = print_address(&remote, peer.address);
    if (r < 0)
        return vrt_fold(r);
    r = print_address(&local, peer.local);
    if (r < 0)
        return vrt_fold(r);
    *ret_peer = peer;
    return 0;
}

bool vrt_peer_is_listed(const char *list, const char *address)
{
    size_t n = strlen(address);

    for (const char *at = list + strspn(list, " "); *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        if (length == n && memcmp(at, address, n) == 0)
            return true;
        at += length;
    }
    return false;
}
