/* SPDX-License-Identifier: MIT */
#pragma once

/* What a server is made of: private to server*.c. Thread: the loop's. */

#include <uv.h>

#include "config/conf.h"
#include "daemon/api/routes.h"
#include "daemon/service/server.h"

#define VRT_SERVER_SIGNALS 3

struct vrt_server {
    const struct vrt_server_params *params;
    struct vrt_conf conf;           /* as it is in force: everybody's texts point into this one */
    uv_loop_t loop;
    uv_signal_t signals[VRT_SERVER_SIGNALS];
    int n_signals;                  /* that are being listened for */
    struct vrt_service *service;
    struct vrt_reload *reload;
    struct vrt_quota *quota;
    struct vrt_store *store;
    struct vrt_models *models;
    struct vrt_accounts *users, *groups;
    struct vrt_media *media;
    struct vrt_api api;             /* with the pool, the queue, the events, the listener */
    uv_async_t over;                /* of a server that is for one thing: that is done */
    bool has_over;
    bool stopping, hurried;
    int step;                       /* of stop_steps, that goes on */
};

/* Makes every part but those that signals and clients come by, each where it finds what it needs.
 * Return: 0; -errno with `error`. */
int vrt_server_start_parts(struct vrt_server *server, struct vrt_error *error);

/* Begins to hear clients by `fd`, which it takes over. Return: 0; -errno with `error`. */
int vrt_server_start_listener(struct vrt_server *server, int fd, struct vrt_error *error);

/* What the API takes from the configuration. */
void vrt_server_configure_api(struct vrt_server *server);
