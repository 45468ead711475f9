/* SPDX-License-Identifier: MIT */
/* A stream of requests: however it is cut into pieces, the same requests come out. */

#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "base/buf.h"
#include "daemon/http/http.h"

/* Small, so that short inputs reach them. */
static const struct vrt_http_limits limits = {
    .url_bytes = 64, .header_bytes = 256, .body_bytes = 64, .streamed_path = "/u",
};

/* Appends the requests in the stream to `out`, one after the other, and how it ended. */
static void play(const char *data, size_t size, size_t piece, struct vrt_buf *out)
{
    struct vrt_http http;
    enum vrt_http_outcome outcome = VRT_HTTP_MORE;
    size_t n_streamed = 0;
    int r = 0;

    vrt_http_init(&http, &limits);
    for (size_t at = 0, used; at < size && outcome != VRT_HTTP_REFUSED; at += used) {
        const size_t at_once = http.is_streamed ? VRT_MIN(piece, limits.body_bytes) : piece;
        outcome = vrt_http_feed(&http, data + at, VRT_MIN(at_once, size - at), &used);
        vrt_assert(used <= VRT_MIN(at_once, size - at));
        if (http.is_streamed) {
            n_streamed += http.body.size_bytes;
            vrt_buf_consume(&http.body, http.body.size_bytes);
        }
        if (outcome == VRT_HTTP_REQUEST) {
            const char *path, *query;
            vrt_assert(http.url.size_bytes <= limits.url_bytes);
            vrt_assert(http.body.size_bytes <= limits.body_bytes);
            vrt_http_target(&http, &path, &query);
            /* What is routed as a streamed body was one. */
            vrt_assert(http.is_streamed == (strcmp(vrt_http_method(&http), "POST") == 0 &&
                                            strcmp(path, limits.streamed_path) == 0));
            r = vrt_buf_printf(out, "%s %s ? %s %zu %d %d\n", vrt_http_method(&http), path, query,
                               http.body.size_bytes, http.keep_alive, vrt_http_is_json(&http));
            vrt_assert(r == 0);
            r = vrt_buf_append(out, http.body.data, http.body.size_bytes);
            vrt_assert(r == 0);
            const struct vrt_http_headers *h = &http.headers;
            r = vrt_buf_printf(out, "%zu %d|%s|%s|%s|%s|%s|%s|%s|%s|%s|%d\n", n_streamed,
                               http.is_streamed, h->host, h->origin, h->authorization, h->cookie,
                               h->forwarded_for, h->fetch_site, h->range, h->if_range,
                               h->if_none_match, (int)h->body_bytes);
            vrt_assert(r == 0);
            n_streamed = 0;
            if (!http.keep_alive)
                break;
            vrt_http_next(&http);
        }
    }
    vrt_assert((outcome == VRT_HTTP_REFUSED) == (http.error.message[0] != '\0'));
    /* Not why: of two reasons the parser may meet either first. */
    r = vrt_buf_printf(out, "%s\n", outcome == VRT_HTTP_REFUSED ? "refused" : "");
    vrt_assert(r == 0);
    vrt_http_done(&http);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t pieces[] = { 1, 7, 100 };
    struct vrt_buf whole = { .limit_bytes = 0 };

    play((const char *)data, size, SIZE_MAX, &whole);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(pieces); i++) {
        struct vrt_buf cut = { .limit_bytes = 0 };
        play((const char *)data, size, pieces[i], &cut);
        vrt_assert(cut.size_bytes == whole.size_bytes &&
                   memcmp(cut.data, whole.data, whole.size_bytes) == 0);
        vrt_buf_done(&cut);
    }
    vrt_buf_done(&whole);
    return 0;
}
