/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Reading the configuration again while the daemon runs
 *
 * A new configuration is read and checked on a thread, whole, and refused whole. What it says of
 * the options that are live is then copied into the running configuration between two turns of the
 * loop, and everybody who follows it is told: there is one struct vrt_conf, at one address, for the
 * daemon's whole life, and only the loop's thread looks into it.
 *
 * Thread: the loop's.
 */

#include "base/cleanup.h"
#include "base/error.h"
#include "base/macro.h"
#include "config/conf.h"

struct uv_loop_s;
struct vrt_reload;

struct vrt_reload_params {
    struct uv_loop_s *loop;
    struct vrt_conf *conf;              /* the running one */
    /* Reads and checks. Return: 0; -errno, and `error` says why. Thread: one of libuv's. */
    int (*read)(void *ctx, struct vrt_conf *ret_conf, struct vrt_error *error);
    void *read_ctx;
    void (*changed)(void *ctx);         /* the running one has changed */
    void *ctx;
};

/* Return: 0, -ENOMEM. It is freed by vrt_reload_free(), after the loop's end. */
int vrt_reload_new(const struct vrt_reload_params *params, struct vrt_reload **ret_reload)
    VRT_MUST_CHECK;

/* Return: NULL. */
struct vrt_reload *vrt_reload_free(struct vrt_reload *reload);

/* Begins to read; while that goes on already, once more after it. */
void vrt_reload_begin(struct vrt_reload *reload);

/* What is being read is dropped, and nothing is read any more. */
void vrt_reload_stop(struct vrt_reload *reload);

VRT_DEFINE_CLEANUP(struct vrt_reload, vrt_reload_free)
