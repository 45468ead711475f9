/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Downloads: a file from another machine into a folder of ours, gone on with where it broke off
 *
 * What broke off is asked for again, from where it stopped and only if it is still the same file
 * (Range, If-Range), also by a later run of the daemon; where the other end can't do that it is
 * fetched from the start. The disk is never waited for: see fetch-file.h.
 *
 * Thread: the loop's.
 */

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/macro.h"
#include "daemon/remote/fetch-file.h"

struct vrt_fetch;
struct vrt_web;

/* What was fetched. By value, while `done` runs. */
struct vrt_fetch_result {
    int64_t size_bytes;
    char sha256[VRT_DIGEST_TEXT_BYTES];    /* "" where it wasn't wanted */
};

struct vrt_fetch_params {
    struct uv_loop_s *loop;
    struct vrt_web *web;
    const char *url;                /* checked by vrt_url_check() */
    int folder_fd;                  /* stays the caller's, open until `done` */
    const char *name;               /* of the file in it */
    mode_t mode;                    /* for creating it; 0: 0600 */
    int64_t limit_bytes;            /* a larger one is refused */
    bool wants_digest;
    const char *sha256;             /* that it must have, in lower case; "" or NULL: any */

    /* Some of it was written; `total_bytes` is -1 while it isn't known. NULL: not told. */
    void (*progress)(void *ctx, int64_t done_bytes, int64_t total_bytes);

    /* A try came to nothing, for this reason; there will be another. NULL: not told. */
    void (*retrying)(void *ctx, const char *why);

    /*
     * Once, by the loop, never within vrt_fetch_start() or _cancel(); it is freed afterwards. With
     * an error the file holds what was fetched so far, to be gone on with or removed, save where it
     * has the wrong digest, which is gone. The error's ids: remote.url, remote.address,
     * remote.failed, remote.too_large, remote.checksum, spool.full, cancelled, internal.
     */
    void (*done)(void *ctx, const struct vrt_fetch_result *result, const struct vrt_error *error);
    void *ctx;
};

/* The texts of params are copied. Return: 0; -ENOMEM, -errno, and `done` isn't called. */
int vrt_fetch_start(const struct vrt_fetch_params *params,
                    struct vrt_fetch **ret_fetch) VRT_MUST_CHECK;

/* Ends it soon: `done` comes with the error "cancelled", unless it had ended already. */
void vrt_fetch_cancel(struct vrt_fetch *fetch);
