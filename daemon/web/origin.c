/* SPDX-License-Identifier: MIT */

#include "daemon/web/origin.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define NAME_BYTES 256

/* The name in "name:port" or "[address]:port", without brackets. Return: whether it is one. */
static bool split(const char *host, char name[NAME_BYTES])
{
    const bool has_brackets = host[0] == '[';
    const char *end = has_brackets ? strchr(host, ']') : host + strcspn(host, ":");

    if (!end || end - host >= NAME_BYTES)
        return false;
    const char *port = has_brackets ? end + 1 : end;
    if (*port && (*port != ':' || port[1 + strspn(port + 1, "0123456789")]))
        return false;
    snprintf(name, NAME_BYTES, "%.*s", (int)(end - host) - has_brackets, host + has_brackets);
    return name[0];
}

/* Whether both are the same address. */
static bool is_address(const char *name, const char *address)
{
    char bytes[sizeof(struct in6_addr)], text[INET6_ADDRSTRLEN];
    const int family = strchr(name, ':') ? AF_INET6 : AF_INET;

    return inet_pton(family, name, bytes) == 1 &&
           inet_ntop(family, bytes, text, sizeof(text)) && strcmp(text, address) == 0;
}

static bool is_loopback(const char *address)
{
    return strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0;
}

bool vrt_origin_is_host_ours(const char *host, const char *local, const char *names)
{
    char name[NAME_BYTES];

    if (!split(host, name))
        return false;
    if (is_address(name, local) || (strcasecmp(name, "localhost") == 0 && is_loopback(local)))
        return true;
    for (const char *at = names + strspn(names, " "); *at; at += strspn(at, " ")) {
        size_t n = strcspn(at, " ");
        if (strlen(name) == n && strncasecmp(name, at, n) == 0)
            return true;
        at += n;
    }
    return false;
}

bool vrt_origin_is_page(const char *origin, const char *host, bool is_https)
{
    const char *scheme = is_https ? "https://" : "http://";
    size_t n = strlen(scheme);

    return strncasecmp(origin, scheme, n) == 0 && strcasecmp(origin + n, host) == 0;
}
