/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Connections: who is at the other end of a Unix socket, and the files that come along; where the
 * other end of one of TCP is
 *
 * What differs between operating systems is in peer-linux.c and peer-bsd.c, the rest in peer.c.
 *
 * Thread: that of the connection: the loop's.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "api.h"
#include "daemon/access/access.h"

/* Open files that came over a connection; embedded, zero-initialised is empty. */
struct vrt_peer_files {
    int fds[VRT_API_DESCRIPTORS_MAX];   /* -1: somebody took it */
    int n;
};

/* Accepts a connection; it is non-blocking and closed on exec. Return: its fd, -errno. */
int vrt_peer_accept(int listening_fd);

/*
 * The user and the groups of the process that connected to `fd`, as they were then.
 * Return: 0, and `ret_peer` needs vrt_peer_done(); -errno.
 */
int vrt_peer_init(int fd, struct vrt_peer *ret_peer) VRT_MUST_CHECK;

/*
 * Of a connection by TCP: its ends' addresses, and nobody yet (VRT_WEB_UID). What is sent goes out
 * at once. Return: 0, and `ret_peer` needs vrt_peer_done(); -errno.
 */
int vrt_peer_init_tcp(int fd, struct vrt_peer *ret_peer) VRT_MUST_CHECK;

/* Whether `address` is one of those in `list`, which has spaces between. */
bool vrt_peer_is_listed(const char *list, const char *address);

/* What an address is counted as among others: of IPv6 its network of 64 bits, one customer's of a
 * provider's, and an IPv4 address in IPv6 as one of IPv4. */
void vrt_peer_name_origin(const char *address, char ret_origin[VRT_PEER_ADDRESS_BYTES]);

/* recvmsg() that doesn't wait; descriptors are closed on exec. Return: as recvmsg(). */
ssize_t vrt_peer_recvmsg(int fd, struct msghdr *message);

/*
 * Reads up to `size` bytes, without waiting. Open files that come with them are appended to
 * `files`, which owns them.
 * Return: how many bytes, 0 at the end of the stream; -E2BIG if there were too many files, -EMFILE
 * if the process may not open as many (those of this read are closed); -errno, -EAGAIN among them.
 */
ssize_t vrt_peer_read(int fd, void *data, size_t size, struct vrt_peer_files *files);

/* Closes those that nobody took; it is empty afterwards. */
void vrt_peer_files_done(struct vrt_peer_files *files);
