/* SPDX-License-Identifier: MIT */

#include "daemon/access/peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
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
    const int family = address->ss_family;

    if (family != AF_INET && family != AF_INET6)
        return vrt_raise(-EAFNOSUPPORT);
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

void vrt_peer_name_origin(const char *address, char ret_origin[VRT_PEER_ADDRESS_BYTES])
{
    struct in6_addr six;

    snprintf(ret_origin, VRT_PEER_ADDRESS_BYTES, "%s", address);
    if (inet_pton(AF_INET6, address, &six) != 1)
        return;
    if (IN6_IS_ADDR_V4MAPPED(&six)) {
        inet_ntop(AF_INET, &six.s6_addr[12], ret_origin, VRT_PEER_ADDRESS_BYTES);
        return;
    }
    memset(&six.s6_addr[8], 0, 8);
    inet_ntop(AF_INET6, &six, ret_origin, VRT_PEER_ADDRESS_BYTES);
}
