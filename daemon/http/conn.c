/* SPDX-License-Identifier: MIT */

/* The connection's life on the loop: reading, writing, time. Its answers: conn-answer.c. */

#include "daemon/http/conn-impl.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "daemon/access/descriptors.h"

#define VRT_LOG_TOPIC "conn"

#define READS_PER_TURN 4                    /* then it is the other connections' turn; */
#define REQUESTS_PER_TURN 1                 /* so it is after so many requests */
#define DRAIN_MAX_BYTES (4 * 1024 * 1024)   /* far more than a body may have, refused or not */
#define FINISH_MS 500                       /* how long one who doesn't read delays the end */

void vrt_conn_limits_init(struct vrt_conn_limits *limits)
{
    *limits = (struct vrt_conn_limits){
        .http = {
            .url_bytes = VRT_API_URL_MAX_BYTES,
            .header_bytes = VRT_API_HEADER_MAX_BYTES,
            .body_bytes = VRT_API_BODY_MAX_BYTES,
            .streamed_path = VRT_API_UPLOAD_PATH,
        },
        .response_bytes = VRT_API_RESPONSE_MAX_BYTES,
        .stream_bytes = VRT_API_EVENT_QUEUE_MAX_BYTES,
        .request_ms = VRT_API_REQUEST_MAX_S * 1000,
        .idle_ms = VRT_API_IDLE_MAX_S * 1000,
        .stall_ms = VRT_API_IDLE_MAX_S * 1000,
        .drain_ms = 2000,
        .piece_ms = VRT_API_UPLOAD_PERIOD_S * 1000,
        .piece_bytes = VRT_API_UPLOAD_PERIOD_BYTES,
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

struct vrt_conn_watch *vrt_conn_take_watch(struct vrt_conn *conn)
{
    struct vrt_conn_watch *watch = VRT_STEAL(conn->watch);

    if (watch)
        watch->conn = NULL;
    return watch;
}

bool vrt_conn_charge(struct vrt_conn *conn)
{
    int64_t waiting = (int64_t)vrt_conn_waiting(conn);
    int64_t more = waiting - conn->charged_bytes;

    if (more != 0 && !conn->params.charge(conn->params.ctx, more))
        return false;
    conn->charged_bytes = waiting;
    return true;
}

void vrt_conn_close(struct vrt_conn *conn)
{
    if (conn->state == VRT_CONN_CLOSED)
        return;
    conn->state = VRT_CONN_CLOSED;
    /* Before close(fd): the number may be another file's at once, and epoll must not know it. */
    uv_close((uv_handle_t *)&conn->poll, on_handle_closed);
    uv_close((uv_handle_t *)&conn->timer, on_handle_closed);
    vrt_peer_files_done(&conn->files);
    close(conn->fd);
    vrt_buf_consume(&conn->out, conn->out.size_bytes);
    conn->out_sent = 0;
    vrt_conn_charge(conn);
    /* Last: it may free what the watch is part of. */
    struct vrt_conn_watch *watch = vrt_conn_take_watch(conn);
    if (watch)
        watch->gone(watch);
}

/* Writes what waits, as far as the socket takes it. Return: whether nothing waits any more. */
static bool flush(struct vrt_conn *conn)
{
    while (vrt_conn_waiting(conn) > 0) {
        ssize_t n = send(conn->fd, conn->out.data + conn->out_sent, vrt_conn_waiting(conn),
                         MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN && errno != EINTR) {
            vrt_log_debug("client vanished before it had its answer: %s", strerror(errno));
            vrt_conn_close(conn);
            return false;
        }
        if (n < 0)
            break;
        conn->out_sent += (size_t)n;
        conn->progress = true;
    }
    if (vrt_conn_waiting(conn) > 0) {
        /* A stream may never be read to its end: what was sent goes, now and then. What stays is
         * moved, but it is less than what went: a byte's share of that is bounded. */
        if (conn->out_sent > vrt_conn_waiting(conn)) {
            vrt_buf_consume(&conn->out, conn->out_sent);
            conn->out_sent = 0;
        }
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
        .headers = &conn->http.headers,
        .is_streamed = conn->http.is_streamed,
    };

    conn->state = VRT_CONN_ANSWERING;
    conn->head_only = strcmp(method, "HEAD") == 0;
    if (conn->head_only)
        request.method = "GET";
    vrt_http_target(&conn->http, &request.path, &request.query);
    vrt_log_debug("%s %s from uid %u", method, request.path, (unsigned)request.peer->uid);
    /* Nothing waits, and so nothing is charged while it may become another user's. */
    vrt_conn_charge(conn);
    conn->params.request(conn->params.ctx, conn, &request);
    /* A route that did neither would leave its client without an answer for ever. */
    vrt_assert(conn->state != VRT_CONN_ANSWERING || conn->watch);
}

/* Refuses what is arriving; who waited for more of it is told. */
static void refuse_arriving(struct vrt_conn *conn, const struct vrt_error *error)
{
    struct vrt_conn_watch *watch = vrt_conn_take_watch(conn);

    vrt_conn_refuse(conn, error);
    if (watch)
        watch->gone(watch);
}

/* Hands what came of a body on, and tells when that was all. */
static void hand_on(struct vrt_conn *conn, bool is_all)
{
    struct vrt_buf *body = &conn->http.body;

    conn->piece_bytes += body->size_bytes;
    if (body->size_bytes > 0)
        conn->is_full = !conn->watch->piece(conn->watch, body->data, body->size_bytes);
    vrt_buf_consume(body, body->size_bytes);
    if (!is_all || conn->state != VRT_CONN_RECEIVING)
        return;
    conn->state = VRT_CONN_ANSWERING;
    conn->watch->piece(conn->watch, NULL, 0);
}

/* Return: whether that was a whole request. */
static bool parse(struct vrt_conn *conn)
{
    size_t used = 0;

    enum vrt_http_outcome outcome = vrt_http_feed(&conn->http, conn->in + conn->in_used,
                                                  conn->in_size - conn->in_used, &used);
    conn->in_used += used;
    if (outcome == VRT_HTTP_REFUSED)
        refuse_arriving(conn, &conn->http.error);
    else if (conn->state == VRT_CONN_RECEIVING)
        hand_on(conn, outcome == VRT_HTTP_REQUEST);
    else if (outcome != VRT_HTTP_MORE)
        dispatch(conn);
    /* That a body is empty the parser says when it goes on. */
    if (outcome == VRT_HTTP_HEAD && conn->state == VRT_CONN_RECEIVING &&
        conn->in_used == conn->in_size &&
        vrt_http_feed(&conn->http, conn->in, 0, &used) == VRT_HTTP_REQUEST)
        hand_on(conn, true);
    else if (outcome == VRT_HTTP_MORE)
        vrt_conn_let_send(conn);
    return outcome == VRT_HTTP_REQUEST || outcome == VRT_HTTP_HEAD;
}

/* Refuses what was just read because of the open files that came with it, or should have not. */
static void refuse_files(struct vrt_conn *conn, const char *why)
{
    struct vrt_error error = { .id = NULL };

    vrt_refuse(&error, -EINVAL, VRT_E(REQUEST_DESCRIPTORS), "%s", why);
    refuse_arriving(conn, &error);
}

/* Reads a piece of a request. Return: whether there was anything. */
static bool receive_request(struct vrt_conn *conn)
{
    int n_before = conn->files.n;
    ssize_t n = vrt_peer_read(conn->fd, conn->in, sizeof(conn->in), &conn->files);

    if (n == -EAGAIN || n == -EINTR)
        return false;
    if (n == -EMFILE) {
        struct vrt_error error = { .id = NULL };
        vrt_descriptors_refuse(&error);
        refuse_arriving(conn, &error);
        return true;
    }
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
    if (conn->state == VRT_CONN_STREAMING && conn->in_used < conn->in_size) {
        vrt_conn_close(conn);
        return false;
    }
    ssize_t n = vrt_peer_read(conn->fd, conn->in, sizeof(conn->in), &files);

    vrt_peer_files_done(&files);
    if (n == -EAGAIN || n == -EINTR)
        return false;
    if (n == 0 && conn->state == VRT_CONN_STREAMING) {
        notice_end(conn);
        return false;
    }
    conn->drained_bytes += n > 0 ? (size_t)n : 0;
    if (n > 0 && conn->state == VRT_CONN_DRAINING && conn->drained_bytes <= DRAIN_MAX_BYTES)
        return true;
    vrt_conn_close(conn);
    return false;
}

static void on_poll(uv_poll_t *poll, int status, int events);

/* Whether there is more of a request that was read already. */
static bool is_postponed(const struct vrt_conn *conn)
{
    return (conn->state == VRT_CONN_READING ||
            (conn->state == VRT_CONN_RECEIVING && !conn->is_full)) &&
           conn->in_used < conn->in_size;
}

/* Whether a stream has more to say than was to be written at a time. */
static bool wants_more(const struct vrt_conn *conn)
{
    return conn->state == VRT_CONN_STREAMING && conn->watch && conn->watch->more;
}

/* Return: true. */
static bool say_more(struct vrt_conn *conn)
{
    conn->watch->more(conn->watch);
    return true;
}

/* While something waits to be written nothing is read: that is what bounds a connection's memory,
 * and what slows a client down that asks without listening. */
static void arm_poll(struct vrt_conn *conn)
{
    bool blocked = vrt_conn_waiting(conn) > 0;
    /* Of what was read already the kernel tells nothing more: that it could write, it does, as
     * soon as the others had their turn. */
    int events = blocked || is_postponed(conn) || wants_more(conn) ? UV_WRITABLE : 0;

    const bool is_full = conn->state == VRT_CONN_RECEIVING && conn->is_full;
    if ((conn->state == VRT_CONN_READING || conn->state == VRT_CONN_DRAINING ||
         (conn->state == VRT_CONN_RECEIVING && !is_full)) && !blocked)
        events |= UV_READABLE;
    if ((conn->state == VRT_CONN_ANSWERING || is_full) && !conn->half_closed)
        events |= UV_DISCONNECT;
    if (conn->state == VRT_CONN_STREAMING && !conn->half_closed)
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

    const struct vrt_conn_limits *limits = conn->params.limits;
    if (conn->wait == VRT_WAIT_PIECE && conn->piece_bytes >= limits->piece_bytes) {
        conn->wait = VRT_WAIT_NOTHING;
        vrt_conn_arm(conn);
        return;
    }
    if (conn->wait != VRT_WAIT_REQUEST && conn->wait != VRT_WAIT_PIECE) {
        vrt_conn_close(conn);
        return;
    }
    if (conn->wait == VRT_WAIT_PIECE)
        vrt_refuse(&error, -ETIMEDOUT, VRT_E(HTTP_TIMEOUT), "less than %zu bytes of the body came "
                   "within %d ms", limits->piece_bytes, limits->piece_ms);
    else
        vrt_refuse(&error, -ETIMEDOUT, VRT_E(HTTP_TIMEOUT), "the request took over %d ms to arrive",
                   limits->request_ms);
    refuse_arriving(conn, &error);
}

/* A deadline runs from when the wait began, and goes on over whatever arrives meanwhile: a request
 * must be complete in time, however busily it trickles. Only the wait for a reader begins anew with
 * each byte that he takes: a large answer may be read slowly, but not held. */
static void arm_timer(struct vrt_conn *conn)
{
    const struct vrt_conn_limits *limits = conn->params.limits;
    const int limits_ms[] = {
        [VRT_WAIT_IDLE] = limits->idle_ms,
        [VRT_WAIT_REQUEST] = limits->request_ms,
        [VRT_WAIT_PIECE] = limits->piece_ms,
        [VRT_WAIT_STALL] = limits->stall_ms,
        [VRT_WAIT_DRAIN] = limits->drain_ms,
    };
    enum vrt_conn_wait wait = VRT_WAIT_NOTHING;

    if (vrt_conn_waiting(conn) > 0)
        wait = VRT_WAIT_STALL;
    else if (conn->state == VRT_CONN_DRAINING)
        wait = VRT_WAIT_DRAIN;
    else if (conn->state == VRT_CONN_RECEIVING && !conn->is_full)
        wait = VRT_WAIT_PIECE;
    else if (conn->state == VRT_CONN_READING)
        wait = conn->http.begun || conn->files.n > 0 ? VRT_WAIT_REQUEST : VRT_WAIT_IDLE;
    if (wait == conn->wait && !(wait == VRT_WAIT_STALL && conn->progress))
        return;
    conn->wait = wait;
    conn->progress = false;
    conn->piece_bytes = 0;
    if (wait == VRT_WAIT_NOTHING)
        uv_timer_stop(&conn->timer);
    else
        uv_timer_start(&conn->timer, on_timer, (uint64_t)limits_ms[wait], 0);
}

void vrt_conn_arm(struct vrt_conn *conn)
{
    if (conn->working || conn->state == VRT_CONN_DOOMED || conn->state == VRT_CONN_CLOSED)
        return;
    arm_poll(conn);
    if (!conn->finishing)
        arm_timer(conn);
}

/* The last answer is out: says so to the client, and reads on until it has heard. Closed at once,
 * a client in the middle of sending would fail there and never read why it was refused. */
static void begin_draining(struct vrt_conn *conn)
{
    shutdown(conn->fd, SHUT_WR);
    conn->state = VRT_CONN_DRAINING;
}

/* Goes on as far as it can without waiting. Only the loop calls it, no route and no answer. */
static void work(struct vrt_conn *conn)
{
    const struct vrt_conn_params *params = &conn->params;
    int64_t start_ns = vrt_clock_now_ns();
    int n_reads = 0, n_requests = 0;

    conn->working = true;
    while (conn->state < VRT_CONN_DOOMED && flush(conn)) {
        /* Of one that is closed the descriptor may be another file's. */
        vrt_assert(conn->state < VRT_CONN_DOOMED);
        bool has_work = is_postponed(conn) || wants_more(conn);
        if (has_work && (n_requests == REQUESTS_PER_TURN || !params->may_go_on(params->ctx)))
            break;
        if (conn->state == VRT_CONN_FLUSHING)
            begin_draining(conn);
        else if (is_postponed(conn))
            n_requests += parse(conn);
        else if (wants_more(conn))
            n_requests += say_more(conn);
        else if (conn->state == VRT_CONN_ANSWERING || n_reads++ == READS_PER_TURN ||
                 (conn->state == VRT_CONN_RECEIVING && conn->is_full))
            break;
        else if (conn->state <= VRT_CONN_RECEIVING ? !receive_request(conn) : !receive_rest(conn))
            break;
    }
    conn->working = false;
    if (conn->state < VRT_CONN_DOOMED && !vrt_conn_charge(conn)) {
        vrt_log_info("uid %u leaves too much unread: a connection of his is closed",
                     (unsigned)params->peer->uid);
        vrt_conn_close(conn);
    }
    params->spent(params->ctx, vrt_clock_now_ns() - start_ns);
    vrt_conn_arm(conn);
}

void vrt_conn_doom(struct vrt_conn *conn)
{
    conn->state = VRT_CONN_DOOMED;
    uv_poll_stop(&conn->poll);
    conn->wait = VRT_WAIT_STALL;
    uv_timer_start(&conn->timer, on_timer, 0, 0);
}

void vrt_conn_finish(struct vrt_conn *conn)
{
    if (conn->state >= VRT_CONN_DOOMED || vrt_conn_waiting(conn) == 0) {
        vrt_conn_close(conn);
        return;
    }
    conn->finishing = true;
    conn->state = VRT_CONN_FLUSHING;
    conn->wait = VRT_WAIT_STALL;
    uv_timer_start(&conn->timer, on_timer, FINISH_MS, 0);
    struct vrt_conn_watch *watch = vrt_conn_take_watch(conn);
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
    if (conn->state != VRT_CONN_CLOSED)
        work(conn);
}

void *vrt_conn_ctx(const struct vrt_conn *conn)
{
    return conn->params.ctx;
}

int vrt_conn_new(int fd, const struct vrt_conn_params *params, struct vrt_conn **ret_conn)
{
    VRT_CLEANUP(vrt_closep) int socket_fd = fd;
    VRT_CLEANUP(vrt_freep) struct vrt_conn *conn = calloc(1, sizeof(*conn));

    vrt_assert_thread(VRT_THREAD_LOOP);
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
    vrt_conn_arm(conn);
    *ret_conn = VRT_STEAL(conn);
    return 0;
}
