/* SPDX-License-Identifier: MIT */
#pragma once

/* For what transfers something: one call to another machine, on the loop. Thread: the loop's. */

#include <curl/curl.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/list.h"
#include "base/macro.h"
#include "daemon/remote/web.h"

/*
 * One request and its answer. Embedded by value; zero-filled is none. `easy` has everything that
 * all calls have in common (see prepare() in web.c); its owner adds what is its own.
 */
struct vrt_web_call {
    struct vrt_web *web;
    CURL *easy;                             /* NULL: no call goes on */
    struct vrt_list unwatched;              /* of the web's, if it is */
    int watch_r;                            /* why it couldn't be watched: -errno; 0: it could */
    void (*done)(struct vrt_web_call *call, CURLcode code);     /* may end or begin calls */
    bool private_refused;                   /* at least one address was not connected to */
    char refused[48];                       /* the last of those */
    char problem[CURL_ERROR_SIZE];          /* curl's own words */
};

/* What the object was made with. */
const struct vrt_web_params *vrt_web_params(const struct vrt_web *web);

/*
 * Makes ready a call to `url`, which vrt_url_check() has passed; follows redirects where
 * `follows`, five at most and none from https to http. Return: 0; -ENOMEM.
 */
int vrt_web_call_begin(struct vrt_web_call *call, struct vrt_web *web, const char *url,
                       bool follows) VRT_MUST_CHECK;

/* Sends it on its way: `done` comes once, never within this call. Return: 0; -ENOMEM. */
int vrt_web_call_start(struct vrt_web_call *call) VRT_MUST_CHECK;

/* Ends it wherever it is, without `done`; not from within curl's callbacks. None: nothing. */
void vrt_web_call_end(struct vrt_web_call *call);

/* Whether the same call may succeed another time: the network's failures, not refusals. */
bool vrt_web_call_is_passing(const struct vrt_web_call *call, CURLcode code);

/* Whether an answer with this HTTP status may be another one later. */
bool vrt_web_status_is_passing(long status);

/*
 * Says why a call ended with `code`, which isn't CURLE_OK; `shown` is what to call the address.
 * Return: -EIO.
 */
int vrt_web_call_refuse(const struct vrt_web_call *call, CURLcode code, const char *shown,
                        struct vrt_error *error);

/*
 * How long to wait before try number `n_failed` + 1, in ms: doubled with each, at most a minute,
 * but as long as the other end asked for (`asked_s`, at most ten minutes).
 */
int vrt_web_retry_ms(const struct vrt_web *web, int n_failed, long asked_s);
