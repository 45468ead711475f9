/* SPDX-License-Identifier: MIT */
#pragma once

/* The whole server on a thread of its own, above fake-flow.c, and what tests ask of it. */

#include <pthread.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "config/conf.h"
#include "daemon/service/server.h"
#include "msg_job.h"

#define PLAY_ANSWER_BYTES (1 << 20)

struct play {
    struct vrt_conf conf;
    _Atomic(const char *) reread;       /* the configuration that a reload finds */
    atomic_int n_reread;                /* reloads that began to read it */
    atomic_bool is_reading_held;        /* they don't come to its end */
    char folder[64], socket[80], models[80];
    struct vrt_server_params params;
    struct vrt_fd_store *fd_store;
    pthread_t thread;
    struct vrt_error error;
    int result;
};

/* The last answer or event that was read. */
extern char play_answer[PLAY_ANSWER_BYTES];

/* Starts the server; `text` is its configuration. */
void play_start(struct play *play, const char *text);

/* Ends the server in good order, and starts another one in its folder. */
void play_restart(struct play *play);

/* The same; `sql` is done to the store between the two. */
void play_restart_with(struct play *play, const char *sql);

/* Has the server read this configuration; it may have effect when this returns, or later. */
void play_reload(struct play *play, const char *text);

/* Sends SIGTERM, and play_wait_stopped(). */
void play_stop(struct play *play);

/* Checks that the server ends well, and that nothing is left. */
void play_wait_stopped(struct play *play);

/* Removes its folder. Return: 0. */
int play_remove(const struct play *play);

/* Lets every user connect. */
void play_open_to_all(struct play *play);

/*
 * The calling thread, which must be root's, is another user's from now on, with this one group;
 * uid 0 makes it root's again. The server's thread stays as it is.
 */
void play_become(unsigned uid, unsigned gid);

/* One request on a connection of its own; the answer's body is at *ret_body. Return: status. */
int play_ask(struct play *play, const char *method, const char *path, const char *more,
             char **ret_body);

/* Sends a request with JSON, "POST /v1/...", and descriptors. Return: the connection. */
int play_send_begin(struct play *play, const char *route, const char *body, const int *fds,
                    int n_fds);

/* The same, to the end: play_answer. Return: the status. */
int play_send(struct play *play, const char *route, const char *body, const int *fds, int n_fds);

/*
 * Sends POST /v1/jobs for an input called `name`; `more` is more JSON, with a comma before.
 * Return: the connection.
 */
int play_submit_begin(struct play *play, const char *name, const char *more);

/* The same, to the end. Return: the job's number, or the status where it is refused, negative. */
long long play_submit(struct play *play, const char *name, const char *more);

/* Hands a job's files over again, as an input called `name`, to "resume" or "retry" it. */
void play_hand_over(struct play *play, long long id, const char *why, const char *name);

/* The job as GET shows it; to be freed by vrt_job_info_done(). Return: the HTTP status. */
int play_show(struct play *play, long long id, struct vrt_job_info *ret_info);

/* Waits until the job's state is at least `state`, in the order of the enum. */
void play_wait_for(struct play *play, long long id, int state, struct vrt_job_info *ret_info);

/* The same; it must be that state. */
void play_expect_state(struct play *play, long long id, int state);

/* Waits until something of the job is computed. */
void play_await_frames(struct play *play, long long id);

/* Waits until so many segments of the job are stored. Return: how many starts it had. */
int64_t play_wait_for_segments(struct play *play, long long id, int n);

/* Opens a stream and reads past its header. Return: the connection. */
int play_subscribe(struct play *play, const char *path);

/* Reads the next event's data. Return: its kind, -1 at the end of the stream. */
int play_next_event(int fd, struct vrt_buf *stream);

/* A file of its own, gone when it is closed. Return: its descriptor. */
int play_file(const char *text, int flags);
