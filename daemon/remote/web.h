/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The daemon as a client of other machines: libcurl on the loop
 *
 * One object for all transfers; downloads (fetch.h) and notices (webhooks.h) stand on it. Every
 * address that is connected to passes the same check, whatever a name or a redirect led to.
 *
 * Thread: the loop's.
 */

#include <stdbool.h>

#include "base/error.h"
#include "base/macro.h"

struct uv_loop_s;
struct vrt_web;

struct vrt_web_params {
    struct uv_loop_s *loop;
    const char *proxy;          /* "": none, whatever the environment says */
    const char *ca_file;        /* "": whom the system trusts */
    bool private_addresses;     /* are connected to as well */
    int connect_ms;             /* that a connection may take, the name's resolution included */
    int stall_s;                /* so long at under 100 bytes a second ends a transfer */
    int retry_ms;               /* before the first further try; doubled each time */
};

/* What is usual; the loop, and what is the administrator's choice, are the caller's to fill in. */
void vrt_web_params_init(struct vrt_web_params *params);

/* Whether the process has a network, or only a loopback: services may be left no more. */
bool vrt_web_has_network(void);

/*
 * The texts of params are copied. Return: 0, it is freed by vrt_web_stop(); -ENOTSUP: this
 * machine's libcurl would stop the loop while it resolves a name; -ENOMEM, -errno; see error.
 */
int vrt_web_new(const struct vrt_web_params *params, struct vrt_web **ret_web,
                struct vrt_error *error) VRT_MUST_CHECK;

/* Frees it, then calls `stopped`, by the loop. Every transfer has ended before. */
void vrt_web_stop(struct vrt_web *web, void (*stopped)(void *ctx), void *ctx);
