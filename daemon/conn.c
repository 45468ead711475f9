/* SPDX-License-Identifier: MIT */

/*
 * The loop has two entries, on_poll() and on_timer(). on_poll() runs work(), which reads, parses
 * and writes until it would have to wait. What routes and events do only changes the state, appends
 * to `out` and calls arm(), which tells the loop what is waited for now; writing is left to work().
 * So a client that vanishes is never noticed under a route's feet, and a route may answer from
 * within work() or hours later, by the same functions.
 *
 *     READING --request--> ANSWERING --reply--> READING, or FLUSHING where it was the last
 *     ANSWERING --stream--> STREAMING --end--> FLUSHING --all written--> DRAINING --> CLOSED
 *     STREAMING --a reader too slow--> DOOMED --timer--> CLOSED
 *     anything --vanished, or doesn't read--> CLOSED; a request out of time is refused first
 *
 * One timer is enough, because a connection waits for one thing at a time: see arm_timer().
 * The memory goes when both libuv handles are closed, a while after vrt_conn_close(): whoever is
 * on the stack may still look at the state, and finds CLOSED.
 */

#include "daemon/conn.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "api.h"
#include "base/log.h"
#include "base/thread.h"
#include "msg_job.h"

#define VRT_LOG_TOPIC "conn"

#define READ_BYTES 4096
#define READS_PER_TURN 4                    /* then it is the other connections' turn */
#define DRAIN_MAX_BYTES (4 * 1024 * 1024)   /* far more than a body may have, refused or not */
#define FINISH_MS 500                       /* how long one who doesn't read delays the end */

enum state {
    READING,        /* a request is arriving, or none is */
    ANSWERING,      /* its route will answer */
    STREAMING,
    FLUSHING,       /* the last answer is being written */
    DRAINING,       /* it is out; what still comes is thrown away, so that the client reads it */
    DOOMED,         /* to be closed by the timer, from the loop */
    CLOSED,
};

/* What the timer is for. */
enum wait { NOTHING, IDLE, REQUEST, STALL, DRAIN };

struct vrt_conn {
    struct vrt_conn_params params;
    uv_poll_t poll;
    uv_timer_t timer;
    int n_handles;                          /* not closed yet */
    int fd;
    int events;                             /* that poll was started for */
    enum state state;
    enum wait wait;
    struct vrt_http http;
    struct vrt_peer_files files;
    char in[READ_BYTES];                    /* in_used to in_size is not parsed yet */
    size_t in_used, in_size;
    struct vrt_buf out;
    size_t out_sent;
    size_t start_bytes;                     /* of `out`, what a stream began with */
    size_t drained_bytes;
    struct vrt_conn_watch *watch;
    bool working;                           /* in work(): not to be entered again */
    bool half_closed;                       /* the client will send no more */
    bool head_only;                         /* the request was HEAD */
    bool finishing;                         /* the timer closes it, whatever it waits for */
    bool progress;                          /* something was written since the timer started */
};

void vrt_conn_limits_init(struct vrt_conn_limits *limits)
{
    *limits = (struct vrt_conn_limits){
        .http = {
            .url_bytes = VRT_API_URL_MAX_BYTES,
            .header_bytes = VRT_API_HEADER_MAX_BYTES,
            .body_bytes = VRT_API_BODY_MAX_BYTES,
        },
        .response_bytes = VRT_API_RESPONSE_MAX_BYTES,
        .stream_bytes = VRT_API_EVENT_QUEUE_MAX_BYTES,
        .request_ms = VRT_API_REQUEST_MAX_S * 1000,
        .idle_ms = VRT_API_IDLE_MAX_S * 1000,
        .stall_ms = VRT_API_IDLE_MAX_S * 1000,
        .drain_ms = 2000,
    };
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct vrt_conn *conn = handle->data;

    if (--conn->n_handles > 0)
        return;
    struct vrt_conn_params params = conn->params;
    vrt_http_done(&conn->http);
    vrt_buf_done(&conn->out);
    free(conn);
    params.closed(params.ctx);
}

/* The watch is over. Return: it, or NULL. */
static struct vrt_conn_watch *take_watch(struct vrt_conn *conn)
{
    struct vrt_conn_watch *watch = VRT_STEAL(conn->watch);

    if (watch)
        watch->conn = NULL;
    return watch;
}

void vrt_conn_close(struct vrt_conn *conn)
{
    if (conn->state == CLOSED)
        return;
    conn->state = CLOSED;
    /* Before close(fd): the number may be another file's at once, and epoll must not know it. */
    uv_close((uv_handle_t *)&conn->poll, on_handle_closed);
    uv_close((uv_handle_t *)&conn->timer, on_handle_closed);
    vrt_peer_files_done(&conn->files);
    close(conn->fd);
    /* Last: it may free what the watch is part of. */
    struct vrt_conn_watch *watch = take_watch(conn);
    if (watch)
        watch->gone(watch);
}

static size_t out_waiting(const struct vrt_conn *conn)
{
    return conn->out.size_bytes - conn->out_sent;
}

static void consume_sent(struct vrt_conn *conn)
{
    vrt_buf_consume(&conn->out, conn->out_sent);
    conn->out_sent = 0;
}

/* Writes what waits, as far as the socket takes it. Return: whether nothing waits any more. */
static bool flush(struct vrt_conn *conn)
{
    while (out_waiting(conn) > 0) {
        ssize_t n = send(conn->fd, conn->out.data + conn->out_sent, out_waiting(conn),
                         MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN && errno != EINTR) {
            vrt_log_debug("client vanished before it had its answer: %s", strerror(errno));
            vrt_conn_close(conn);
        }
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break;
        conn->out_sent += (size_t)n;
        conn->progress = true;
    }
    if (out_waiting(conn) > 0) {
        /* A stream may never be read to its end: what was sent goes, now and then. What stays is
         * moved, but it is less than what went: a byte's share of that is bounded. */
        if (conn->out_sent > out_waiting(conn))
            consume_sent(conn);
        return false;
    }
    conn->out_sent = conn->start_bytes = 0;
    vrt_buf_done(&conn->out);
    return true;
}

static void dispatch(struct vrt_conn *conn)
{
    const char *method = vrt_http_method(&conn->http);
    struct vrt_request request = {
        .method = method,
        .body = conn->http.body.data ? conn->http.body.data : "",
        .body_bytes = conn->http.body.size_bytes,
        .is_json = vrt_http_is_json(&conn->http),
        .peer = conn->params.peer,
        .files = &conn->files,
    };

    conn->state = ANSWERING;
    conn->head_only = strcmp(method, "HEAD") == 0;
    if (conn->head_only)
        request.method = "GET";
    vrt_http_target(&conn->http, &request.path, &request.query);
    vrt_log_debug("%s %s from uid %d", method, request.path, (int)request.peer->uid);
    conn->params.request(conn->params.ctx, conn, &request);
    /* A route that did neither would leave its client without an answer for ever. */
    vrt_assert(conn->state != ANSWERING || conn->watch);
}

static void parse(struct vrt_conn *conn)
{
    static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
    size_t used = 0;

    enum vrt_http_outcome outcome = vrt_http_feed(&conn->http, conn->in + conn->in_used,
                                                  conn->in_size - conn->in_used, &used);
    conn->in_used += used;
    if (outcome == VRT_HTTP_REQUEST)
        dispatch(conn);
    else if (outcome == VRT_HTTP_REFUSED)
        vrt_conn_refuse(conn, &conn->http.error);
    else if (conn->http.wants_continue) {
        conn->http.wants_continue = false;
        if (vrt_buf_append(&conn->out, go_on, sizeof(go_on) - 1) < 0)
            vrt_conn_close(conn);
    }
}

/* Refuses what was just read because of the open files that came with it, or should have not. */
static void refuse_files(struct vrt_conn *conn, const char *why)
{
    struct vrt_error error = { .id = NULL };

    vrt_refuse(&error, -EINVAL, VRT_E(REQUEST_DESCRIPTORS), "%s", why);
    vrt_conn_refuse(conn, &error);
}

/* Reads a piece of a request. Return: whether there was anything. */
static bool receive_request(struct vrt_conn *conn)
{
    int n_before = conn->files.n;
    ssize_t n = vrt_peer_read(conn->fd, conn->in, sizeof(conn->in), &conn->files);

    if (n == -EAGAIN || n == -EINTR)
        return false;
    if (n == -E2BIG) {
        refuse_files(conn, "not all open files that came along could be taken: 4 at most");
        return true;
    }
    if (n <= 0) {
        vrt_conn_close(conn);
        return false;
    }
    conn->in_used = 0;
    conn->in_size = (size_t)n;
    /* The kernel ends a read behind the bytes that descriptors came with: no request follows. */
    if (conn->files.n > n_before &&
        (conn->http.begun || n != 2 || memcmp(conn->in, "\r\n", 2) != 0))
        refuse_files(conn, "open files must be sent with CR LF alone, before the request");
    return true;
}

/* Whether the client is gone altogether: it may also just have said that it sends no more. */
static bool has_hung_up(const struct vrt_conn *conn)
{
    struct pollfd state = { .fd = conn->fd };

    return poll(&state, 1, 0) > 0 && (state.revents & (POLLHUP | POLLERR));
}

/* A client that only said that it sends no more still gets its answer; from now on nothing but
 * writing tells that it is gone: this half of its end would wake the loop again and again. */
static void notice_end(struct vrt_conn *conn)
{
    conn->half_closed = true;
    if (has_hung_up(conn))
        vrt_conn_close(conn);
}

/* Reads what nobody wants: it ends a stream. Return: whether there was anything. */
static bool receive_rest(struct vrt_conn *conn)
{
    struct vrt_peer_files files = { .n = 0 };

    /* It came in one piece with the subscription. */
    if (conn->state == STREAMING && conn->in_used < conn->in_size) {
        vrt_conn_close(conn);
        return false;
    }
    ssize_t n = vrt_peer_read(conn->fd, conn->in, sizeof(conn->in), &files);

    vrt_peer_files_done(&files);
    if (n == -EAGAIN || n == -EINTR)
        return false;
    if (n == 0 && conn->state == STREAMING) {
        notice_end(conn);
        return false;
    }
    conn->drained_bytes += n > 0 ? (size_t)n : 0;
    if (n > 0 && conn->state == DRAINING && conn->drained_bytes <= DRAIN_MAX_BYTES)
        return true;
    vrt_conn_close(conn);
    return false;
}

static void on_poll(uv_poll_t *poll, int status, int events);

/* While something waits to be written nothing is read: that is what bounds a connection's memory,
 * and what slows a client down that asks without listening. */
static void arm_poll(struct vrt_conn *conn)
{
    bool blocked = out_waiting(conn) > 0;
    int events = blocked ? UV_WRITABLE : 0;

    if ((conn->state == READING || conn->state == DRAINING) && !blocked)
        events |= UV_READABLE;
    if (conn->state == ANSWERING && !conn->half_closed)
        events |= UV_DISCONNECT;
    if (conn->state == STREAMING && !conn->half_closed)
        events |= UV_READABLE | UV_DISCONNECT;
    if (events == conn->events)
        return;
    conn->events = events;
    if (events)
        uv_poll_start(&conn->poll, events, on_poll);
    else
        uv_poll_stop(&conn->poll);
}

/* The time for what the connection waits for is up. */
static void on_timer(uv_timer_t *timer)
{
    struct vrt_conn *conn = timer->data;
    struct vrt_error error = { .id = NULL };

    if (conn->wait != REQUEST) {
        vrt_conn_close(conn);
        return;
    }
    vrt_refuse(&error, -ETIMEDOUT, VRT_E(HTTP_TIMEOUT), "the request took over %d ms to arrive",
               conn->params.limits->request_ms);
    vrt_conn_refuse(conn, &error);
}

/* A deadline runs from when the wait began, and goes on over whatever arrives meanwhile: a request
 * must be complete in time, however busily it trickles. Only STALL begins anew with each byte that
 * the client takes: a large answer may be read slowly, but not held. */
static void arm_timer(struct vrt_conn *conn)
{
    const struct vrt_conn_limits *limits = conn->params.limits;
    const int limits_ms[] = {
        [IDLE] = limits->idle_ms,
        [REQUEST] = limits->request_ms,
        [STALL] = limits->stall_ms,
        [DRAIN] = limits->drain_ms,
    };
    enum wait wait = NOTHING;

    if (out_waiting(conn) > 0)
        wait = STALL;
    else if (conn->state == DRAINING)
        wait = DRAIN;
    else if (conn->state == READING)
        wait = conn->http.begun || conn->files.n > 0 ? REQUEST : IDLE;
    if (wait == conn->wait && !(wait == STALL && conn->progress))
        return;
    conn->wait = wait;
    conn->progress = false;
    if (wait == NOTHING)
        uv_timer_stop(&conn->timer);
    else
        uv_timer_start(&conn->timer, on_timer, (uint64_t)limits_ms[wait], 0);
}

/* Tells the loop what the connection waits for now. */
static void arm(struct vrt_conn *conn)
{
    if (conn->working || conn->state == DOOMED || conn->state == CLOSED)
        return;
    arm_poll(conn);
    if (!conn->finishing)
        arm_timer(conn);
}

/* The last answer is out: says so to the client, and reads on until it has heard. Closed at once,
 * a client in the middle of sending would fail there and never read why it was refused. */
static void begin_draining(struct vrt_conn *conn)
{
    if (conn->half_closed || conn->finishing || shutdown(conn->fd, SHUT_WR) < 0) {
        vrt_conn_close(conn);
        return;
    }
    conn->state = DRAINING;
}

/* Goes on as far as it can without waiting. Only the loop calls it, no route and no answer. */
static void work(struct vrt_conn *conn)
{
    int n_reads = 0;

    conn->working = true;
    while (conn->state < DOOMED && flush(conn)) {
        if (conn->state == FLUSHING)
            begin_draining(conn);
        else if (conn->state == READING && conn->in_used < conn->in_size)
            parse(conn);
        else if (conn->state == ANSWERING || n_reads++ == READS_PER_TURN)
            break;
        else if (conn->state == READING ? !receive_request(conn) : !receive_rest(conn))
            break;
    }
    conn->working = false;
    arm(conn);
}

void vrt_conn_finish(struct vrt_conn *conn)
{
    if (conn->state >= DOOMED || out_waiting(conn) == 0) {
        vrt_conn_close(conn);
        return;
    }
    conn->finishing = true;
    conn->state = FLUSHING;
    conn->wait = STALL;
    uv_timer_start(&conn->timer, on_timer, FINISH_MS, 0);
    arm(conn);
    struct vrt_conn_watch *watch = take_watch(conn);
    if (watch)
        watch->gone(watch);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct vrt_conn *conn = poll->data;

    if (status < 0) {
        vrt_conn_close(conn);
        return;
    }
    if (events & UV_DISCONNECT)
        notice_end(conn);
    if (conn->state != CLOSED)
        work(conn);
}

int vrt_conn_new(int fd, const struct vrt_conn_params *params, struct vrt_conn **ret_conn)
{
    VRT_CLEANUP(vrt_closep) int socket_fd = fd;
    VRT_CLEANUP(vrt_freep) struct vrt_conn *conn = calloc(1, sizeof(*conn));

    if (!conn)
        return vrt_raise(-ENOMEM);
    conn->params = *params;
    int r = uv_poll_init(params->loop, &conn->poll, fd);
    if (r < 0)
        return vrt_raise(r);
    uv_timer_init(params->loop, &conn->timer);
    conn->poll.data = conn->timer.data = conn;
    conn->n_handles = 2;
    conn->fd = VRT_STEAL_FD(socket_fd);
    conn->out.limit_bytes = params->limits->response_bytes + VRT_RESPONSE_HEAD_MAX_BYTES;
    vrt_http_init(&conn->http, &params->limits->http);
    arm(conn);
    *ret_conn = VRT_STEAL(conn);
    return 0;
}

/* Answers what is arriving or was dispatched; afterwards comes the next request, or the end. */
static void answer(struct vrt_conn *conn, const struct vrt_response *response, bool keep_alive)
{
    if (conn->state == CLOSED)
        return;
    take_watch(conn);
    vrt_peer_files_done(&conn->files);
    int r = vrt_response_print(response, keep_alive, !conn->head_only, &conn->out);
    if (r < 0) {
        vrt_log_warning("an answer of %zu bytes could not be sent: %s", response->body_bytes,
                        strerror(-r));
        vrt_conn_close(conn);
        return;
    }
    conn->head_only = false;
    /* The next request has a time of its own, even where it waits for the same thing. */
    conn->wait = NOTHING;
    conn->state = keep_alive ? READING : FLUSHING;
    if (keep_alive)
        vrt_http_next(&conn->http);
    arm(conn);
}

void vrt_conn_reply(struct vrt_conn *conn, const struct vrt_response *response)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    vrt_assert(conn->state == ANSWERING);
    answer(conn, response, conn->http.keep_alive);
}

void vrt_conn_refuse(struct vrt_conn *conn, const struct vrt_error *error)
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
            .body = body.data,
            .body_bytes = body.size_bytes,
        }, conn->state == ANSWERING && conn->http.keep_alive);
    vrt_buf_done(&body);
}

void vrt_conn_watch(struct vrt_conn *conn, struct vrt_conn_watch *watch)
{
    vrt_assert(conn->state == ANSWERING && !conn->watch);
    conn->watch = watch;
    watch->conn = conn;
}

void vrt_conn_stream_start(struct vrt_conn *conn, struct vrt_conn_watch *watch, const void *start,
                           size_t size)
{
    static const char head[] =
        "HTTP/1.1 200 OK\r\n"
        "Cache-Control: no-store\r\n"
        "Connection: close\r\n"
        "Content-Type: text/event-stream\r\n"
        "\r\n";

    vrt_conn_watch(conn, watch);
    vrt_peer_files_done(&conn->files);
    conn->state = STREAMING;
    conn->start_bytes = sizeof(head) - 1 + (conn->head_only ? 0 : size);
    vrt_conn_stream_write(conn, head, sizeof(head) - 1);
    if (conn->head_only)
        vrt_conn_stream_end(conn);
    else
        vrt_conn_stream_write(conn, start, size);
}

void vrt_conn_stream_write(struct vrt_conn *conn, const void *data, size_t size)
{
    size_t limit = conn->params.limits->stream_bytes + conn->start_bytes;

    if (conn->state != STREAMING)
        return;
    if (size <= limit && out_waiting(conn) <= limit - size &&
        vrt_buf_append(&conn->out, data, size) == 0) {
        arm(conn);
        return;
    }
    vrt_log_info("a reader of events was cut off: it left %zu bytes unread", out_waiting(conn));
    /* Not closed here: `gone` would free the reader under whoever is writing to it just now. */
    conn->state = DOOMED;
    uv_poll_stop(&conn->poll);
    conn->wait = STALL;
    uv_timer_start(&conn->timer, on_timer, 0, 0);
}

void vrt_conn_stream_end(struct vrt_conn *conn)
{
    if (conn->state != STREAMING)
        return;
    take_watch(conn);
    conn->state = FLUSHING;
    arm(conn);
}
