/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Addresses that are listened on: "127.0.0.1:8470 [::1]:8470"
 *
 * They are addresses, no names: what a name leads to may change, and be seen from elsewhere.
 *
 * Thread: any.
 */

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "base/error.h"
#include "base/macro.h"

#define VRT_TCP_ADDRESSES_MAX 8

struct vrt_tcp_address {
    struct sockaddr_storage address;
    socklen_t size;
    char text[64];
};

/* Reads addresses with spaces between, some or none. Return: how many; -EINVAL with `error`. */
int vrt_tcp_parse(const char *text, struct vrt_tcp_address ret[VRT_TCP_ADDRESSES_MAX],
                  struct vrt_error *error) VRT_MUST_CHECK;

/* Whether only the machine itself can reach it. */
bool vrt_tcp_is_loopback(const struct vrt_tcp_address *address);

/* Whether each word of the list is an address, without a port. */
bool vrt_tcp_are_addresses(const char *list);

/* Listens. Return: a descriptor; -errno with `error`. */
int vrt_tcp_listen(const struct vrt_tcp_address *address, struct vrt_error *error) VRT_MUST_CHECK;
