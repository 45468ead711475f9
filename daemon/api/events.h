/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Those who read GET /v1/events, and what they are told
 *
 * Thread: the loop's.
 */

#include "base/macro.h"

struct uv_loop_s;
struct vrt_events;
struct vrt_job;
struct vrt_pool;

/*
 * Nobody reads yet. Changes of the pool's devices are noticed by looking now and then; those of
 * jobs must be told. Return: 0, -ENOMEM. It is freed by vrt_events_stop().
 */
int vrt_events_new(struct uv_loop_s *loop, struct vrt_pool *pool,
                   struct vrt_events **ret_events) VRT_MUST_CHECK;

/* Tells everybody who wants to know that a job changed. */
void vrt_events_job(struct vrt_events *events, struct vrt_job *job);

/* Ends every stream and frees it; then calls `stopped`, once, by the loop. */
void vrt_events_stop(struct vrt_events *events, void (*stopped)(void *ctx), void *ctx);
