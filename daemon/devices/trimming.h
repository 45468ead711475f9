/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Devices that give up what no job uses, and whose peaks begin anew, because somebody asked for it
 *
 * Each device that is ready is given a task for it, which on one that is at a shard of a job's
 * comes between that shard and the next. One that hasn't come to it in time is told of as such, and
 * does it all the same.
 *
 * Thread: the loop's.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api.h"
#include "base/error.h"

struct vrt_pool;

/* What became of a device. */
struct vrt_trimmed {
    bool is_meant;                  /* else nothing else is said */
    bool is_done;
    int64_t freed_bytes;            /* by the trimming; -1: not done, or not asked for */
    int64_t peak_bytes;             /* the former peak: likewise */
    char message[VRT_API_TEXT_BYTES];   /* why it isn't done, without the device's name */
};

struct vrt_trimming_params {
    const char *device;             /* as a job asks for devices; "": every one */
    bool trim, reset_peak;
    double patience_s;              /* after which a device isn't waited for */

    /* Called once, on the loop, never from within vrt_trimming_begin(), by number of device. */
    void (*done)(void *ctx, const struct vrt_trimmed *devices, size_t n_devices);
    void *ctx;
};

/* Begins. It frees itself when the last device has answered, which may be long after `done`.
 * Return: 0; -errno, and `error` says why: then `done` will not be called. */
int vrt_trimming_begin(struct vrt_pool *pool, const struct vrt_trimming_params *params,
                       struct vrt_error *error) VRT_MUST_CHECK;
