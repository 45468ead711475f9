/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The jobs of a pool, and which of their shards goes to which device: what sched says is done here
 *
 * Thread: the loop's, all of it.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "daemon/devices/measurements.h"
#include "daemon/devices/pool-device.h"
#include "daemon/devices/pool-job.h"

struct vrt_dispatch;

/* Hands out to `devices`, which stay where they are, and tells `measurements` how long shards took.
 * Return: 0, -ENOMEM. */
int vrt_dispatch_new(struct vrt_pool_device *devices, size_t n_devices,
                     struct vrt_measurements *measurements, struct vrt_dispatch **ret_dispatch)
    VRT_MUST_CHECK;

/* Without jobs. Return: NULL. */
struct vrt_dispatch *vrt_dispatch_free(struct vrt_dispatch *dispatch);

/* vrt_pool_job_add() and _remove(). */
void vrt_dispatch_add(struct vrt_dispatch *dispatch, struct vrt_pool_job *job);
void vrt_dispatch_remove(struct vrt_dispatch *dispatch, struct vrt_pool_job *job);

/* The jobs, which may be empty. */
const struct vrt_list *vrt_dispatch_jobs(const struct vrt_dispatch *dispatch);

/* Hands out what can be; from within itself, by going round again. */
void vrt_dispatch_wake(struct vrt_dispatch *dispatch);

/* Tells every job that a device came or went, or that time passed. */
void vrt_dispatch_tick(struct vrt_dispatch *dispatch);

/* Hands nothing out any more, and tells every job to end. */
void vrt_dispatch_stop(struct vrt_dispatch *dispatch);

VRT_DEFINE_CLEANUP(struct vrt_dispatch, vrt_dispatch_free)
