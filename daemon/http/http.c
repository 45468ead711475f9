/* SPDX-License-Identifier: MIT */

#include "daemon/http/http.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "api.h"

/* What separates a header's name, value and the next line. */
#define HEADER_EXTRA_BYTES 4

/* Refuses the request with an error of the API and a sentence of its own. Return: for llhttp. */
static int refuse(struct vrt_http *http, enum vrt_api_error_index index, const char *why)
{
    vrt_refuse(&http->error, -EINVAL, vrt_api_errors[index].id, "%s", why);
    return HPE_USER;
}

/* Refuses it for what the API says of that error. Return: for llhttp. */
static int refuse_limit(struct vrt_http *http, enum vrt_api_error_index index)
{
    return refuse(http, index, vrt_api_errors[index].meaning);
}

/* Appends to a limited buffer. Return: for llhttp. */
static int append(struct vrt_http *http, struct vrt_buf *buf, const char *data, size_t size,
                  enum vrt_api_error_index too_long)
{
    int r = vrt_buf_append(buf, data, size);
    if (r == -ENOMEM)
        return refuse(http, VRT_API_E_OUT_OF_MEMORY, "no memory is left for this request");
    return r < 0 ? refuse_limit(http, too_long) : HPE_OK;
}

static int on_message_begin(llhttp_t *parser)
{
    struct vrt_http *http = parser->data;

    http->begun = true;
    return HPE_OK;
}

static int on_url(llhttp_t *parser, const char *at, size_t size)
{
    struct vrt_http *http = parser->data;

    return append(http, &http->url, at, size, VRT_API_E_HTTP_URL_TOO_LONG);
}

/* Counts header bytes, and keeps as many as fit of those at `at` in `text`. */
static int keep(struct vrt_http *http, char *text, size_t text_size, size_t *n_bytes,
                const char *at, size_t size)
{
    http->header_bytes += size;
    if (http->header_bytes > http->limits.header_bytes)
        return refuse_limit(http, VRT_API_E_HTTP_HEADER_TOO_LARGE);
    size_t n = VRT_MIN(size, text_size - 1 - *n_bytes);
    memcpy(text + *n_bytes, at, n);
    *n_bytes += n;
    text[*n_bytes] = '\0';
    return HPE_OK;
}

static int on_header_field(llhttp_t *parser, const char *at, size_t size)
{
    struct vrt_http *http = parser->data;

    return keep(http, http->name, sizeof(http->name), &http->name_bytes, at, size);
}

static int on_header_value(llhttp_t *parser, const char *at, size_t size)
{
    struct vrt_http *http = parser->data;

    http->is_value_cut |= size > sizeof(http->value) - 1 - http->value_bytes;
    return keep(http, http->value, sizeof(http->value), &http->value_bytes, at, size);
}

static int on_header_value_complete(llhttp_t *parser)
{
    struct vrt_http *http = parser->data;
    struct vrt_http_headers *headers = &http->headers;
    const struct {
        const char *name;
        char *value;
        size_t size;
        bool may_be_cut;
    } kept[] = {
        { "content-type", headers->content_type, sizeof(headers->content_type), true },
        { "expect", headers->expect, sizeof(headers->expect), true },
        { "host", headers->host, sizeof(headers->host), false },
        { "origin", headers->origin, sizeof(headers->origin), false },
        { "authorization", headers->authorization, sizeof(headers->authorization), false },
        { "cookie", headers->cookie, sizeof(headers->cookie), false },
        { "x-forwarded-for", headers->forwarded_for, sizeof(headers->forwarded_for), false },
        { "sec-fetch-site", headers->fetch_site, sizeof(headers->fetch_site), false },
        { "if-none-match", headers->if_none_match, sizeof(headers->if_none_match), true },
        { "if-range", headers->if_range, sizeof(headers->if_range), true },
        { "range", headers->range, sizeof(headers->range), false },
    };

    http->header_bytes += HEADER_EXTRA_BYTES;
    for (size_t i = 0; i < VRT_ARRAY_SIZE(kept) && !http->in_trailer; i++) {
        if (strcasecmp(http->name, kept[i].name) != 0)
            continue;
        bool is_short = !http->is_value_cut && http->value_bytes < kept[i].size;
        size_t n = is_short ? http->value_bytes : kept[i].may_be_cut ? kept[i].size - 1 : 0;
        memcpy(kept[i].value, http->value, n);
        kept[i].value[n] = '\0';
        /* Of other servers on the same host: as a stranger's its user would never learn why. */
        if (!is_short && kept[i].value == headers->cookie)
            return refuse(http, VRT_API_E_HTTP_HEADER_TOO_LARGE, "the cookies of this host are "
                          "over 4095 bytes: remove those of others, or give vrtd a name of its "
                          "own");
    }
    if (!http->in_trailer && strcasecmp(http->name, "host") == 0)
        headers->n_hosts++;
    http->name_bytes = http->value_bytes = 0;
    http->name[0] = http->value[0] = '\0';
    http->is_value_cut = false;
    return HPE_OK;
}

/* Where the path begins in a URL, which may be absolute: "http://host/path". */
static size_t path_at(const char *url)
{
    static const char scheme[] = "http://";
    const size_t n = sizeof(scheme) - 1;

    return strncasecmp(url, scheme, n) == 0 ? n + strcspn(url + n, "/?#") : 0;
}

/* Whether the body comes in pieces. */
static bool is_streamed(const struct vrt_http *http)
{
    const char *path = http->limits.streamed_path, *url = http->url.data;
    const size_t n = path ? strlen(path) : 0;

    if (!path || !url || http->parser.method != HTTP_POST)
        return false;
    url += path_at(url);
    return strncmp(url, path, n) == 0 && strcspn(url + n, "?#") == 0;
}

static int on_headers_complete(llhttp_t *parser)
{
    struct vrt_http *http = parser->data;
    const bool has_length = parser->flags & F_CONTENT_LENGTH;

    if (parser->http_major != 1)
        return refuse(http, VRT_API_E_HTTP_MALFORMED, "the request is not in HTTP/1.1");
    if (http->headers.n_hosts > 1)
        return refuse(http, VRT_API_E_HTTP_MALFORMED, "the request has more than one Host header");
    if (http->headers.n_hosts == 0 && parser->http_minor >= 1)
        return refuse(http, VRT_API_E_HTTP_MALFORMED, "the request has no Host header");
    http->is_streamed = http->is_at_head = is_streamed(http);
    http->headers.body_bytes = has_length ?
        (int64_t)VRT_MIN(parser->content_length, (uint64_t)INT64_MAX) : -1;
    if (has_length && !http->is_streamed && parser->content_length > http->limits.body_bytes)
        return refuse_limit(http, VRT_API_E_HTTP_BODY_TOO_LARGE);
    /* No other protocol is spoken here: a request to change it is answered as if without. */
    parser->upgrade = 0;
    http->in_trailer = true;
    http->wants_continue = strcasecmp(http->headers.expect, "100-continue") == 0;
    return http->is_streamed ? HPE_PAUSED : HPE_OK;
}

static int on_body(llhttp_t *parser, const char *at, size_t size)
{
    struct vrt_http *http = parser->data;

    http->wants_continue = false;
    return append(http, &http->body, at, size, VRT_API_E_HTTP_BODY_TOO_LARGE);
}

static int on_message_complete(llhttp_t *parser)
{
    struct vrt_http *http = parser->data;

    http->wants_continue = false;
    http->keep_alive = llhttp_should_keep_alive(parser) && parser->http_minor >= 1;
    return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
    .on_message_begin = on_message_begin,
    .on_url = on_url,
    .on_header_field = on_header_field,
    .on_header_value = on_header_value,
    .on_header_value_complete = on_header_value_complete,
    .on_headers_complete = on_headers_complete,
    .on_body = on_body,
    .on_message_complete = on_message_complete,
};

void vrt_http_init(struct vrt_http *http, const struct vrt_http_limits *limits)
{
    *http = (struct vrt_http){
        .limits = *limits,
        .url.limit_bytes = limits->url_bytes,
        .body.limit_bytes = limits->body_bytes,
    };
    llhttp_init(&http->parser, HTTP_REQUEST, &settings);
    http->parser.data = http;
}

void vrt_http_done(struct vrt_http *http)
{
    vrt_buf_done(&http->url);
    vrt_buf_done(&http->body);
}

enum vrt_http_outcome vrt_http_feed(struct vrt_http *http, const char *data, size_t size,
                                    size_t *ret_used)
{
    llhttp_errno_t r = llhttp_execute(&http->parser, data, size);

    *ret_used = size;
    if (r == HPE_OK)
        return VRT_HTTP_MORE;
    if (r == HPE_PAUSED) {
        *ret_used = (size_t)(llhttp_get_error_pos(&http->parser) - data);
        if (!http->is_at_head)
            return VRT_HTTP_REQUEST;
        http->is_at_head = false;
        llhttp_resume(&http->parser);
        return VRT_HTTP_HEAD;
    }
    const char *reason = llhttp_get_error_reason(&http->parser);
    vrt_refuse(&http->error, -EINVAL, VRT_E(HTTP_MALFORMED), "this is no request in HTTP/1.1: %s",
               reason && reason[0] ? reason : llhttp_errno_name(r));
    return VRT_HTTP_REFUSED;
}

void vrt_http_next(struct vrt_http *http)
{
    vrt_buf_done(&http->body);
    vrt_buf_consume(&http->url, http->url.size_bytes);
    http->headers = (struct vrt_http_headers){ .body_bytes = -1 };
    http->begun = http->keep_alive = http->in_trailer = false;
    http->header_bytes = 0;
    llhttp_resume(&http->parser);
}

const char *vrt_http_method(const struct vrt_http *http)
{
    return llhttp_method_name((llhttp_method_t)http->parser.method);
}

void vrt_http_target(struct vrt_http *http, const char **ret_path, const char **ret_query)
{
    char *path = http->url.data + path_at(http->url.data);

    path[strcspn(path, "#")] = '\0';
    char *query = strchr(path, '?');
    if (query)
        *query++ = '\0';
    *ret_path = path[0] ? path : "/";
    *ret_query = query ? query : "";
}

bool vrt_http_is_json(const struct vrt_http *http)
{
    static const char json[] = "application/json";
    const char *type = http->headers.content_type;
    size_t n = sizeof(json) - 1;

    return !type[0] || (strncasecmp(type, json, n) == 0 && (!type[n] || strchr("; \t", type[n])));
}
