/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * One connection: requests in, answers out, one at a time
 *
 * A route answers within its callback, or later: then it puts a watch on the connection, which
 * tells when the client vanished meanwhile; or it turns the answer into a stream. While an answer
 * is due or waits to be taken, nothing more is read, so that a client can make us hold no more
 * than one answer and what it is allowed of a stream.
 *
 * Open files come with exactly the two bytes CR LF, sent in one message before the request (an
 * empty line that HTTP has servers ignore), also on a connection that had requests before. They
 * are the request's that follows; what its route didn't take is closed once it is answered.
 *
 * The socket is under uv_poll_t and read by recvmsg(), because a uv_pipe_t loses open files.
 *
 * Thread: the loop's.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "daemon/http/http.h"
#include "daemon/access/peer.h"
#include "daemon/http/response.h"

struct uv_loop_s;
struct vrt_conn;

struct vrt_conn_limits {
    struct vrt_http_limits http;
    size_t response_bytes;          /* of one answer */
    size_t stream_bytes;            /* of a stream, that wait for the reader */
    int request_ms;                 /* from a request's first byte to its last */
    int idle_ms;                    /* between requests */
    int stall_ms;                   /* while an answer or a stream is not read at all */
    int drain_ms;                   /* after the last answer, for what still comes */
    int piece_ms;                   /* for each piece_bytes of a body that comes in pieces */
    size_t piece_bytes;
};

/* What a route is told; valid until the route returns. */
struct vrt_request {
    const char *method;             /* "GET"; HEAD is GET here */
    const char *path;               /* without query */
    const char *query;              /* behind the '?', "" if there is none */
    const char *body;               /* never NULL */
    size_t body_bytes;
    bool is_json;                   /* its Content-Type says so, or nothing */
    const struct vrt_peer *peer;    /* who sent it */
    struct vrt_peer_files *files;   /* VRT_STEAL_FD() what is kept */
    const struct vrt_http_headers *headers;
    bool is_streamed;               /* its body is still to come: vrt_conn_receive(), or an answer
                                     * that is the connection's last */
};

/* Embedded in what will answer later, or streams. */
struct vrt_conn_watch {
    struct vrt_conn *conn;          /* NULL: answered, or gone */
    /* The client vanished before that. Called by the loop, or from within vrt_conn_close(). */
    void (*gone)(struct vrt_conn_watch *watch);
    /* Of a stream, may be NULL: all that it said is written, and it may say more, a piece at a
     * time. It sets itself to NULL when it has nothing more. */
    void (*more)(struct vrt_conn_watch *watch);
    /* Of vrt_conn_receive(): the next piece of the body, or none (size 0): it was all, and the
     * request must be answered. Return: whether more may come now, else vrt_conn_receive_on() says
     * when. It may refuse the request, from within or later. */
    bool (*piece)(struct vrt_conn_watch *watch, const char *data, size_t size);
};

struct vrt_conn_params {
    struct uv_loop_s *loop;
    /* Both live longer than the connection. */
    const struct vrt_peer *peer;
    const struct vrt_conn_limits *limits;
    const char *headers;            /* lines of each answer, each with its CR LF; NULL: none */
    /* A request is complete: it must be answered, watched or made a stream before it returns. */
    void (*request)(void *ctx, struct vrt_conn *conn, const struct vrt_request *request);
    /* Whether its user may have more of the loop's time in this turn; what he was given of it. */
    bool (*may_go_on)(void *ctx);
    void (*spent)(void *ctx, int64_t spent_ns);
    /* So many more bytes wait for him (negative: less). Return: whether they may. */
    bool (*charge)(void *ctx, int64_t n_bytes);
    /* Nothing of the connection is left; called once, not from within vrt_conn_new(). */
    void (*closed)(void *ctx);
    void *ctx;
};

/* The limits of proto/api.h. */
void vrt_conn_limits_init(struct vrt_conn_limits *limits);

/* Serves the socket `fd`, which it takes over, also on failure. Return: 0, -errno. */
int vrt_conn_new(int fd, const struct vrt_conn_params *params, struct vrt_conn **ret_conn);

/* Ends it at once, whatever goes on; `closed` will be called. */
void vrt_conn_close(struct vrt_conn *conn);

/* Ends it as soon as what is being written was taken, within a moment; nothing more is read. */
void vrt_conn_finish(struct vrt_conn *conn);

/* Answers the request. */
void vrt_conn_reply(struct vrt_conn *conn, const struct vrt_response *response);

/* Answers with an error's status and body. */
void vrt_conn_refuse(struct vrt_conn *conn, const struct vrt_error *error);

/* Likewise, with another line in its header, "Retry-After: 2"; NULL: none. */
void vrt_conn_refuse_with(struct vrt_conn *conn, const struct vrt_error *error,
                          const char *header);

/* Its params' ctx. */
void *vrt_conn_ctx(const struct vrt_conn *conn);

/* The request will be answered later; `watch` must live until then or until `gone`. */
void vrt_conn_watch(struct vrt_conn *conn, struct vrt_conn_watch *watch);

/* Has the body of a streamed request come, in pieces. The same goes for `watch`. */
void vrt_conn_receive(struct vrt_conn *conn, struct vrt_conn_watch *watch);

/* After `piece` said no: more may come. */
void vrt_conn_receive_on(struct vrt_conn *conn);

/*
 * Answers with `response`, whose body of body_bytes follows by vrt_conn_stream_write(), in as many
 * pieces as watch->more is called for, and then vrt_conn_stream_end(). Of HEAD none follows: then
 * the watch is over.
 */
void vrt_conn_body_start(struct vrt_conn *conn, struct vrt_conn_watch *watch,
                         const struct vrt_response *response);

/*
 * Answers with a stream of events, until it is ended, or `gone`. It begins with `size` bytes at
 * `start`, which the limit of what may wait doesn't count.
 */
void vrt_conn_stream_start(struct vrt_conn *conn, struct vrt_conn_watch *watch, const void *start,
                           size_t size);

/* Appends to the stream. A reader too slow for it is cut off: `gone` will be called. */
void vrt_conn_stream_write(struct vrt_conn *conn, const void *data, size_t size);

/* Ends the stream once all of it is taken; the watch is over. */
void vrt_conn_stream_end(struct vrt_conn *conn);
