/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The gate: what a request that comes by TCP has to pass before the API hears it
 *
 * It must be meant for us (origin.h), and show a token (Authorization: Bearer) or the cookie of a
 * session that was begun with one. Else there is the page's login (page.h), and POST /v1/session.
 * What then goes on to the API comes from a user that is the token's own.
 *
 * Thread: the loop's.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/macro.h"
#include "daemon/http/conn.h"

struct uv_loop_s;
struct vrt_gate;
struct vrt_quota;
struct vrt_tokens;

struct vrt_gate_params {
    struct uv_loop_s *loop;
    struct vrt_quota *quota;
    struct vrt_tokens *tokens;          /* lives longer, as the texts do */
    const char *listen;                 /* addresses, as vrt_tcp_parse() has them; "": nowhere */
    const char *host;                   /* names that lead here, with spaces between */
    const char *proxy;                  /* addresses of proxies that are believed, likewise */
    bool is_https;                      /* browsers come by one that speaks TLS with them */
    int per_address;                    /* connections */
    /* A request that passed. */
    void (*request)(void *ctx, struct vrt_conn *conn, const struct vrt_request *request);
    void *ctx;
};

/* Whether this can be listened on: no address that others reach, unless `is_insecure`. Return: 0;
 * -EINVAL with `error`. Thread: any. */
int vrt_gate_check(const struct vrt_gate_params *params, bool is_insecure,
                   struct vrt_error *error) VRT_MUST_CHECK;

/* Return: 0; -errno with `error`. It is freed by vrt_gate_stop(). */
int vrt_gate_new(const struct vrt_gate_params *params, struct vrt_gate **ret_gate,
                 struct vrt_error *error) VRT_MUST_CHECK;

/* Ends every connection, and frees it; then `stopped` is called, once, by the loop. */
void vrt_gate_stop(struct vrt_gate *gate, void (*stopped)(void *ctx), void *ctx);

/* How many connections are open. */
size_t vrt_gate_n_conns(const struct vrt_gate *gate);

/* Answers POST /v1/session, and DELETE. */
void vrt_gate_login(struct vrt_gate *gate, struct vrt_conn *conn,
                    const struct vrt_request *request);
void vrt_gate_logout(struct vrt_gate *gate, struct vrt_conn *conn,
                     const struct vrt_request *request);

/* A token may be used no longer: its sessions and connections end. */
void vrt_gate_cut(struct vrt_gate *gate, int64_t token_id);
