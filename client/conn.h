/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The daemon, as a client sees it: requests, and the stream of events
 *
 * Functions that talk to it return 0, or an outcome of enum vrt_conn_outcome, or -errno; whenever
 * it isn't 0, error holds a sentence with the cure. Nothing that the daemon answers is trusted.
 */

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "fields.h"
#include "msg_event.h"
#include "msg_job.h"

struct json_t;
struct vrt_conn;
struct vrt_stream;

enum vrt_conn_outcome {
    VRT_CONN_E_REFUSED = 1,     /* the daemon said no: error has its sentence */
    VRT_CONN_E_NOT_FOUND,       /* likewise: no job has this number */
    VRT_CONN_E_UNREACHABLE,     /* nobody listens, or may not be talked to, or goes away */
    VRT_CONN_E_BROKEN,          /* something answers, but not as vrtd does */
    VRT_CONN_E_INTERRUPTED,     /* by the user */
    VRT_CONN_E_OTHER,           /* another daemon than the one whose jobs are meant */
};

/* error->id of a refusal: one of api.h, or this where the daemon's is unknown. */
#define VRT_CONN_REFUSED_ID "client.refused"

/* The daemon's id as such a one, which lasts. */
const char *vrt_conn_known_id(const char *id);

/* error->id where an answer is none of vrtd's; otherwise it is that of the decoder's refusal. */
#define VRT_CONN_BROKEN_ID "client.broken"

struct vrt_request {
    const char *method, *path;
    const char *body;           /* JSON; NULL: none */
    const int *fds;             /* descriptors that go along; they stay the caller's */
    int n_fds;
    bool takes_long;            /* the answer is waited for as long as it takes */
    int64_t patience_s;         /* it is waited for so long, where that is more than usual */
};

/*
 * The socket to use: `given`, or what the environment says (api.h), in `buffer`.
 * Return: 0; -ENAMETOOLONG, see error.
 */
int vrt_conn_find_socket(const char *given, char *buffer, size_t size, struct vrt_error *error);

/* Nothing is connected yet. Return: 0, -ENOMEM. */
int vrt_conn_new(const char *socket_path, int64_t timeout_s, struct vrt_conn **ret_conn);

/* Return: NULL. */
struct vrt_conn *vrt_conn_free(struct vrt_conn *conn);

/*
 * From when on *flag isn't 0, nothing is waited for any more, within about a second:
 * VRT_CONN_E_INTERRUPTED. NULL: nothing ends a request but its time.
 */
void vrt_conn_set_interrupt(struct vrt_conn *conn, const volatile sig_atomic_t *flag);

/* The socket's path, printable. */
const char *vrt_conn_path(const struct vrt_conn *conn);

/* Sends a request and waits for the answer: an object, the caller's (json_decref). */
int vrt_conn_request(struct vrt_conn *conn, const struct vrt_request *request,
                     struct json_t **ret_json, struct vrt_error *error);

/* Likewise a POST, of `object` as `fields` have it, which is the body. */
int vrt_conn_post(struct vrt_conn *conn, const struct vrt_request *request,
                  const struct vrt_field *fields, const void *object, struct json_t **ret_json,
                  struct vrt_error *error);

/* GET of the path printed by `format`. */
int vrt_conn_get(struct vrt_conn *conn, struct json_t **ret_json, struct vrt_error *error,
                 const char *format, ...) VRT_PRINTF(4, 5);

/* All that is known of a job. Return: 0, *ret_job needs vrt_job_info_done(), *ret_json (NULL: it
 * isn't wanted) is the caller's; VRT_CONN_E_*; -errno. */
int vrt_conn_get_job(struct vrt_conn *conn, int64_t id, struct vrt_job_info *ret_job,
                     struct json_t **ret_json, struct vrt_error *error);

/*
 * Opens a stream of events on a connection of its own; it is open when the daemon said so, from
 * when on no event is missed. `job_id` 0: of all jobs.
 */
int vrt_stream_open(struct vrt_conn *conn, long long job_id, struct vrt_stream **ret_stream,
                    struct vrt_error *error);

/* Return: NULL. */
struct vrt_stream *vrt_stream_close(struct vrt_stream *stream);

enum vrt_stream_outcome {
    VRT_STREAM_NONE,            /* nothing within the time, or a signal came, or something else */
    VRT_STREAM_EVENT,
    VRT_STREAM_END,             /* the daemon closed it, or is gone: ask again */
};

/*
 * Waits up to `timeout_ms` for the next event, or until `other_fd` (-1: none) can be read; its JSON
 * text replaces what is in `data`. Return: enum vrt_stream_outcome; -errno.
 */
int vrt_stream_next(struct vrt_stream *stream, int timeout_ms, int other_fd,
                    enum vrt_event_kind *ret_kind, struct vrt_buf *data);

VRT_DEFINE_CLEANUP(struct vrt_conn, vrt_conn_free)
VRT_DEFINE_CLEANUP(struct vrt_stream, vrt_stream_close)
