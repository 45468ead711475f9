/* SPDX-License-Identifier: MIT */

/* What routes do with a connection: answers and streams. They never write, nor close it. */

#include <stdio.h>
#include <string.h>

#include "api.h"
#include "base/log.h"
#include "base/thread.h"
#include "daemon/http/conn-impl.h"
#include "msg_job.h"

#define VRT_LOG_TOPIC "conn"

/* Answers what is arriving or was dispatched; afterwards comes the next request, or the end. */
static void answer(struct vrt_conn *conn, const struct vrt_response *response, bool keep_alive)
{
    if (conn->state == VRT_CONN_CLOSED)
        return;
    vrt_conn_take_watch(conn);
    vrt_peer_files_done(&conn->files);
    struct vrt_response whole = *response;
    whole.common = conn->params.headers;
    int r = vrt_response_print(&whole, keep_alive, !conn->head_only, &conn->out);
    if (r < 0) {
        vrt_log_warning("an answer of %zu bytes could not be sent: %s", response->body_bytes,
                        strerror(-r));
        vrt_conn_close(conn);
        return;
    }
    conn->head_only = false;
    /* The next request has a time of its own, even where it waits for the same thing. */
    conn->wait = VRT_WAIT_NOTHING;
    conn->state = keep_alive ? VRT_CONN_READING : VRT_CONN_FLUSHING;
    if (keep_alive)
        vrt_http_next(&conn->http);
    vrt_conn_arm(conn);
}

void vrt_conn_reply(struct vrt_conn *conn, const struct vrt_response *response)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    vrt_assert(conn->state == VRT_CONN_ANSWERING);
    answer(conn, response, conn->http.keep_alive);
}

void vrt_conn_refuse(struct vrt_conn *conn, const struct vrt_error *error)
{
    vrt_conn_refuse_with(conn, error, NULL);
}

void vrt_conn_refuse_with(struct vrt_conn *conn, const struct vrt_error *error,
                          const char *header)
{
    struct vrt_buf body = { .limit_bytes = 0 };

    vrt_assert_thread(VRT_THREAD_LOOP);
    /* Refused while it was still arriving, nobody knows where the next request begins: then this
     * answer is the last. */
    if (vrt_error_print(error, &body) < 0)
        vrt_conn_close(conn);
    else
        answer(conn, &(struct vrt_response){
            .status = vrt_api_error_status(error->id),
            .header = header,
            .body = body.data,
            .body_bytes = body.size_bytes,
        }, conn->state == VRT_CONN_ANSWERING && conn->http.keep_alive);
    vrt_buf_done(&body);
}

void vrt_conn_watch(struct vrt_conn *conn, struct vrt_conn_watch *watch)
{
    vrt_assert(conn->state == VRT_CONN_ANSWERING && !conn->watch);
    conn->watch = watch;
    watch->conn = conn;
}

void vrt_conn_let_send(struct vrt_conn *conn)
{
    static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";

    /* Without memory for it the client begins by itself, after a while. */
    if (conn->http.wants_continue)
        (void)!vrt_buf_append(&conn->out, go_on, sizeof(go_on) - 1);
    conn->http.wants_continue = false;
}

void vrt_conn_receive(struct vrt_conn *conn, struct vrt_conn_watch *watch)
{
    vrt_conn_watch(conn, watch);
    vrt_peer_files_done(&conn->files);
    conn->state = VRT_CONN_RECEIVING;
    conn->is_full = false;
    vrt_conn_let_send(conn);
    vrt_conn_arm(conn);
}

void vrt_conn_receive_on(struct vrt_conn *conn)
{
    conn->is_full = false;
    vrt_conn_arm(conn);
}

void vrt_conn_body_start(struct vrt_conn *conn, struct vrt_conn_watch *watch,
                         const struct vrt_response *response)
{
    struct vrt_buf head = { .limit_bytes = VRT_RESPONSE_HEAD_MAX_BYTES };
    struct vrt_response whole = *response;

    whole.common = conn->params.headers;
    whole.body = "";
    vrt_conn_watch(conn, watch);
    vrt_peer_files_done(&conn->files);
    conn->state = VRT_CONN_STREAMING;
    if (vrt_response_print(&whole, false, false, &head) < 0) {
        vrt_conn_doom(conn);
    } else {
        conn->start_bytes = head.size_bytes;
        vrt_conn_stream_write(conn, head.data, head.size_bytes);
        if (conn->head_only)
            vrt_conn_stream_end(conn);
    }
    vrt_buf_done(&head);
}

void vrt_conn_stream_start(struct vrt_conn *conn, struct vrt_conn_watch *watch, const void *start,
                           size_t size)
{
    const char *common = conn->params.headers ? conn->params.headers : "";
    char head[VRT_RESPONSE_HEAD_MAX_BYTES];
    const int n = snprintf(head, sizeof(head),
        "HTTP/1.1 200 OK\r\n"
        "Cache-Control: no-store\r\n"
        "%s"
        "Connection: close\r\n"
        "Content-Type: text/event-stream\r\n"
        "\r\n", common);

    vrt_conn_watch(conn, watch);
    vrt_peer_files_done(&conn->files);
    conn->state = VRT_CONN_STREAMING;
    vrt_assert(n < (int)sizeof(head));
    conn->start_bytes = (size_t)n + (conn->head_only ? 0 : size);
    vrt_conn_stream_write(conn, head, (size_t)n);
    if (conn->head_only)
        vrt_conn_stream_end(conn);
    else
        vrt_conn_stream_write(conn, start, size);
}

void vrt_conn_stream_write(struct vrt_conn *conn, const void *data, size_t size)
{
    size_t limit = conn->params.limits->stream_bytes + conn->start_bytes;

    if (conn->state != VRT_CONN_STREAMING)
        return;
    if (size <= limit && vrt_conn_waiting(conn) <= limit - size &&
        vrt_buf_append(&conn->out, data, size) == 0 && vrt_conn_charge(conn)) {
        vrt_conn_arm(conn);
        return;
    }
    vrt_log_info("a reader of events was cut off: it left %zu bytes unread",
                 vrt_conn_waiting(conn));
    vrt_conn_doom(conn);
}

void vrt_conn_stream_end(struct vrt_conn *conn)
{
    /* Also of one that is doomed: who ends it frees the watch. */
    vrt_conn_take_watch(conn);
    if (conn->state != VRT_CONN_STREAMING)
        return;
    conn->state = VRT_CONN_FLUSHING;
    vrt_conn_arm(conn);
}
