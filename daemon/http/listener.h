/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The socket on which clients connect, and the connections they made
 *
 * Thread: the loop's.
 */

#include <stddef.h>

#include "base/macro.h"
#include "daemon/http/conn.h"

struct vrt_listener;
struct vrt_quota;

struct vrt_listener_params {
    struct uv_loop_s *loop;
    struct vrt_quota *quota;                /* charged for each connection */
    struct vrt_conn_limits limits;
    void (*request)(void *ctx, struct vrt_conn *conn, const struct vrt_request *request);
    void *ctx;
};

/*
 * Serves the listening Unix socket `fd`, which it takes over, also on failure.
 * Return: 0, -errno. It is freed by vrt_listener_stop().
 */
int vrt_listener_new(int fd, const struct vrt_listener_params *params,
                     struct vrt_listener **ret_listener) VRT_MUST_CHECK;

/* How many connections are open. */
size_t vrt_listener_n_conns(const struct vrt_listener *listener);

/*
 * Closes every connection, once what is being written was taken, and frees the listener; then
 * `stopped` is called, once, by the loop.
 */
void vrt_listener_stop(struct vrt_listener *listener, void (*stopped)(void *ctx), void *ctx);
