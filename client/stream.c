/* SPDX-License-Identifier: MIT */
/*
 * The stream of events: a transfer of curl's multi interface that is pulled at.
 *
 * Its reader has a screen to draw and a user who may press Ctrl-C, therefore no call here waits
 * longer than it is told to. A daemon that is gone without closing the connection (its machine
 * stopped) is noticed by the heartbeats that don't come.
 */

#include "client/conn-impl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "api.h"
#include "base/clock.h"

/* The daemon sends heartbeats; when three are missing it is gone. */
#define SILENCE_MAX_S (3 * VRT_API_HEARTBEAT_S + 5)

struct vrt_stream {
    CURLM *multi;
    CURL *easy;
    bool added, open, ended;
    CURLcode code;
    int64_t heard_ns;               /* when the last byte came */
    struct vrt_buf bytes;
    int r;                          /* -errno of a callback */
};

struct vrt_stream *vrt_stream_close(struct vrt_stream *stream)
{
    if (!stream)
        return NULL;
    if (stream->added)
        curl_multi_remove_handle(stream->multi, stream->easy);
    curl_easy_cleanup(stream->easy);
    curl_multi_cleanup(stream->multi);
    vrt_buf_done(&stream->bytes);
    free(stream);
    return NULL;
}

static size_t take_bytes(char *data, size_t size, size_t n, void *context)
{
    struct vrt_stream *stream = context;

    stream->heard_ns = vrt_clock_now_ns();
    int r = vrt_buf_append(&stream->bytes, data, size * n);
    if (r < 0)
        stream->r = r;
    return r < 0 ? 0 : size * n;
}

/* The empty line ends the header: from here on nothing is missed. */
static size_t take_header(char *data, size_t size, size_t n, void *context)
{
    struct vrt_stream *stream = context;

    stream->heard_ns = vrt_clock_now_ns();
    if (size * n <= 2 && (data[0] == '\r' || data[0] == '\n'))
        stream->open = true;
    return size * n;
}

/* Lets curl work for up to `timeout_ms`, or until `other_fd` can be read. */
static int turn(struct vrt_stream *stream, int timeout_ms, int other_fd)
{
    struct curl_waitfd other = { .fd = other_fd, .events = CURL_WAIT_POLLIN };
    int n_running = 0, n_messages;
    CURLMsg *message;

    CURLMcode code = curl_multi_perform(stream->multi, &n_running);
    if (code == CURLM_OK && n_running && timeout_ms > 0)
        code = curl_multi_poll(stream->multi, &other, other_fd >= 0, timeout_ms, NULL);
    if (code == CURLM_OK && n_running)
        code = curl_multi_perform(stream->multi, &n_running);
    if (code != CURLM_OK)
        return vrt_raise(code == CURLM_OUT_OF_MEMORY ? -ENOMEM : -EIO);
    while ((message = curl_multi_info_read(stream->multi, &n_messages))) {
        if (message->msg == CURLMSG_DONE) {
            stream->ended = true;
            stream->code = message->data.result;
        }
    }
    return 0;
}

/* Waits for the daemon's header. */
static int wait_open(struct vrt_conn *conn, struct vrt_stream *stream, struct vrt_error *error)
{
    int64_t deadline_ns = vrt_clock_now_ns() + conn->timeout_s * VRT_NS_PER_S;
    long status = 0;

    while (!stream->open && !stream->ended) {
        int r = turn(stream, 200, -1);
        if (r < 0)
            return vrt_refuse_errno(error, r, "waiting for events");
        if (conn->interrupt && *conn->interrupt)
            return vrt_conn_curl_failed(conn, stream->easy, CURLE_ABORTED_BY_CALLBACK, error);
        if (vrt_clock_now_ns() > deadline_ns)
            return vrt_conn_curl_failed(conn, stream->easy, CURLE_OPERATION_TIMEDOUT, error);
    }
    curl_easy_getinfo(stream->easy, CURLINFO_RESPONSE_CODE, &status);
    if (stream->open && status == 200)
        return 0;
    while (!stream->ended && vrt_clock_now_ns() <= deadline_ns) {
        int r = turn(stream, 200, -1);
        if (r < 0)
            return vrt_refuse_errno(error, r, "waiting for events");
    }
    if (!stream->open || stream->code != CURLE_OK)
        return vrt_conn_curl_failed(conn, stream->easy,
                                    stream->code ? stream->code : CURLE_GOT_NOTHING, error);
    return vrt_conn_refused(conn, status, &stream->bytes, error);
}

int vrt_stream_open(struct vrt_conn *conn, long long job_id, struct vrt_stream **ret_stream,
                    struct vrt_error *error)
{
    VRT_CLEANUP(vrt_stream_closep) struct vrt_stream *stream = calloc(1, sizeof(*stream));
    char path[64] = "/v1/events";

    if (stream) {
        stream->multi = curl_multi_init();
        stream->easy = curl_easy_init();
    }
    if (!stream || !stream->multi || !stream->easy)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "waiting for events");
    stream->bytes.limit_bytes = VRT_API_RESPONSE_MAX_BYTES;
    stream->heard_ns = vrt_clock_now_ns();
    if (job_id)
        snprintf(path, sizeof(path), "/v1/events?job=%lld", job_id);
    vrt_conn_prepare(conn, stream->easy, path);
    curl_easy_setopt(stream->easy, CURLOPT_WRITEFUNCTION, take_bytes);
    curl_easy_setopt(stream->easy, CURLOPT_WRITEDATA, stream);
    curl_easy_setopt(stream->easy, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(stream->easy, CURLOPT_HEADERDATA, stream);
    if (curl_multi_add_handle(stream->multi, stream->easy) != CURLM_OK)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "waiting for events");
    stream->added = true;
    int r = wait_open(conn, stream, error);
    if (r != 0)
        return vrt_fold(r);
    *ret_stream = VRT_STEAL(stream);
    return 0;
}

int vrt_stream_next(struct vrt_stream *stream, int timeout_ms, int other_fd,
                    enum vrt_event_kind *ret_kind, struct vrt_buf *data)
{
    int r = vrt_event_take(&stream->bytes, data, ret_kind);
    if (r == 0 && !stream->ended) {
        r = turn(stream, timeout_ms, other_fd);
        if (r == 0)
            r = vrt_event_take(&stream->bytes, data, ret_kind);
    }
    if (r < 0 || stream->r < 0)
        return vrt_fold(r < 0 ? r : stream->r);
    if (r == 1)
        return VRT_STREAM_EVENT;
    bool silent = vrt_clock_now_ns() - stream->heard_ns > SILENCE_MAX_S * VRT_NS_PER_S;
    return stream->ended || silent ? VRT_STREAM_END : VRT_STREAM_NONE;
}
