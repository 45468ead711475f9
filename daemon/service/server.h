/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The daemon: its loop, everything on it, and the order in which they come and go
 *
 * Thread: the one that calls vrt_server_run() becomes the loop's.
 */

#include "base/error.h"

struct vrt_conf;
struct vrt_fd_store;

enum vrt_server_outcome {
    VRT_SERVER_OK = 0,
    VRT_SERVER_E_HURRIED,       /* a second signal came while it was stopping: threads still run */
    VRT_SERVER_E_STUCK,         /* it ended well, but for a thread that may never leave a driver */
    VRT_SERVER_E_STUCK_FAILED,  /* likewise, and it didn't end well */
};

struct vrt_server_params {
    const struct vrt_conf *conf;        /* what it begins with */
    /* Reads and checks the configuration again, on a thread, when SIGHUP comes; may be NULL.
     * Return: 0; -errno, and `error` says why. */
    int (*reread)(void *ctx, struct vrt_conf *ret_conf, struct vrt_error *error);
    void *reread_ctx;
    const char *models_dir;
    int listen_fd;              /* taken over, also on failure */
    const char *listen_name;    /* what it is called in the log */
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
