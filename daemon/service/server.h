/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The daemon: its loop, everything on it, and the order in which they come and go
 *
 * Thread: the one that calls vrt_server_run() becomes the loop's.
 */

#include "base/error.h"

struct uv_async_s;
struct vrt_conf;
struct vrt_fd_store;
struct vrt_job;
struct vrt_pipeline_part;
struct vrt_queue;
struct vrt_segment_record;

enum vrt_server_outcome {
    VRT_SERVER_OK = 0,
    VRT_SERVER_E_HURRIED,       /* a second signal came while it was stopping: threads still run */
    VRT_SERVER_E_STUCK,         /* it ended well, but for a thread that may never leave a driver */
    VRT_SERVER_E_STUCK_FAILED,  /* likewise, and it didn't end well */
};

/* Of a server that is for one thing only, and ends by itself: it has no clients. The calls come on
 * the loop. */
struct vrt_server_once {
    const struct vrt_pipeline_part *part;       /* that its jobs are done of */
    /* Every part is there. From now on the server ends when `over` is sent to. Return: 0; -errno
     * with `error`: it ends. */
    int (*started)(void *ctx, struct vrt_queue *queue, struct uv_async_s *over,
                   struct vrt_error *error);
    /* As of struct vrt_queue_params: also before `started`. */
    void (*job_changed)(void *ctx, struct vrt_job *job);
    void (*segment_stored)(void *ctx, struct vrt_job *job,
                           const struct vrt_segment_record *segment);
    void *ctx;
};

struct vrt_server_params {
    const struct vrt_conf *conf;        /* what it begins with */
    /* Reads and checks the configuration again, on a thread, when SIGHUP comes; may be NULL.
     * Return: 0; -errno, and `error` says why. */
    int (*reread)(void *ctx, struct vrt_conf *ret_conf, struct vrt_error *error);
    void *reread_ctx;
    const char *models_dir;
    int listen_fd;              /* taken over, also on failure; -1 with `once` */
    const char *listen_name;    /* what it is called in the log; NULL with `once` */
    const struct vrt_server_once *once;     /* NULL: it serves clients until it is stopped */
    const char *state_dir;      /* the store is in it */
    const char *cache_dir;      /* of what can be made again; NULL, "": there is none */
    int spool_fd;               /* the folder of working files; stays the caller's */
    struct vrt_fd_store *fd_store; /* with what was handed over; stays the caller's */
};

/*
 * Serves until SIGTERM or SIGINT, then stops the jobs and ends. SIGHUP has it read its
 * configuration again.
 * Return: 0; an outcome; -errno where it could not start, and `error` says why.
 */
int vrt_server_run(const struct vrt_server_params *params, struct vrt_error *error);
