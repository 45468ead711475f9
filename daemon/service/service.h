/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The daemon's life as the service manager sees it: alive, ready, about to end
 *
 * A service with WatchdogSec= is told from the loop that it still turns. While the daemon stops,
 * the service manager's patience is prolonged, so that devices may finish, but not for ever: one
 * that hangs is killed in the end, and what was stored goes on at the next start.
 *
 * Thread: the loop's.
 */

#include <stdint.h>

#include "base/macro.h"

struct uv_loop_s;
struct vrt_service;

/* Return: 0, -ENOMEM. It is freed by vrt_service_close(). */
int vrt_service_new(struct uv_loop_s *loop, struct vrt_service **ret_service) VRT_MUST_CHECK;

/* Clients are answered from now on. */
void vrt_service_ready(struct vrt_service *service);

/* The end has begun; it takes jobs at most so many seconds, and devices a while more. */
void vrt_service_stopping(struct vrt_service *service, int64_t jobs_s);

/* Nothing is told any more. */
void vrt_service_close(struct vrt_service *service);
