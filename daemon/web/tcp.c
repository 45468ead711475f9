/* SPDX-License-Identifier: MIT */

#include "daemon/web/tcp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define BACKLOG 128

/* "1.2.3.4:80" or "[::1]:80". */
static bool parse_one(const char *text, struct vrt_tcp_address *address)
{
    struct sockaddr_in *four = (struct sockaddr_in *)(void *)&address->address;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)(void *)&address->address;
    char host[64];
    const char *colon = strrchr(text, ':');
    const bool is_six = text[0] == '[';
    char *end;

    if (!colon || colon[1] < '0' || colon[1] > '9' || (is_six && colon[-1] != ']'))
        return false;
    long port = strtol(colon + 1, &end, 10);
    if (*end || port < 1 || port > 65535)
        return false;
    snprintf(host, sizeof(host), "%.*s", (int)(colon - text) - 2 * is_six, text + is_six);
    if (is_six) {
        *six = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) };
        address->size = sizeof(*six);
        return inet_pton(AF_INET6, host, &six->sin6_addr) == 1;
    }
    *four = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    address->size = sizeof(*four);
    return inet_pton(AF_INET, host, &four->sin_addr) == 1;
}

int vrt_tcp_parse(const char *text, struct vrt_tcp_address ret[VRT_TCP_ADDRESSES_MAX],
                  struct vrt_error *error)
{
    char shown[80];
    int n = 0;

    for (const char *at = text + strspn(text, " "); *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        struct vrt_tcp_address address = { .size = 0 };
        snprintf(address.text, sizeof(address.text), "%.*s", (int)length, at);
        if (n == VRT_TCP_ADDRESSES_MAX)
            return vrt_refuse(error, vrt_raise(-EINVAL), "config.invalid", "there are more than %d "
                              "addresses", VRT_TCP_ADDRESSES_MAX);
        if (length >= sizeof(address.text) || !parse_one(address.text, &address))
            return vrt_refuse(error, vrt_raise(-EINVAL), "config.invalid", "\"%s\" is no address "
                              "with a port: write 127.0.0.1:8470 or [::1]:8470, and spaces between "
                              "several", vrt_printable(address.text, shown, sizeof(shown)));
        ret[n++] = address;
        at += length;
    }
    return n;
}

bool vrt_tcp_is_loopback(const struct vrt_tcp_address *address)
{
    const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)&address->address;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)&address->address;

    return address->address.ss_family == AF_INET6 ? IN6_IS_ADDR_LOOPBACK(&six->sin6_addr)
                                                  : ntohl(four->sin_addr.s_addr) >> 24 == 127;
}

bool vrt_tcp_are_addresses(const char *list)
{
    char word[64], bytes[sizeof(struct in6_addr)];

    for (const char *at = list + strspn(list, " "); *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        snprintf(word, sizeof(word), "%.*s", (int)length, at);
        if (inet_pton(strchr(word, ':') ? AF_INET6 : AF_INET, word, bytes) != 1)
            return false;
        at += length;
    }
    return true;
}

int vrt_tcp_listen(const struct vrt_tcp_address *address, struct vrt_error *error)
{
    const struct sockaddr *where = (const struct sockaddr *)&address->address;
    VRT_CLEANUP(vrt_closep) int fd = socket(where->sa_family, SOCK_STREAM, 0);
    const int on = 1;

    /* Else a socket of IPv6's would be one of IPv4's too, which nobody asked for. */
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
        (where->sa_family == AF_INET6 &&
         setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) < 0) ||
        fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 || fcntl(fd, F_SETFL, O_NONBLOCK) < 0 ||
        bind(fd, where, address->size) < 0 || listen(fd, BACKLOG) < 0)
        return vrt_refuse(error, vrt_raise(-errno), "usage", "[web] listen: cannot listen on %s: "
                          "%s", address->text, strerror(errno));
    return VRT_STEAL_FD(fd);
}
