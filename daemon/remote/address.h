/* SPDX-License-Identifier: MIT */
#pragma once

/* Which addresses of the network are anybody's, and which lead into somebody's own. Pure. */

#include <stdbool.h>

struct sockaddr;

/*
 * Whether `address` is one of the public internet: not of this machine, its links or a private
 * network, not reserved, nobody's group (multicast). An IPv6 address that stands for an IPv4 one is
 * judged as that; other families than those two are never public.
 */
bool vrt_address_is_public(const struct sockaddr *address);

/*
 * The numbers of the address, "192.0.2.1" or "2001:db8::1", in `buffer` of at least 46 bytes; "?"
 * for other families. Return: buffer.
 */
const char *vrt_address_print(const struct sockaddr *address, char *buffer, int size);
