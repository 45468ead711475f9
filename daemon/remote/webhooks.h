/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Webhooks: somebody's server is told that a job is over
 *
 *     POST URL
 *     Content-Type: application/json
 *     X-Vrtd-Timestamp: 1767323045              seconds since 1970, of this try
 *     X-Vrtd-Signature: sha256=HEX              HMAC-SHA256 of "TIMESTAMP.BODY" with the secret
 *
 * Any 2xx is a receipt. Redirects aren't followed, and what the server says isn't read. Failures
 * that may pass are tried again, twice as late each time; a receiver must expect the same notice
 * twice, since a receipt may be lost on its way.
 *
 * Thread: the loop's.
 */

#include <stddef.h>

#include "base/error.h"
#include "base/macro.h"

struct uv_loop_s;
struct vrt_web;
struct vrt_webhooks;

#define VRT_WEBHOOKS_AT_ONCE 4          /* that are being sent */
#define VRT_WEBHOOKS_MAX 10000          /* that wait */
#define VRT_WEBHOOK_TRIES_MAX 9         /* over about ten minutes */

enum vrt_webhook_outcome {
    VRT_WEBHOOK_DELIVERED,
    VRT_WEBHOOK_GIVEN_UP,       /* refused, or too often not reached */
    VRT_WEBHOOK_STOPPED,        /* the daemon ends: it is still due, at the next start */
};

struct vrt_webhooks_params {
    struct uv_loop_s *loop;
    struct vrt_web *web;
    const void *secret;
    size_t secret_bytes;
};

struct vrt_webhook {
    long long job_id;           /* for the log */
    const char *url;            /* checked by vrt_url_check() */
    const char *body;           /* JSON */
    /* Once, by the loop, never within vrt_webhooks_send(). NULL: nobody wants to know. */
    void (*done)(void *ctx, enum vrt_webhook_outcome outcome);
    void *ctx;
};

/* The secret is copied. Return: 0, -ENOMEM. It is freed by vrt_webhooks_stop(). */
int vrt_webhooks_new(const struct vrt_webhooks_params *params, struct vrt_webhooks **ret_webhooks);

/*
 * Sends one, now or when others are through; its texts are copied.
 * Return: 0; -ENOMEM; -EBUSY: too many wait. `done` isn't called then.
 */
int vrt_webhooks_send(struct vrt_webhooks *webhooks, const struct vrt_webhook *webhook);

/* Ends all (VRT_WEBHOOK_STOPPED) and frees it; then calls `stopped`, by the loop. */
void vrt_webhooks_stop(struct vrt_webhooks *webhooks, void (*stopped)(void *ctx), void *ctx);

/*
 * The value of X-Vrtd-Signature for a body, in `buffer`, which takes 72 bytes. Return: buffer.
 * Thread: any.
 */
const char *vrt_webhook_sign(const void *secret, size_t secret_bytes, const char *timestamp,
                             const char *body, char *buffer);
