/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * An examination of devices, by their own threads
 *
 * Each device that is ready is given a checkup (workers/device/checkup.h). On one that is at a
 * shard of a job's it comes between that shard and the next; nothing that the job holds is given up
 * for it. A device that hasn't answered in time is not waited for.
 *
 * Thread: the loop's.
 */

#include "backend/backend.h"
#include "base/error.h"
#include "model/network.h"
#include "msg_doctor.h"

struct vrt_doctor;
struct vrt_pool;

struct vrt_doctor_params {
    const char *device;             /* as in the request; copied */
    struct vrt_network *network;    /* that devices compute; a reference is taken */
    const float *reference;         /* what is right (vrt_checkup_refer()): it lives until `done`;
                                     * NULL: nobody knows */
    const char *model;              /* what the network is called, copied; "": the built-in one */
    int patience_s;                 /* after which a device isn't waited for */
    struct vrt_doctor_report *report;       /* added to; likewise */

    /* Called once, on the loop, never from within vrt_doctor_new(). */
    void (*done)(void *ctx);
    void *ctx;
};

/* Begins. It frees itself when the last device has answered, which may be long after `done`.
 * Return: 0; -errno, and `error` says why: then `done` will not be called. */
int vrt_doctor_new(struct vrt_pool *pool, const struct vrt_doctor_params *params,
                   struct vrt_doctor **ret_doctor, struct vrt_error *error) VRT_MUST_CHECK;

/* Nobody wants to know any more: `done` is called soon. */
void vrt_doctor_cancel(struct vrt_doctor *doctor);
