/* SPDX-License-Identifier: MIT */
/* The blocks of IANA's registries of special-purpose addresses that aren't globally reachable. */

#include "daemon/remote/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/macro.h"

struct block {
    uint8_t prefix[16];
    int bits;
};

static const struct block private_v4[] = {
    { { 0 }, 8 },                       /* this network */
    { { 10 }, 8 },                      /* private use (RFC 1918) */
    { { 100, 64 }, 10 },                /* carriers' translated networks (RFC 6598) */
    { { 127 }, 8 },                     /* this machine */
    { { 169, 254 }, 16 },               /* the link; clouds tell machines their secrets here */
    { { 172, 16 }, 12 },                /* private use */
    { { 192, 0, 0 }, 24 },              /* protocols */
    { { 192, 0, 2 }, 24 },              /* examples */
    { { 192, 88, 99 }, 24 },            /* what was a relay to IPv6 */
    { { 192, 168 }, 16 },               /* private use */
    { { 198, 18 }, 15 },                /* measurements */
    { { 198, 51, 100 }, 24 },           /* examples */
    { { 203, 0, 113 }, 24 },            /* examples */
    { { 224 }, 4 },                     /* multicast */
    { { 240 }, 4 },                     /* reserved, and broadcast */
};

/* Only 2000::/3 is handed out at all: the rest needs no list, save what is carved out of that. */
static const struct block public_v6 = { { 0x20 }, 3 };

static const struct block private_v6[] = {
    { { 0x20, 0x01, 0x00 }, 23 },               /* protocols, Teredo among them */
    { { 0x20, 0x01, 0x0d, 0xb8 }, 32 },         /* examples */
    { { 0x3f, 0xff }, 20 },                     /* examples */
};

/* IPv6 addresses with an IPv4 address inside, and where it begins. */
static const struct {
    struct block block;
    int offset;
} embedding[] = {
    { { { [10] = 0xff, 0xff }, 96 }, 12 },      /* ::ffff:a.b.c.d, what a socket makes of IPv4 */
    { { { [8] = 0xff, 0xff }, 96 }, 12 },       /* ::ffff:0:a.b.c.d, translated (RFC 2765) */
    { { { 0x00, 0x64, 0xff, 0x9b }, 96 }, 12 }, /* 64:ff9b::a.b.c.d, translated (RFC 6052) */
    { { { 0x20, 0x02 }, 16 }, 2 },              /* 2002:AABB:CCDD::, 6to4 */
};

static bool is_in(const uint8_t *address, const struct block *block)
{
    int bytes = block->bits / 8, rest = block->bits % 8;

    if (memcmp(address, block->prefix, (size_t)bytes) != 0)
        return false;
    return !rest || (address[bytes] ^ block->prefix[bytes]) >> (8 - rest) == 0;
}

static bool is_in_any(const uint8_t *address, const struct block *blocks, size_t n_blocks)
{
    for (size_t i = 0; i < n_blocks; i++)
        if (is_in(address, &blocks[i]))
            return true;
    return false;
}

static bool is_public_v4(const uint8_t *address)
{
    return !is_in_any(address, private_v4, VRT_ARRAY_SIZE(private_v4));
}

static bool is_public_v6(const uint8_t *address)
{
    for (size_t i = 0; i < VRT_ARRAY_SIZE(embedding); i++)
        if (is_in(address, &embedding[i].block))
            return is_public_v4(address + embedding[i].offset);
    return is_in(address, &public_v6) &&
           !is_in_any(address, private_v6, VRT_ARRAY_SIZE(private_v6));
}

bool vrt_address_is_public(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, address, sizeof(v4));
        return is_public_v4((const uint8_t *)&v4.sin_addr);
    }
    if (address->sa_family == AF_INET6) {
        struct sockaddr_in6 v6;
        memcpy(&v6, address, sizeof(v6));
        return is_public_v6((const uint8_t *)&v6.sin6_addr);
    }
    return false;
}

const char *vrt_address_print(const struct sockaddr *address, char *buffer, int size)
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    const char *text = NULL;

    if (address->sa_family == AF_INET) {
        memcpy(&v4, address, sizeof(v4));
        text = inet_ntop(AF_INET, &v4.sin_addr, buffer, (socklen_t)size);
    } else if (address->sa_family == AF_INET6) {
        memcpy(&v6, address, sizeof(v6));
        text = inet_ntop(AF_INET6, &v6.sin6_addr, buffer, (socklen_t)size);
    }
    if (!text)
        snprintf(buffer, (size_t)size, "?");
    return buffer;
}
