/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The service manager: what it hands over, what it is told, and what it keeps. That is systemd
 * (notify.c), or on macOS launchd, which hands over a socket (take-launchd.c) and neither listens
 * nor keeps anything (notify-none.c). Without one nothing happens.
 *
 * Thread: the loop's.
 */

#include <stdint.h>

#include "base/error.h"
#include "base/macro.h"

/* A descriptor's name has from 1 to so many bytes, printable ones, and no colon. */
#define VRT_NOTIFY_NAME_MAX 255

enum vrt_notify_outcome {
    VRT_NOTIFY_OK = 0,
    VRT_NOTIFY_E_NOBODY,        /* no service manager listens */
};

/*
 * Takes what the service manager handed over, once. *ret_listen_fd is the listening socket,
 * non-blocking; -1: none. Every other named descriptor goes to `file`, which takes it over; they
 * are what vrt_notify_store() gave away in a former life of the daemon.
 * Return: 0; -errno: it couldn't be asked, or sockets were handed over that cannot be used; see
 * error.
 */
int vrt_notify_take(void (*file)(void *ctx, const char *name, int fd), void *ctx,
                    int *ret_listen_fd, struct vrt_error *error) VRT_MUST_CHECK;

/* How many descriptors it says to keep; -1: it doesn't say. */
int vrt_notify_store_max(void);

/*
 * Lets the service manager keep a duplicate of `fd` under `name`, past the end of this process.
 * Whether it has room it doesn't tell. Return: 0; an outcome; -errno.
 */
int vrt_notify_store(const char *name, int fd) VRT_MUST_CHECK;

/* It shall close what it keeps under `name`. Return: 0; an outcome; -errno. */
int vrt_notify_unstore(const char *name) VRT_MUST_CHECK;

/* Everything works: clients are answered from now on, by the configuration as it stands. */
void vrt_notify_ready(void);

/* The configuration is being read again: vrt_notify_ready() ends that. */
void vrt_notify_reloading(void);

/* The end has begun. */
void vrt_notify_stopping(void);

/* The end takes so many seconds more from now. */
void vrt_notify_extend(int seconds);

/* One line for people who ask for the service's status. */
void vrt_notify_status(const char *text);

/* How often it must be told that all is well, or it ends the daemon; 0: it needn't be told. */
int64_t vrt_notify_watchdog_ms(void);

/* All is well. */
void vrt_notify_alive(void);
