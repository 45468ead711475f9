/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A socket on which clients connect, and the connections they made
 *
 * Of a Unix socket the kernel tells who came, and his connections are charged to him. Who comes by
 * TCP is nobody until a request says who sends it (vrt_listener_name()); all such connections are
 * charged to nobody, of whom so many fewer can keep the machine's users out.
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
    /* 0: it is a Unix socket; else one of TCP, and so many connections may come of one address, of
     * IPv6 of one network of 64 bits, but for those in `exempt`, with spaces between. */
    int per_address;
    const char *exempt;
    const char *headers;                    /* see struct vrt_conn_params */
    void (*request)(void *ctx, struct vrt_conn *conn, const struct vrt_request *request);
    void *ctx;
};

/*
 * Serves the listening socket `fd`, which it takes over, also on failure.
 * Return: 0, -errno. It is freed by vrt_listener_stop().
 */
int vrt_listener_new(int fd, const struct vrt_listener_params *params,
                     struct vrt_listener **ret_listener) VRT_MUST_CHECK;

/* From now on who is at the other end of a connection by TCP is this user, who is charged for what
 * he leaves unread and for the loop's time, and the session that says so (0: none). Within
 * `request`. */
void vrt_listener_name(struct vrt_conn *conn, uid_t uid, int64_t session_id);

/* Ends the connections of this user, of one session (0: all), but for one connection (NULL: all),
 * as vrt_listener_stop() does. */
void vrt_listener_cut(struct vrt_listener *listener, uid_t uid, int64_t session_id,
                      const struct vrt_conn *but);

/* How many connections are open. */
size_t vrt_listener_n_conns(const struct vrt_listener *listener);

/*
 * Closes every connection, once what is being written was taken, and frees the listener; then
 * `stopped` is called, once, by the loop.
 */
void vrt_listener_stop(struct vrt_listener *listener, void (*stopped)(void *ctx), void *ctx);
