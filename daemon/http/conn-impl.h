/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A connection from within: for conn.c and conn-answer.c alone
 *
 * The loop has two entries, on_poll() and on_timer(). on_poll() runs work(), which reads, parses
 * and writes until it would have to wait. What routes and events do only changes the state, appends
 * to `out` and calls vrt_conn_arm(), which tells the loop what is waited for now; writing is left
 * to work().
 * So a client that vanishes is never noticed under a route's feet, and a route may answer from
 * within work() or hours later, by the same functions.
 *
 *     READING --request--> ANSWERING --reply--> READING, or FLUSHING where it was the last
 *     READING --a head--> ANSWERING --receive--> RECEIVING --all of it--> ANSWERING
 *     ANSWERING --stream--> STREAMING --end--> FLUSHING --all written--> DRAINING --> CLOSED
 *     STREAMING --a reader too slow--> DOOMED --timer--> CLOSED
 *     anything --vanished, or doesn't read--> CLOSED; a request out of time is refused first
 *
 * One timer is enough, because a connection waits for one thing at a time: see arm_timer().
 * The memory goes when both libuv handles are closed, a while after vrt_conn_close(): whoever is
 * on the stack may still look at the state, and finds CLOSED.
 *
 * Thread: the loop's.
 */

#include <uv.h>

#include "daemon/http/conn.h"

#define VRT_CONN_READ_BYTES 4096

enum vrt_conn_state {
    VRT_CONN_READING,           /* a request is arriving, or none is */
    VRT_CONN_ANSWERING,         /* its route will answer */
    VRT_CONN_RECEIVING,         /* a body arrives in pieces */
    VRT_CONN_STREAMING,
    VRT_CONN_FLUSHING,          /* the last answer is being written */
    VRT_CONN_DRAINING,          /* it is out; what still comes is thrown away, so that the client
                                   reads it */
    VRT_CONN_DOOMED,            /* to be closed by the timer, from the loop */
    VRT_CONN_CLOSED,
};

/* What the timer is for. */
enum vrt_conn_wait {
    VRT_WAIT_NOTHING,
    VRT_WAIT_IDLE,
    VRT_WAIT_REQUEST,
    VRT_WAIT_PIECE,
    VRT_WAIT_STALL,
    VRT_WAIT_DRAIN,
};

struct vrt_conn {
    struct vrt_conn_params params;
    uv_poll_t poll;
    uv_timer_t timer;
    int n_handles;                          /* not closed yet */
    int fd;
    int events;                             /* that poll was started for */
    enum vrt_conn_state state;
    enum vrt_conn_wait wait;
    struct vrt_http http;
    struct vrt_peer_files files;
    char in[VRT_CONN_READ_BYTES];                    /* in_used to in_size is not parsed yet */
    size_t in_used, in_size;
    struct vrt_buf out;
    size_t out_sent;
    int64_t charged_bytes;                  /* of what waits, to the user */
    size_t start_bytes;                     /* of `out`, what a stream began with */
    size_t drained_bytes;
    size_t piece_bytes;                     /* of a body, since the timer started */
    bool is_full;                           /* who takes its pieces can't take another now */
    struct vrt_conn_watch *watch;
    bool working;                           /* in work(): not to be entered again */
    bool half_closed;                       /* the client will send no more */
    bool head_only;                         /* the request was HEAD */
    bool finishing;                         /* the timer closes it, whatever it waits for */
    bool progress;                          /* something was written since the timer started */
};

/* How much of `out` isn't written yet. */
static inline size_t vrt_conn_waiting(const struct vrt_conn *conn)
{
    return conn->out.size_bytes - conn->out_sent;
}

/* Tells the loop what the connection waits for now. */
void vrt_conn_arm(struct vrt_conn *conn);

/* Tells a client that waits to be told that it may send its request's body. */
void vrt_conn_let_send(struct vrt_conn *conn);

/* The watch is over. Return: it, or NULL. */
struct vrt_conn_watch *vrt_conn_take_watch(struct vrt_conn *conn);

/* Charges to the user what waits now. Return: whether he may have so much waiting. */
bool vrt_conn_charge(struct vrt_conn *conn);

/* Has the timer close it at once, from the loop: nothing that is on the stack loses it. */
void vrt_conn_doom(struct vrt_conn *conn);
