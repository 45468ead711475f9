/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * HTTP/1.1 requests out of a stream of bytes
 *
 * llhttp parses strictly; what a parser cannot know is added here: limits on the URL, the header
 * and the body, refused as soon as they are passed, at most one Host and, in HTTP/1.1, at least
 * one. No I/O and no clock: conn.c feeds it and keeps the deadlines.
 *
 * Thread: any one at a time.
 */

#include <llhttp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

struct vrt_http_limits {
    size_t url_bytes, header_bytes, body_bytes;
    /* A POST to this path has a body of any size, which comes in pieces; NULL: none has. */
    const char *streamed_path;
};

enum vrt_http_outcome {
    VRT_HTTP_MORE,              /* all was taken, the request goes on */
    VRT_HTTP_REQUEST,           /* a request is complete; what follows it was not taken */
    VRT_HTTP_HEAD,              /* its header is, and its body will come in pieces: whatever is in
                                 * `body` after a feed is one, to be consumed before the next */
    VRT_HTTP_REFUSED,           /* `error` says why; nothing more can be made of the stream */
};

/* The headers that mean something here, "" where one isn't there. A value that is too long for its
 * place is as good as none, but for one of content_type, expect, if_none_match, if_range, which is
 * cut; with cookies that are the request is refused. */
struct vrt_http_headers {
    char content_type[64];
    char expect[32];
    char host[256], origin[256];
    char authorization[128], cookie[4096];
    char forwarded_for[128], fetch_site[16];
    char if_none_match[64], if_range[64], range[64];
    int64_t body_bytes;         /* as Content-Length says; -1: nothing does */
    int n_hosts;
};

#define VRT_HTTP_VALUE_BYTES 4096       /* of the longest of them */

/* Embedded; made by vrt_http_init(). */
struct vrt_http {
    llhttp_t parser;
    struct vrt_http_limits limits;
    struct vrt_buf url, body;
    struct vrt_http_headers headers;
    struct vrt_error error;
    bool begun;                 /* a byte of the request was seen */
    bool wants_continue;        /* it waits for "100 Continue" before it sends its body */
    bool keep_alive;            /* once complete: others may follow */
    bool is_streamed;           /* its body comes in pieces */
    bool is_at_head;
    size_t header_bytes;
    bool in_trailer;
    char name[32];              /* of the header being read, cut, as its value is */
    char value[VRT_HTTP_VALUE_BYTES];
    bool is_value_cut;
    size_t name_bytes, value_bytes;
};

/* Gets ready for a connection's first request. `http` must not move afterwards. */
void vrt_http_init(struct vrt_http *http, const struct vrt_http_limits *limits);

/* Frees what it holds. */
void vrt_http_done(struct vrt_http *http);

/* Takes bytes of the stream, *ret_used of them: of a streamed body at most the limit of bodies at
 * once. Return: an outcome. */
enum vrt_http_outcome vrt_http_feed(struct vrt_http *http, const char *data, size_t size,
                                    size_t *ret_used);

/* After VRT_HTTP_REQUEST: forgets that request and gets ready for the next one. */
void vrt_http_next(struct vrt_http *http);

/* "GET", "POST", ...: valid once a request is complete. */
const char *vrt_http_method(const struct vrt_http *http);

/*
 * The parts of a complete request's URL: its path and, behind the '?', its query, "" where there
 * is none. The absolute form, "http://host/path", is allowed. To be called once per request.
 */
void vrt_http_target(struct vrt_http *http, const char **ret_path, const char **ret_query);

/* Whether Content-Type says JSON, or nothing. */
bool vrt_http_is_json(const struct vrt_http *http);
