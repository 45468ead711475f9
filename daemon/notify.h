/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The service manager: what it hands over, and what it is told. Without one, nothing happens;
 * notify-none.c is for builds that know none.
 *
 * Thread: the loop's.
 */

#include "base/error.h"

/*
 * A listening socket that the service manager handed over, non-blocking; -1: none.
 * Return: 0; -errno: something was handed over that is no such socket, see error.
 */
int vrt_notify_take_socket(int *ret_fd, struct vrt_error *error);

/* Everything works: clients are answered from now on. */
void vrt_notify_ready(void);

/* The end has begun. */
void vrt_notify_stopping(void);

/* One line for people who ask for the service's status. */
void vrt_notify_status(const char *text);
